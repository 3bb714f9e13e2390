package dynamo_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
)

// dueDeliveries returns the tenant's due deliveries and their check times in the index.
func dueDeliveries(t *testing.T, store *dynamo.CampaignStore, tenant string, at time.Time) map[campaign.NotifyTask]time.Time {
	t.Helper()
	due := map[campaign.NotifyTask]time.Time{}
	for shard := range dynamo.DueShards {
		for d, err := range store.Due(t.Context(), shard, at) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Delivery != nil && d.Delivery.Tenant == tenant {
				due[*d.Delivery] = d.Check
			}
		}
	}
	return due
}

func TestAppend_Deliveries(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	tenant := "tenant#" + rand.Text()
	b := campaign.Batch{BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: tenant}}, Key: newKey(), Accepted: 300}
	batchLedger, err := store.Ledger(t.Context(), b, []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	endpoints := []campaign.Endpoint{
		{ID: "all"},
		{ID: "failures", Kinds: []string{string(campaign.KindFailed)}},
		{ID: "reads", Kinds: []string{string(campaign.KindRead)}},
	}
	news := append(changesOf(0, 260, campaign.OutcomeSent), changesOf(260, 300, campaign.OutcomeFailed)...)
	deliveries, err := store.Append(t.Context(), b, batchLedger, news, endpoints, later)
	if err != nil {
		t.Fatal(err)
	}
	want := []campaign.WebhookDelivery{
		{Tenant: tenant, EndpointID: "all", Key: b.Key, Ordinal: 1, Next: later},
		{Tenant: tenant, EndpointID: "all", Key: b.Key, Ordinal: 2, Next: later},
		{Tenant: tenant, EndpointID: "failures", Key: b.Key, Ordinal: 2, Next: later},
	}
	if diff := cmp.Diff(want, deliveries); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	due := dueDeliveries(t, store, tenant, later)
	for _, n := range want {
		if !due[n.Task()].Equal(later) {
			t.Errorf("page %d is not due to endpoint %s", n.Ordinal, n.EndpointID)
		}
		got, err := store.Delivery(t.Context(), n.Task())
		if diff := cmp.Diff(n, got); diff != "" || err != nil {
			t.Errorf("error %v; the delivery as read (-want +got):\n%s", err, diff)
		}
	}
	page, err := store.LogPage(t.Context(), b.Key, 2)
	if diff := cmp.Diff(campaign.LogPage{Ordinal: 2, First: 251, Changes: news[250:]}, page); diff != "" || err != nil {
		t.Errorf("error %v; the second page (-want +got):\n%s", err, diff)
	}
	if len(due) != 3 || len(dueDeliveries(t, store, tenant, later.Add(-time.Millisecond))) > 0 {
		t.Errorf("%d deliveries are due, want 3 and none before", len(due))
	}
}

func TestDelivery_Life(t *testing.T) {
	t.Parallel()
	tests := map[string]campaign.WebhookDelivery{
		"of a batch": {Key: newKey(), Ordinal: 7},
		"of none":    {Kind: campaign.KindReplied, Blob: "events/agent/" + rand.Text()},
	}
	for name, n := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			n.Tenant, n.EndpointID, n.Next = "tenant#"+rand.Text(), "endpoint", later
			if err := store.AddDeliveries(t.Context(), []campaign.WebhookDelivery{n}); err != nil {
				t.Fatal(err)
			}
			read := func(want campaign.WebhookDelivery) {
				t.Helper()
				got, err := store.Delivery(t.Context(), n.Task())
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("error %v; the delivery (-want +got):\n%s", err, diff)
				}
			}
			save := func(read, next campaign.WebhookDelivery, want bool) {
				t.Helper()
				if saved, err := store.SaveDelivery(t.Context(), read, next); saved != want || err != nil {
					t.Errorf("saved %v, error %v", saved, err)
				}
			}
			tried := n
			tried.Attempt, tried.Left, tried.Next = 1, []int{0, 5, 249}, later.Add(time.Hour)
			save(n, tried, true)
			save(n, tried, false)
			other := tried
			other.Left = []int{5}
			save(other, n, false)
			if err := store.AddDeliveries(t.Context(), []campaign.WebhookDelivery{n}); err != nil {
				t.Error(err)
			}
			read(tried)

			moved, err := store.MoveDelivery(t.Context(), n.Task(), later, later.Add(2*time.Hour))
			if moved || err != nil {
				t.Errorf("moved from a time that it has not: %v, error %v", moved, err)
			}
			if moved, err = store.MoveDelivery(t.Context(), n.Task(), tried.Next, later.Add(2*time.Hour)); !moved || err != nil {
				t.Errorf("moved %v, error %v", moved, err)
			}
			dead := tried
			dead.Attempt, dead.Dead, dead.Next = 10, true, time.Time{}
			save(tried, dead, true)
			read(dead)
			if due := dueDeliveries(t, store, n.Tenant, later.Add(1000*time.Hour)); len(due) > 0 {
				t.Errorf("a dead delivery is due: %v", due)
			}
			if err := store.DeleteDelivery(t.Context(), n.Task()); err != nil {
				t.Error(err)
			}
			if _, err := store.Delivery(t.Context(), n.Task()); !errors.Is(err, campaign.ErrNotFound) {
				t.Errorf("error %v, want not found", err)
			}
			save(dead, n, false)
			if moved, err = store.MoveDelivery(t.Context(), n.Task(), tried.Next, later); moved || err != nil {
				t.Errorf("moved what is not there: %v, error %v", moved, err)
			}
		})
	}
}
