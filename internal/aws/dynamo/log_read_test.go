package dynamo_test

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/localstack/stackenv"
)

// later is far from now, so that the stack's own sweep does not check the test's batches.
var later = time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)

func newStore(t *testing.T) *dynamotest.Store {
	t.Helper()
	env := stackenv.Load(t)
	return dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"],
		Outcomes: env["OUTCOMES_TABLE"], Webhooks: env["WEBHOOKS_TABLE"],
		Now: func() time.Time { return later },
	})
}

// changesOf returns changes of the messages [first, end).
func changesOf(first, end int, outcome campaign.Outcome) []campaign.Change {
	var changes []campaign.Change
	for i := first; i < end; i++ {
		changes = append(changes, campaign.Change{Index: i, Outcome: outcome, At: later.Add(time.Duration(i) * time.Millisecond)})
	}
	return changes
}

func newKey() (key campaign.BatchKey) {
	_, _ = rand.Read(key[:])
	return key
}

// nowhere discards a recorder's output.
type nowhere struct{}

func (nowhere) SendAll(context.Context, string, [][]byte) error   { return nil }
func (nowhere) Put(context.Context, string, []byte, string) error { return nil }

func recorderOf(s *dynamotest.Store) *outcome.Recorder {
	return &outcome.Recorder{
		Store: s, Blobs: nowhere{}, Notify: nowhere{}, SweepAfter: time.Hour, Now: s.Tables().Now,
	}
}

// acceptRead accepts a batch of the given size and returns it as read.
func acceptRead(t *testing.T, s *dynamotest.Store, messages int) campaign.Batch {
	t.Helper()
	b := newBatch(randomID(), campaign.BatchSending, later, later.Add(1000*time.Hour))
	b.Accepted = messages
	accept(t, s, b)
	b, err := s.Batch(t.Context(), b.BatchRef)
	must(t, err)
	return b
}

// rowsOf returns the rows of a partition by sort key.
func rowsOf(t *testing.T, s *dynamotest.Store, table, pk string) map[string]dynamo.Item {
	t.Helper()
	out, err := s.Tables().Client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: dynamo.Item{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	must(t, err)
	rows := map[string]dynamo.Item{}
	for _, row := range out.Items {
		sk, _, _ := strings.Cut(row["sk"].(*types.AttributeValueMemberS).Value, "#")
		rows[sk] = row
	}
	return rows
}

// The log of a batch and all other reads agree on its outcomes.
func TestOutcomes_AllReads(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	b := acceptRead(t, s, 300)
	var want []campaign.Change
	for i := range 6 {
		kind := []campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead}[i/2]
		part := changesOf(i%2*150, i%2*150+150, kind)
		must(t, recorderOf(s).Record(t.Context(), b, part))
		want = append(want, part...)
	}
	wantOutcomes(t, s, b, want)
	identity, rows := rowsOf(t, s, s.Tables().Campaigns, "B#"+b.Key.String()), rowsOf(t, s, s.Tables().Outcomes, b.Key.String())
	if len(identity) != 1 || rows["HEAD"] == nil || rows["LOG"] == nil {
		t.Errorf("rows of the batch %v in the Campaigns table, %v in the Outcomes table", slices.Collect(maps.Keys(identity)), slices.Collect(maps.Keys(rows)))
	}
}

// wantOutcomes checks the log of a fully read batch, for any page size, and all other reads
// of its outcomes.
func wantOutcomes(t *testing.T, s *dynamotest.Store, b campaign.Batch, want []campaign.Change) {
	t.Helper()
	ctx := t.Context()
	for _, page := range []int{campaign.MaxChanges, 77} {
		var got []campaign.Change
		for {
			more, err := s.Changes(ctx, b, len(got), page)
			must(t, err)
			if got = append(got, more...); len(more) < page {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log in pages of %d (-want +got):\n%s", page, diff)
		}
	}
	latest, err := s.Latest(ctx, b)
	must(t, err)
	for i, c := range latest {
		if c.Outcome != campaign.OutcomeRead || c.Index != i {
			t.Errorf("the last change of message %d is %+v", i, c)
		}
	}
	head, err := s.LedgerHead(ctx, b.Key)
	must(t, err)
	c, err := s.Campaign(ctx, b.ID)
	must(t, err)
	overview, err := s.Overview(ctx, b.ID)
	must(t, err)
	progress, found, err := s.BatchProgress(ctx, b.ID, b.BatchID)
	must(t, err)
	for name, got := range map[string]campaign.LedgerSummary{"campaign": c.Batches[0].Head, "overview": overview.Batches[0].Head, "batch": progress.Head} {
		ignore := cmpopts.IgnoreMapEntries(func(_ any, n int) bool { return n == 0 })
		if diff := cmp.Diff(head.Summary(), got, ignore, cmpopts.EquateEmpty()); diff != "" || !found {
			t.Errorf("head of the %s (-ledger +got):\n%s", name, diff)
		}
	}
	if head.Summary().Counts[campaign.OutcomeRead] != b.Accepted || head.Sequence != len(want) {
		t.Errorf("head: %+v", head)
	}
}

// TestLedgersSince finds the batches with outcomes written since an instant, regardless of
// the outcomes' times.
func TestLedgersSince(t *testing.T) {
	t.Parallel()
	s := newLedgers(t, smallPages)
	now := later
	s.Set(func(tables *dynamo.Tables) { tables.Now = func() time.Time { return now } })
	keys := map[campaign.BatchKey]time.Time{}
	for i := range several {
		b := ledgerBatch(300)
		now = later.Add(time.Duration(i) * time.Hour)
		record(t, s, b, changesOf(0, 300, campaign.OutcomeSent)) // at the same times, and with LOG rows
		record(t, s, b, changesOf(0, 300, campaign.OutcomeDelivered))
		keys[b.Key] = now
	}
	over := ledgerBatch(1)
	over.AcceptedAt = now.Add(time.Hour - campaign.Retention)
	record(t, s, over, changesOf(0, 1, campaign.OutcomeSent))
	now = now.Add(2 * time.Hour)
	for _, since := range []time.Time{later.Add(-time.Hour), later.Add(2 * time.Hour), later.Add(150 * time.Minute), now} {
		var got, want []string
		for key, err := range s.LedgersSince(t.Context(), since) {
			must(t, err)
			got = append(got, key.String())
		}
		for key, at := range keys {
			if !at.Before(since) {
				want = append(want, key.String())
			}
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("since %v: %v, want %v", since, got, want)
		}
	}
}

// TestPages_Ledger reads a log of more rows than a DynamoDB response contains.
func TestPages_Ledger(t *testing.T) {
	t.Parallel()
	s := newLedgers(t, smallPages)
	b := ledgerBatch(300)
	b.Tenant = rand.Text()
	changes := spread(b.Accepted)
	record(t, s, b, changes)
	wantLog(t, s, b.Key, changes)
	if rows := rowsOf(t, newStore(t), s.Tables().Outcomes, b.Key.String()); rows["LOG"] == nil {
		t.Error("the log has no rows")
	}
}
