package dynamo_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/poststats"
)

// splitStore is a store that writes new rows to the Webhooks table.
func splitStore(t *testing.T) *dynamo.CampaignStore {
	t.Helper()
	store := newStore(t)
	store.Split = true
	return store
}

// identified returns a delivery with entries, or of a webhook event if it has a blob.
func identified(tenant string, n campaign.WebhookDelivery) campaign.WebhookDelivery {
	n.Tenant, n.EndpointID = tenant, "e"
	if n.Blob == "" {
		n.Entries = []byte(rand.Text())
	}
	return n.Identified()
}

func dueByID(t *testing.T, store *dynamo.CampaignStore, tenant string, at time.Time) map[campaign.NotifyTask]time.Time {
	t.Helper()
	due := map[campaign.NotifyTask]time.Time{}
	for shard := range dynamo.DeliveryShards {
		for d, err := range store.DueDeliveries(t.Context(), shard, at) {
			must(t, err)
			if d.Delivery.Tenant == tenant {
				due[*d.Delivery] = d.Check
			}
		}
	}
	return due
}

func TestDeliveryWithID_Life(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]campaign.WebhookDelivery{
		"of entries": {}, "of an event": {Kind: campaign.KindReplied, Blob: "events/agent/" + rand.Text()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, tenant := splitStore(t), "tenant#"+rand.Text()
			n = identified(tenant, n)
			n.Next = later
			unwritten := n
			unwritten.Unsaved = true
			save := func(read, next campaign.WebhookDelivery, want bool) {
				t.Helper()
				if saved, err := store.SaveDelivery(t.Context(), read, next); saved != want || err != nil {
					t.Errorf("saved %v, error %v; want %v", saved, err, want)
				}
			}
			is := func(want campaign.WebhookDelivery, due time.Time) {
				t.Helper()
				got, err := store.Delivery(t.Context(), n.Task())
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("error %v; the delivery (-want +got):\n%s", err, diff)
				}
				if at := dueByID(t, store, tenant, later.Add(1000*time.Hour))[n.Task()]; !at.Equal(due) {
					t.Errorf("due at %v, want %v", at, due)
				}
			}
			save(unwritten, unwritten, true)
			is(n, later)
			other := unwritten
			other.Attempt = 3
			save(unwritten, other, false) // the existing row is kept
			must(t, store.AddDeliveries(t.Context(), []campaign.WebhookDelivery{other}))
			is(n, later)
			if early := dueByID(t, store, tenant, later.Add(-time.Millisecond)); len(early) > 0 {
				t.Errorf("due before its time: %v", early)
			}
			tried := n
			tried.Attempt, tried.Left, tried.Next, tried.ExpiresAt = 1, []int{0, 5}, later.Add(time.Hour), later.Add(2000*time.Hour)
			save(n, tried, true)
			save(n, tried, false)
			moved, err := store.MoveDelivery(t.Context(), n.Task(), tried.Next, later.Add(2*time.Hour))
			tried.Next = later.Add(2 * time.Hour)
			if !moved || err != nil {
				t.Errorf("moved %v, error %v", moved, err)
			}
			is(tried, tried.Next)
			dead := tried
			dead.Dead = true
			save(tried, dead, true)
			is(dead, time.Time{})
			must(t, store.DeleteDelivery(t.Context(), n.Task()))
			if _, err := store.Delivery(t.Context(), n.Task()); !errors.Is(err, campaign.ErrNotFound) {
				t.Errorf("error %v, want not found", err)
			}
			save(dead, n, false)
			if due := dueDeliveries(t, store, tenant, later.Add(1000*time.Hour)); len(due) > 0 {
				t.Errorf("the Campaigns table has %v", due)
			}
		})
	}
}

// Parked and dead deliveries are found in both tables and all shards, ordered by time.
func TestDeliveriesOfAnEndpoint_BothLayouts(t *testing.T) {
	t.Parallel()
	store, tenant, ctx := splitStore(t), "tenant#"+rand.Text(), t.Context()
	var want []campaign.NotifyTask
	for i := range 40 {
		n := campaign.WebhookDelivery{Tenant: tenant, EndpointID: "e", Key: newKey(), Ordinal: i + 1}
		if i%4 > 0 {
			n = identified(tenant, campaign.WebhookDelivery{})
		}
		n.Next, n.Parked, n.Dead = later.Add(time.Duration(i)*time.Minute), true, i >= 20
		must(t, store.AddDeliveries(ctx, []campaign.WebhookDelivery{n}))
		want = append(want, n.Task())
	}
	for _, other := range []string{"e#1", "f"} {
		n := campaign.WebhookDelivery{Tenant: tenant, EndpointID: other, Entries: []byte(other), Parked: true, Next: later}.Identified()
		must(t, store.AddDeliveries(ctx, []campaign.WebhookDelivery{n}))
	}
	parked, err := store.ParkedDeliveries(ctx, tenant, "e", 7)
	if diff := cmp.Diff(want[:7], parked); diff != "" || err != nil {
		t.Errorf("error %v; the first 7 that wait (-want +got):\n%s", err, diff)
	}
	parked, err = store.ParkedDeliveries(ctx, tenant, "e", 100)
	if diff := cmp.Diff(want[:20], parked); diff != "" || err != nil {
		t.Errorf("error %v; all that wait (-want +got):\n%s", err, diff)
	}
	dead, err := store.DeadDeliveries(ctx, tenant, "e", later.Add(25*time.Minute), 100)
	if diff := cmp.Diff(want[25:], dead); diff != "" || err != nil {
		t.Errorf("error %v; those that died since (-want +got):\n%s", err, diff)
	}
	if due := dueByID(t, store, tenant, later.Add(1000*time.Hour)); len(due) > 0 {
		t.Errorf("sweep sees %v", due)
	}
}

// Due deliveries are distributed over all shards.
func TestDueDeliveries_Shards(t *testing.T) {
	t.Parallel()
	store, tenant := splitStore(t), "tenant#"+rand.Text()
	const many = 200
	for range many {
		n := identified(tenant, campaign.WebhookDelivery{})
		n.Next = later
		must(t, store.AddDeliveries(t.Context(), []campaign.WebhookDelivery{n}))
	}
	shards := map[int]int{}
	for shard := range dynamo.DeliveryShards {
		for d, err := range store.DueDeliveries(t.Context(), shard, later) {
			must(t, err)
			if d.Delivery.Tenant == tenant {
				shards[shard]++
			}
		}
	}
	total := 0
	for _, n := range shards {
		total += n
	}
	if total != many || len(shards) < dynamo.DeliveryShards-1 {
		t.Errorf("%d deliveries in %d shards, want %d in about all: %v", total, len(shards), many, shards)
	}
}

// The counts of both layouts are added.
func TestHourlyPosts_BothLayouts(t *testing.T) {
	t.Parallel()
	old, store, ctx, tenant := newStore(t), splitStore(t), t.Context(), randomID()
	must(t, old.CountPosts(ctx, tenant, "a", later, 10, 1))
	must(t, old.CountPosts(ctx, tenant, "a", later.Add(-2*time.Hour), 5, 0))
	must(t, store.CountPosts(ctx, tenant, "a", later, 3, 0))
	must(t, store.CountPosts(ctx, tenant, "b", later.Add(time.Hour), 7, 0))
	for range 2 {
		must(t, store.AddPosts(ctx, tenant, later, map[string]poststats.Count{"a": {Taken: 20, Failed: 2}, "b": {Failed: 1}}))
	}
	hour := later.Truncate(time.Hour)
	for _, s := range []*dynamo.CampaignStore{old, store} {
		for endpoint, want := range map[string][]poststats.Hourly{
			"a": {{Hour: hour, Taken: 53, Failed: 5}},
			"b": {{Hour: hour, Failed: 2}, {Hour: hour.Add(time.Hour), Taken: 7}},
			"c": {},
		} {
			got, err := s.HourlyPosts(ctx, tenant, endpoint, later.Add(-time.Hour))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("endpoint %s: %v (-want +got):\n%s", endpoint, err, diff)
			}
		}
	}
}

// The failures of both layouts are read together, newest first, as recorded.
func TestFailures_BothLayouts(t *testing.T) {
	t.Parallel()
	old, store, ctx, tenant := newStore(t), splitStore(t), t.Context(), randomID()
	var all []campaign.WebhookFailure
	for i := range 6 {
		f := campaign.WebhookFailure{
			Tenant: tenant, EndpointID: "e", WebhookID: fmt.Sprint("msg_", i), Kind: campaign.KindReplied, Status: 500, Code: "status_500",
			Attempt: i, At: later.Add(time.Duration(i) * time.Second), Task: campaign.NotifyTask{Tenant: tenant, EndpointID: "e", DeliveryID: "n"},
		}
		recorder := store
		switch i % 3 {
		case 0:
			recorder, f.Task = old, campaign.NotifyTask{Tenant: tenant, EndpointID: "e", Kind: f.Kind, Blob: "events/x"}
		case 1:
			f.Entry = []byte("entry")
		case 2:
			f.Blob = "events/y"
		}
		must(t, recorder.RecordFailure(ctx, f))
		all = append([]campaign.WebhookFailure{f}, all...)
	}
	for _, s := range []*dynamo.CampaignStore{old, store} {
		got, err := s.Failures(ctx, tenant, "e", 5)
		if diff := cmp.Diff(all[:5], got); diff != "" || err != nil {
			t.Errorf("failures %v (-want +got):\n%s", err, diff)
		}
		for _, f := range all {
			got, err := s.Failure(ctx, tenant, "e", f.WebhookID, f.At)
			if diff := cmp.Diff(f, got); diff != "" || err != nil {
				t.Errorf("failure %v (-want +got):\n%s", err, diff)
			}
		}
	}
}
