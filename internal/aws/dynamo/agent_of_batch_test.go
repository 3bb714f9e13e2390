package dynamo_test

import (
	"crypto/rand"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
)

func TestStartRelease_RecordsTheAgent(t *testing.T) {
	t.Parallel()
	store, b := newStore(t), newBatch("tenant-"+rand.Text(), campaign.BatchPending, later, later)
	accept(t, store, b)
	for i, agent := range []string{"first", "second"} {
		if _, err := store.StartRelease(t.Context(), b.BatchRef, agent, later, later); err != nil {
			t.Fatal(err)
		}
		if got, err := store.Batch(t.Context(), b.BatchRef); got.AgentID != "first" || err != nil {
			t.Errorf("release %d: agent %q, %v", i, got.AgentID, err)
		}
	}
}

func TestAdoptAgent(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	with := campaign.Tenant{ID: "tenant-" + rand.Text(), AgentID: "agent-" + rand.Text()}
	without := campaign.Tenant{ID: "tenant-" + rand.Text()}
	for _, tenant := range []campaign.Tenant{with, without} {
		if err := store.SaveTenant(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		tenant   string
		state    campaign.BatchState
		has, get string
	}{
		{with.ID, campaign.BatchPending, "", ""},
		{with.ID, campaign.BatchCancelled, "", ""},
		{with.ID, campaign.BatchReleasing, "", with.AgentID},
		{with.ID, campaign.BatchSending, "", with.AgentID},
		{with.ID, campaign.BatchSent, "", with.AgentID},
		{with.ID, campaign.BatchCompleted, "", with.AgentID},
		{with.ID, campaign.BatchSending, "former", "former"},
		{without.ID, campaign.BatchSending, "", ""},
		{"tenant-" + rand.Text(), campaign.BatchSending, "", ""},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			b := newBatch(test.tenant, test.state, later, later)
			b.AgentID = test.has
			accept(t, store, b)
			got, err := store.AdoptAgent(t.Context(), b)
			kept, readErr := store.Batch(t.Context(), b.BatchRef)
			if got.AgentID != test.get || kept.AgentID != test.get || err != nil || readErr != nil {
				t.Errorf("got %q, kept %q, want %q; %v, %v", got.AgentID, kept.AgentID, test.get, err, readErr)
			}
		})
	}
}

// The tenant changes its agent while several functions adopt the batch's agent: all of them
// get the same agent.
func TestAdoptAgent_Race(t *testing.T) {
	t.Parallel()
	store, tenant := newStore(t), "tenant-"+rand.Text()
	b := newBatch(tenant, campaign.BatchSending, later, later)
	accept(t, store, b)
	var group sync.WaitGroup
	adopted := make([]string, 24)
	for i := range adopted {
		group.Go(func() {
			if i%4 == 0 {
				if err := store.SaveTenant(t.Context(), campaign.Tenant{ID: tenant, AgentID: "agent-" + rand.Text()}); err != nil {
					t.Error(err)
				}
			}
			got := b
			var err error
			for got.AgentID == "" && err == nil {
				got, err = store.AdoptAgent(t.Context(), b)
			}
			if adopted[i] = got.AgentID; err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, agent := range adopted {
		if agent != adopted[0] || agent == "" {
			t.Fatalf("agents %q", adopted)
		}
	}
}

// The former version writes and reads neither the agent nor the closing time of a batch.
func TestBatchRow_FormerVersion(t *testing.T) {
	t.Parallel()
	store, b := newStore(t), newBatch("tenant-"+rand.Text(), campaign.BatchSent, later, later)
	accept(t, store, b)
	row := func() dynamo.Item {
		t.Helper()
		got, err := store.Client.GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: &store.Campaigns, ConsistentRead: aws.Bool(true),
			Key: dynamo.Item{"pk": textOf("C#" + b.Tenant + "#" + b.CampaignID), "sk": textOf("BATCH#" + b.BatchID)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return got.Item
	}
	before := row()
	if before["agentId"] != nil || before["closedAt"] != nil {
		t.Errorf("a row of an accepted batch has an agent %v, or an end %v", before["agentId"], before["closedAt"])
	}
	if _, err := store.SetAgent(t.Context(), b, "agent"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.CompleteBatch(t.Context(), b.BatchRef, later); err != nil {
		t.Fatal(err)
	}
	after := row()
	for name := range before {
		if after[name] == nil {
			t.Errorf("%s is missing: the former version needs it", name)
		}
	}
	got, err := store.Batch(t.Context(), b.BatchRef)
	if err != nil || got.AgentID != "agent" || !got.ClosedAt.Equal(store.Now()) {
		t.Errorf("read agent %q, closed at %v, %v", got.AgentID, got.ClosedAt, err)
	}
}

func textOf(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
