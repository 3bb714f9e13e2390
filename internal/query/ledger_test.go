package query_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
)

// events returns all events of a batch, read in pages of limit.
func (d *service) events(b campaign.Batch, limit int) (events []any) {
	d.t.Helper()
	after, more := 0.0, true
	for more {
		status, answer := d.get(fmt.Sprintf("/batches/%s/events?limit=%d&after=%v", b.BatchID, limit, after))
		if status != http.StatusOK {
			d.t.Fatalf("%d %v", status, answer)
		}
		page := answer["events"].([]any)
		events = append(events, page...)
		if after, more = answer["nextAfter"].(float64), answer["more"].(bool); more && len(page) != limit {
			d.t.Fatalf("a page that is not the last has %d events, want %d", len(page), limit)
		}
	}
	return events
}

// fill records deliveries from message first until the next one would move the ledger's
// tail. It returns the index of that next message.
func (d *service) fill(b campaign.Batch, first int) int {
	d.t.Helper()
	for i := first; i < b.Accepted; i++ {
		head, err := d.store.LedgerHead(d.t.Context(), b.Key)
		d.must(err)
		if head.Plan(b.Accepted, delivered(i)).Move {
			return i
		}
		d.record(b, campaign.OutcomeDelivered, "", i, i)
	}
	d.t.Fatal("the tail never moves")
	return 0
}

func delivered(i int) []campaign.Change {
	return []campaign.Change{{Index: i, Outcome: campaign.OutcomeDelivered, At: noon}}
}

// logRows returns how many LOG rows a ledger has.
func (d *service) logRows(b campaign.Batch) int {
	d.t.Helper()
	out, err := d.store.Tables().Client.Query(d.t.Context(), &dynamodb.QueryInput{
		TableName: aws.String(d.store.Tables().Outcomes), ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :log)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": &types.AttributeValueMemberS{Value: b.Key.String()}, ":log": &types.AttributeValueMemberS{Value: "LOG#"},
		},
	})
	d.must(err)
	return len(out.Items)
}

var errDied = errors.New("the process died")

// recordAndDie records a delivery and crashes after one write.
func (d *service) recordAndDie(b campaign.Batch, index int) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	head, err := d.store.LedgerHead(ctx, b.Key)
	d.must(err)
	writes := 0
	mortal := *d.store
	mortal.Set(func(tables *dynamo.Tables) {
		tables.Client = dynamodb.New(mortal.Tables().Client.Options(), func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
				return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("die", func(
					ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
				) (middleware.InitializeOutput, middleware.Metadata, error) {
					if writes++; writes > 1 {
						cancel()
						return middleware.InitializeOutput{}, middleware.Metadata{}, errDied
					}
					return next.HandleInitialize(ctx, in)
				}), middleware.Before)
			})
		})
	})
	if _, err := mortal.AppendLedger(ctx, b, head, delivered(index)); !errors.Is(err, errDied) {
		d.t.Fatalf("error %v, want the crash", err)
	}
}

// A writer crashes after it has moved a ledger's tail into a LOG row, and before it has
// written the head. The events are the same, whatever the page size.
func TestServeEvents_CrashWhileTailMoves(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "a", 500, nil)
	d.record(b, campaign.OutcomeSent, "", 0, b.Accepted-1) // more than fit in a tail
	next := d.fill(b, 0)
	before, rows := d.events(b, 500), d.logRows(b)
	if len(before) != b.Accepted+next || next == 0 || rows == 0 {
		t.Fatalf("%d events and %d LOG rows after %d deliveries", len(before), rows, next)
	}

	d.recordAndDie(b, next)
	if now := d.logRows(b); now != rows+1 {
		t.Errorf("%d LOG rows after the crash, %d before", now, rows)
	}
	for _, limit := range []int{500, 100, 77} {
		if diff := cmp.Diff(before, d.events(b, limit)); diff != "" {
			t.Errorf("events after the crash, in pages of %d (-want +got):\n%s", limit, diff)
		}
	}

	d.record(b, campaign.OutcomeDelivered, "", next, next)
	after := d.events(b, 100)
	if len(after) != len(before)+1 || after[len(before)].(object)["sequence"] != float64(len(after)) {
		t.Fatalf("%d events after another delivery", len(after))
	}
	if diff := cmp.Diff(before, after[:len(before)]); diff != "" {
		t.Errorf("events once the tail has moved (-want +got):\n%s", diff)
	}
}
