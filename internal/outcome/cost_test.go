package outcome_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	crand "crypto/rand"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome"
)

// units counts DynamoDB write units: one per started KB, two in a transaction, and one per
// write of the sparse index.
type units struct {
	mu    sync.Mutex
	total int
}

func (u *units) attach(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("units", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			u.count(in.Parameters)
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
}

func (u *units) count(in any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch in := in.(type) {
	case *dynamodb.TransactWriteItemsInput:
		for _, item := range in.TransactItems {
			if item.Put != nil {
				u.total += 2*kilobytes(item.Put.Item) + index(item.Put.Item)
				continue
			}
			u.total += 2 // an update of a batch's row or a counter, once per batch
		}
	case *dynamodb.PutItemInput:
		u.total += kilobytes(in.Item) + index(in.Item)
	case *dynamodb.UpdateItemInput, *dynamodb.DeleteItemInput:
		u.total += 2 // with the index
	}
}

func index(item map[string]types.AttributeValue) int {
	if item["due"] != nil {
		return 1
	}
	return 0
}

func kilobytes(item map[string]types.AttributeValue) int {
	bytes := 0
	for name, value := range item {
		bytes += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			bytes += len(v.Value)
		case *types.AttributeValueMemberN:
			bytes += len(v.Value)/2 + 2
		case *types.AttributeValueMemberB:
			bytes += len(v.Value)
		default:
			bytes++
		}
	}
	return (bytes + 1023) / 1024
}

type discard struct{}

func (discard) SendAll(context.Context, string, [][]byte) error   { return nil }
func (discard) Put(context.Context, string, []byte, string) error { return nil }
func (discard) Get(context.Context, string) ([]byte, error)       { return nil, campaign.ErrNotFound }

func accept(t *testing.T, store *dynamo.CampaignStore, tenant string, batches int) (accepted []campaign.Batch) {
	t.Helper()
	for range batches {
		b := campaign.Batch{
			BatchRef: campaign.BatchRef{
				ID:      campaign.ID{Tenant: tenant, CampaignID: "0198d3a0-0000-4000-8000-000000000000"[:24] + crand.Text()[:12]},
				BatchID: campaign.BatchID(crand.Text()),
			},
			Accepted: campaign.MaxMessages, AcceptedAt: time.Now(), State: campaign.BatchSending, AgentID: "agent", NextCheck: time.Now().Add(1000 * time.Hour),
			TapKey: []byte("sixteen bytes..."),
		}
		_, _ = crand.Read(b.Key[:])
		err := store.Accept(t.Context(), campaign.AcceptCommand{Batch: b, Campaign: crand.Text(), Ordinal: 1, Packed: []byte{0}}, crand.Text())
		if err != nil {
			t.Fatal(err)
		}
		accepted = append(accepted, b)
	}
	return accepted
}

// recordSent records a batch's messages as sent, five frames at a time.
func recordSent(t *testing.T, recorder *outcome.Recorder, b campaign.Batch) {
	t.Helper()
	for first := 0; first < b.Accepted; first += 500 {
		var changes []campaign.Change
		for i := first; i < first+500; i++ {
			changes = append(changes, campaign.Change{Index: i, Outcome: campaign.OutcomeSent, At: time.Now(), First: true})
		}
		if err := recorder.Record(t.Context(), b, changes); err != nil {
			t.Fatal(err)
		}
	}
}

func applyShuffled(t *testing.T, applier *outcome.Applier, batches []campaign.Batch, kind campaign.EventKind) {
	t.Helper()
	var tasks []campaign.EventTask
	for _, b := range batches {
		for i := range b.Accepted {
			at := time.Now().Add(time.Duration(rand.N(3600)) * time.Second)
			tasks = append(tasks, campaign.EventTask{Kind: kind, AgentID: "agent", MessageID: b.Key.MessageID(i), At: at})
		}
	}
	rand.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	for first := 0; first < len(tasks); first += 500 {
		for _, err := range applier.Handle(t.Context(), tasks[first:first+500]) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
