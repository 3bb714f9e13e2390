package settings_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
)

func entries(indices ...int) []byte {
	fresh := ledger.NewEntries{Key: campaign.BatchKey{7}}
	for _, i := range indices {
		fresh.Entries = append(fresh.Entries, ledger.Entry{Sequence: i + 1, Change: campaign.Change{Index: i, Outcome: campaign.OutcomeRead, At: now}})
	}
	return ledger.PackNewEntries([]ledger.NewEntries{fresh})
}

// A single webhook is posted again on its own if its delivery is gone, and with its
// delivery if that is dead.
func TestResendOne_ContentOfDelivery(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]struct{ whole, alone delivery.Delivery }{
		"an entry":    {delivery.Delivery{Entries: entries(1, 2, 3)}, delivery.Delivery{Entries: entries(2)}},
		"a happening": {delivery.Delivery{Kind: delivery.KindReplied, Blob: "events/a/b"}, delivery.Delivery{Kind: delivery.KindReplied, Blob: "events/a/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, ctx := newBench(t), t.Context()
			made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
			if err != nil {
				t.Fatal(err)
			}
			newDelivery := func(n delivery.Delivery) delivery.Delivery {
				n.Tenant, n.EndpointID, n.Next, n.ExpiresAt = b.tenant, made.ID, now, now.Add(campaign.FailureLife)
				return n.Identified()
			}
			whole, alone := newDelivery(what.whole), newDelivery(what.alone)
			err = b.store.RecordFailure(ctx, delivery.Failure{
				Tenant: b.tenant, EndpointID: made.ID, WebhookID: "msg_a", Kind: what.whole.Kind, At: now, Task: whole.Task(),
				Entry: what.alone.Entries, Blob: what.alone.Blob,
			})
			if err != nil {
				t.Fatal(err)
			}
			resent := func(want delivery.Delivery) {
				t.Helper()
				if waiting, err := b.ResendOne(ctx, b.tenant, made.ID, "msg_a", now); err != nil || waiting {
					t.Fatal(waiting, err)
				}
				got, err := b.store.Delivery(ctx, want.Task())
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("notice %v (-want +got):\n%s", err, diff)
				}
			}
			resent(alone)
			dead := alone
			dead.Dead, dead.Attempt = true, 10
			if ok, err := b.store.SaveDelivery(ctx, alone, dead); !ok || err != nil {
				t.Fatal(ok, err)
			}
			resent(alone)
			if err := b.store.DeleteDelivery(ctx, alone.Task()); err != nil {
				t.Fatal(err)
			}
			dead = whole
			dead.Dead, dead.Attempt = true, 10
			if err := b.store.AddDeliveries(ctx, []delivery.Delivery{dead}); err != nil {
				t.Fatal(err)
			}
			resent(whole)
		})
	}
}

// Dead and waiting deliveries are resent.
func TestResendFailed_DeadAndWaiting(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var tasks []delivery.NotifyTask
	for i, n := range []delivery.Delivery{
		{Entries: entries(1)},
		{Entries: entries(2), Attempt: 3},
		{Entries: entries(3), Attempt: 1},
		{Kind: delivery.KindReplied, Blob: "events/a/b", Attempt: 10, Dead: true},
	} {
		n.Tenant, n.EndpointID, n.Next = b.tenant, made.ID, now.Add(time.Hour)
		n = n.Identified()
		if err := b.store.AddDeliveries(ctx, []delivery.Delivery{n}); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, n.Task())
		err := b.store.RecordFailure(ctx, delivery.Failure{
			Tenant: b.tenant, EndpointID: made.ID, WebhookID: "msg_" + string(rune('a'+i)), At: now.Add(time.Duration(i) * time.Second), Task: n.Task(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sent, err := b.ResendFailed(ctx, b.tenant, made.ID, now.Add(-time.Hour), 100)
	if diff := cmp.Diff(delivery.Resent{Deliveries: 4}, sent); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, task := range tasks {
		if n, err := b.store.Delivery(ctx, task); n.Dead || n.Next.After(now) || err != nil {
			t.Errorf("%+v, %v; want it due now", n, err)
		}
	}
}
