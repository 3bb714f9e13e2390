package dynamo_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// identified returns a delivery with entries, or of a webhook event if it has a blob.
func identified(tenant string, n delivery.Delivery) delivery.Delivery {
	n.Tenant, n.EndpointID = tenant, "e"
	if n.Blob == "" {
		n.Entries = []byte(rand.Text())
	}
	return n.Identified()
}

func dueByID(t *testing.T, store *dynamotest.Store, tenant string, at time.Time) map[delivery.NotifyTask]time.Time {
	t.Helper()
	due := map[delivery.NotifyTask]time.Time{}
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

func TestDelivery_Life(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]delivery.Delivery{
		"of entries": {}, "of an event": {Kind: delivery.KindReplied, Blob: "events/agent/" + rand.Text()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, tenant := newStore(t), "tenant#"+rand.Text()
			n = identified(tenant, n)
			n.Next = later
			unwritten := n
			unwritten.Unsaved = true
			save := func(read, next delivery.Delivery, want bool) {
				t.Helper()
				if saved, err := store.SaveDelivery(t.Context(), read, next); saved != want || err != nil {
					t.Errorf("saved %v, error %v; want %v", saved, err, want)
				}
			}
			is := func(want delivery.Delivery, due time.Time) {
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
			must(t, store.AddDeliveries(t.Context(), []delivery.Delivery{other}))
			is(n, later)
			if early := dueByID(t, store, tenant, later.Add(-time.Millisecond)); len(early) > 0 {
				t.Errorf("due before its time: %v", early)
			}
			tried := n
			tried.Attempt, tried.Pending, tried.Next, tried.ExpiresAt = 1, []int{0, 5}, later.Add(time.Hour), later.Add(2000*time.Hour)
			save(n, tried, true)
			save(n, tried, false)
			moved, err := store.PostponeDelivery(t.Context(), n.Task(), later, later.Add(2*time.Hour))
			if moved || err != nil {
				t.Errorf("moved from a time that it has not: %v, error %v", moved, err)
			}
			moved, err = store.PostponeDelivery(t.Context(), n.Task(), tried.Next, later.Add(2*time.Hour))
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
			if moved, err = store.PostponeDelivery(t.Context(), n.Task(), tried.Next, later); moved || err != nil {
				t.Errorf("moved what is not there: %v, error %v", moved, err)
			}
		})
	}
}

// One call has a delivery, until its claim ends or the delivery is saved.
func TestClaimDelivery(t *testing.T) {
	t.Parallel()
	store, tenant := newStore(t), "tenant#"+rand.Text()
	n := identified(tenant, delivery.Delivery{})
	n.Next = later
	claim := func(read delivery.Delivery, until time.Time, want bool, others time.Time) {
		t.Helper()
		claimed, end, err := store.ClaimDelivery(t.Context(), read, until)
		if claimed != want || !end.Equal(others) || err != nil {
			t.Errorf("claimed %t, another until %v, %v; want %t, %v", claimed, end, err, want, others)
		}
	}
	end := later.Add(time.Minute)
	claim(n, end, false, time.Time{}) // there is none
	must(t, store.AddDeliveries(t.Context(), []delivery.Delivery{n}))
	claim(n, later, true, time.Time{}) // ends at once
	claim(n, end, true, time.Time{})
	claim(n, end, false, end)
	tried := n
	tried.Attempt, tried.Parked = 1, true
	if saved, err := store.SaveDelivery(t.Context(), n, tried); !saved || err != nil {
		t.Fatalf("saved %t, %v", saved, err)
	}
	claim(n, end, false, time.Time{}) // it has changed
	claim(tried, end, true, time.Time{})
	// Of two that end the wait of a parked delivery, one does.
	due := tried
	due.Parked = false
	for _, want := range []bool{true, false} {
		if saved, err := store.SaveDelivery(t.Context(), tried, due); saved != want || err != nil {
			t.Errorf("saved %t, %v; want %t", saved, err, want)
		}
	}
}

// Parked and dead deliveries are found in all shards, ordered by time.
func TestDeliveriesOfAnEndpoint(t *testing.T) {
	t.Parallel()
	store, tenant, ctx := newStore(t), "tenant#"+rand.Text(), t.Context()
	var want []delivery.NotifyTask
	for i := range 40 {
		n := identified(tenant, delivery.Delivery{})
		n.Next, n.Parked, n.Dead = later.Add(time.Duration(i)*time.Minute), true, i >= 20
		must(t, store.AddDeliveries(ctx, []delivery.Delivery{n}))
		want = append(want, n.Task())
	}
	for _, other := range []string{"e#1", "f"} {
		n := delivery.Delivery{Tenant: tenant, EndpointID: other, Entries: []byte(other), Parked: true, Next: later}.Identified()
		must(t, store.AddDeliveries(ctx, []delivery.Delivery{n}))
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

// Deliveries to one endpoint are read by ID, also if an ID is asked twice. Those of others are not.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	store, tenant := newStore(t), "tenant#"+rand.Text()
	entries := identified(tenant, delivery.Delivery{Next: later, Attempt: 2})
	event := identified(tenant, delivery.Delivery{Next: later, Kind: delivery.KindReplied, Blob: "events/agent/" + rand.Text()})
	other := entries
	other.EndpointID = "f"
	other = other.Identified()
	must(t, store.AddDeliveries(t.Context(), []delivery.Delivery{entries, event, other}))
	got, err := store.Deliveries(t.Context(), tenant, "e", []string{entries.ID, event.ID, entries.ID, "none"})
	want := map[string]delivery.Delivery{entries.ID: entries, event.ID: event}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v; the deliveries (-want +got):\n%s", err, diff)
	}
	if none, err := store.Deliveries(t.Context(), tenant, "e", nil); len(none) > 0 || err != nil {
		t.Errorf("without IDs: %v, error %v", none, err)
	}
}

// Due deliveries are distributed over all shards.
func TestDueDeliveries_Shards(t *testing.T) {
	t.Parallel()
	store, tenant := newStore(t), "tenant#"+rand.Text()
	const many = 200
	for range many {
		n := identified(tenant, delivery.Delivery{})
		n.Next = later
		must(t, store.AddDeliveries(t.Context(), []delivery.Delivery{n}))
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

// The posts to several endpoints of a tenant share a row for each hour.
func TestHourlyPosts_Endpoints(t *testing.T) {
	t.Parallel()
	store, ctx, tenant := newStore(t), t.Context(), randomID()
	must(t, store.AddPosts(ctx, tenant, later.Add(-2*time.Hour), map[string]delivery.PostCount{"a": {Accepted: 5}}))
	must(t, store.AddPosts(ctx, tenant, later, map[string]delivery.PostCount{"a": {Accepted: 3}}))
	must(t, store.AddPosts(ctx, tenant, later.Add(time.Hour), map[string]delivery.PostCount{"b": {Accepted: 7}}))
	for range 2 {
		must(t, store.AddPosts(ctx, tenant, later, map[string]delivery.PostCount{"a": {Accepted: 20, Failed: 2}, "b": {Failed: 1}}))
	}
	hour := later.Truncate(time.Hour)
	for endpoint, want := range map[string][]delivery.HourlyPosts{
		"a": {{Hour: hour, Accepted: 43, Failed: 4}},
		"b": {{Hour: hour, Failed: 2}, {Hour: hour.Add(time.Hour), Accepted: 7}},
		"c": {},
	} {
		got, err := store.HourlyPosts(ctx, tenant, endpoint, later.Add(-time.Hour))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("endpoint %s: %v (-want +got):\n%s", endpoint, err, diff)
		}
	}
}
