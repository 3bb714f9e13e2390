package dynamo_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/localstack/stackenv"
)

// requests lists the operations of a client of DynamoDB.
type requests struct {
	mu  sync.Mutex
	got []string
}

func (r *requests) Do(request *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	r.mu.Lock()
	r.got = append(r.got, operation)
	r.mu.Unlock()
	return http.DefaultClient.Do(request)
}

// take returns the operations since the last call.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := slices.Clone(r.got)
	r.got = nil
	return got
}

// Only a waiting batch above campaign.MovedAtOnce costs another read, and only rescheduling a
// campaign writes its row.
func TestMoveCampaign_Requests(t *testing.T) {
	t.Parallel()
	env, wire := stackenv.Load(t), &requests{}
	now := time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)
	store := dynamotest.New(dynamo.Tables{
		Client:    dynamodb.NewFromConfig(env.AWS(), func(o *dynamodb.Options) { o.HTTPClient = wire }),
		Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: func() time.Time { return now },
	})
	id := campaign.ID{Tenant: "t-" + rand.Text(), CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"}
	var refs []campaign.BatchRef
	for ordinal := range campaign.MovedAtOnce + 1 {
		b := campaign.Batch{
			BatchRef: campaign.BatchRef{ID: id, BatchID: campaign.BatchID(rand.Text())}, Payload: "p", Offsets: []int{0, 1}, Accepted: 1,
			AcceptedAt: now, Due: now.Add(time.Hour), Scheduled: true, State: campaign.BatchPending, NextCheck: now,
		}
		_, _ = rand.Read(b.Key[:])
		if err := store.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: "c", Ordinal: ordinal + 1, CreatedAt: now}, rand.Text()); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, b.BatchRef)
	}
	wire.take()
	check := func(what string, do func(ctx context.Context) error, want ...string) {
		t.Helper()
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, wire.take()); diff != "" {
			t.Errorf("requests of %s (-want +got):\n%s", what, diff)
		}
	}
	read := func(ref campaign.BatchRef) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := store.Batch(ctx, ref)
			return err
		}
	}
	check("a batch that moves with its campaign", read(refs[campaign.MovedAtOnce-1]), "GetItem")
	check("a batch that moves later", read(refs[campaign.MovedAtOnce]), "GetItem", "GetItem")
	c, err := store.Dispatched(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	wire.take()
	later := now.Add(5 * time.Hour)
	check("a move", func(ctx context.Context) error {
		_, _, err := store.RescheduleCampaign(ctx, c, later, later)
		return err
	}, "TransactWriteItems")
	finish := func(ctx context.Context) error {
		_, err := store.FinishMove(ctx, id, func(due time.Time) time.Time { return due })
		return err
	}
	check("the rest of a move", finish, "Query", "TransactWriteItems", "Query", "TransactWriteItems")
	check("a repeated task", finish, "Query")
	if _, err := store.StartRelease(t.Context(), refs[campaign.MovedAtOnce], "", later, later); err != nil {
		t.Fatal(err)
	}
	wire.take()
	check("a released batch", read(refs[campaign.MovedAtOnce]), "GetItem")
}
