package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// beforePost does something before the first post of a process.
type beforePost struct {
	http.RoundTripper
	first func()
}

func (b beforePost) RoundTrip(r *http.Request) (*http.Response, error) {
	b.first()
	return b.RoundTripper.RoundTrip(r)
}

// onceEach checks that each of n webhooks was answered 2xx, and none of them twice.
func (w *harness) onceEach(n int) {
	w.t.Helper()
	ids, _ := w.receiver.taken()
	again := 0
	for _, answered := range ids {
		again += answered - 1
	}
	if len(ids) != n || again > 0 {
		w.t.Errorf("%d webhooks were answered 2xx, and %d came again; want %d, once", len(ids), again, n)
	}
}

// Of two tasks of a delivery that are received at the same time, one posts. A long queue causes this: sweep repeats a
// task that waits.
func TestHandle_TwoTasksOfADelivery(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	d := delivery.Delivery{
		Tenant: w.tenant, EndpointID: w.endpoint.ID, Entries: ledger.PackNewEntries([]ledger.NewEntries{w.fresh(sent(5)...)}),
		Next: start.Add(time.Minute), ExpiresAt: start.Add(time.Hour),
	}.Identified()
	w.enqueue(d)
	tasks := []delivery.NotifyTask{d.Task()}
	one, other := w.notifier(), w.notifier()
	one.HTTP.Transport = beforePost{one.HTTP.Transport, sync.OnceFunc(func() { w.must(other.Handle(t.Context(), tasks)[0]) })}
	w.must(one.Handle(t.Context(), tasks)[0])
	w.run(time.Hour, other)
	w.onceEach(5)
}

// The deliveries of a process that has died are posted when its claim ends.
func TestHandle_DiedWithClaim(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	d := delivery.Delivery{
		Tenant: w.tenant, EndpointID: w.endpoint.ID, Entries: ledger.PackNewEntries([]ledger.NewEntries{w.fresh(sent(5)...)}),
		Next: start.Add(time.Hour), ExpiresAt: start.Add(2 * time.Hour),
	}.Identified()
	w.enqueue(d)
	if claimed, _, err := w.store.ClaimDelivery(t.Context(), d, start.Add(time.Minute)); !claimed || err != nil {
		t.Fatalf("claimed %t, %v", claimed, err)
	}
	process := w.notifier()
	w.must(process.Handle(t.Context(), []delivery.NotifyTask{d.Task()})[0])
	w.run(59*time.Second, process)
	if _, posts := w.receiver.taken(); posts > 0 {
		t.Errorf("%d posts during the claim of another process", posts)
	}
	w.run(time.Minute, process)
	w.onceEach(5)
}

// unreadableCircuits are endpoints whose circuits cannot be read.
type unreadableCircuits struct{ webhook.Endpoints }

func (unreadableCircuits) Circuit(context.Context, string, string) (delivery.Circuit, error) {
	return delivery.Circuit{}, errDied
}

// An error before the posts leaves no claim: the repeated task posts at once.
func TestHandle_ErrorBeforeClaim(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	d := delivery.Delivery{
		Tenant: w.tenant, EndpointID: w.endpoint.ID, Entries: ledger.PackNewEntries([]ledger.NewEntries{w.fresh(sent(5)...)}),
		Next: start.Add(time.Hour), ExpiresAt: start.Add(2 * time.Hour),
	}.Identified()
	w.enqueue(d)
	tasks, process := []delivery.NotifyTask{d.Task()}, w.notifier()
	process.Endpoints = unreadableCircuits{process.Endpoints}
	if err := process.Handle(t.Context(), tasks)[0]; !errors.Is(err, errDied) {
		t.Errorf("error %v, want that of the circuit", err)
	}
	w.must(w.notifier().Handle(t.Context(), tasks)[0])
	w.onceEach(5)
}

// A task does not park a delivery that another call is posting when the circuit opens: the result of that call would be
// lost, and what was delivered would come again.
func TestHandle_CircuitOpensDuringPosts(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	refused := w.refusing(func(http.ResponseWriter) int {
		if w.Now().Before(start.Add(time.Second)) {
			return http.StatusBadRequest
		}
		return http.StatusNoContent
	}, 4)
	d := delivery.Delivery{
		Tenant: w.tenant, EndpointID: w.endpoint.ID, Entries: ledger.PackNewEntries([]ledger.NewEntries{w.fresh(sent(5)...)}),
		Next: start.Add(time.Hour), ExpiresAt: start.Add(2 * time.Hour),
	}.Identified()
	w.enqueue(d)
	tasks := []delivery.NotifyTask{d.Task()}
	one, other := w.notifier(), w.notifier()
	one.HTTP.Transport = beforePost{one.HTTP.Transport, sync.OnceFunc(func() {
		_, err := w.store.SaveCircuit(t.Context(), delivery.Circuit{
			Tenant: w.tenant, EndpointID: w.endpoint.ID, Since: start, Next: start.Add(time.Minute),
		})
		w.must(err)
		w.must(other.Handle(t.Context(), tasks)[0])
	})}
	w.must(one.Handle(t.Context(), tasks)[0])
	w.run(time.Hour, other)
	if w.onceEach(5); len(refused) != 1 {
		t.Errorf("posts of %d messages were refused, want 1", len(refused))
	}
}

// A surplus task of a delivery that waits for its next attempt neither posts nor counts as an attempt.
func TestHandle_SurplusTask(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 50)
	at := w.refusing(bad, 0)
	w.record(sent(50)...)
	process := w.notifier()
	task := func() delivery.NotifyTask { return *w.due(start.Add(1000 * time.Hour))[0].Delivery }
	w.run(time.Second, process)
	w.must(process.Handle(t.Context(), []delivery.NotifyTask{task()})[0]) // while its own task is queued
	w.run(time.Minute, process)
	w.must(process.Handle(t.Context(), []delivery.NotifyTask{task()})[0]) // while it waits for sweep
	for range 15 {
		w.run(10*time.Hour, w.notifier())
	}
	if diff := cmp.Diff(schedule(), at[w.batch.Key.MessageID(0)]); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
}

// What an endpoint answered 2xx before it failed does not come again, also if the circuit cannot be opened.
func TestHandle_OutageDuringAttempt(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]string{"opened": "", "not opened": "save circuit", "opened, without an answer": "saved circuit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 50)
			accepted := 0
			w.receiver.set(func(h http.ResponseWriter, _ string) int {
				if down := accepted >= 20 && w.Now().Before(start.Add(30*time.Second)); down {
					h.Header().Set("Retry-After", "1")
					return http.StatusServiceUnavailable
				}
				accepted++
				return http.StatusNoContent
			})
			w.dying(step)
			w.record(sent(50)...)
			w.run(time.Hour, w.notifier())
			w.onceEach(50)
		})
	}
}
