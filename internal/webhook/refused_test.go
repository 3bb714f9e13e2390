package webhook_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// schedule returns the post times of a message that always fails.
func schedule() []time.Duration {
	at := []time.Duration{0}
	for _, gap := range []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	} {
		at = append(at, at[len(at)-1]+gap)
	}
	return at
}

// refusing fails some messages and records their times.
func (w *harness) refusing(refuse func(h http.ResponseWriter) int, indices ...int) map[string][]time.Duration {
	ids, at := map[string]bool{}, map[string][]time.Duration{}
	for _, i := range indices {
		ids[w.batch.Key.MessageID(i)] = true
	}
	w.receiver.set(func(h http.ResponseWriter, body string) int {
		for id := range ids {
			if strings.Contains(body, id) {
				at[id] = append(at[id], w.Now().Sub(start))
				return refuse(h)
			}
		}
		return http.StatusOK
	})
	return at
}

func bad(http.ResponseWriter) int { return http.StatusBadRequest }

func (w *harness) isWell() {
	w.t.Helper()
	e, err := w.store.Endpoint(w.t.Context(), w.tenant, w.endpoint.ID)
	if err != nil || e.Off() {
		w.t.Errorf("the endpoint is off because %q, %v", e.OffReason, err)
	}
	if c, err := w.store.Circuit(w.t.Context(), w.tenant, w.endpoint.ID); err != nil || c.Open() {
		w.t.Errorf("the circuit is open since %v, %v", c.Since, err)
	}
}

func (w *harness) dead(want int) []delivery.NotifyTask {
	w.t.Helper()
	dead, err := w.store.DeadDeliveries(w.t.Context(), w.tenant, w.endpoint.ID, time.Time{}, 10)
	if err != nil || len(dead) != want {
		w.t.Fatalf("%d deliveries are dead, %v; want %d", len(dead), err, want)
	}
	return dead
}

// A healthy endpoint that refuses a few messages gets the others at once, and the refused
// ones by the schedule until they are dead.
func TestRefused_FewMessages(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 50)
	indices := []int{0, 3, 6, 9}
	at := w.refusing(bad, indices...)
	w.record(sent(50)...)
	w.run(time.Second, w.notifier())
	if ids, _ := w.receiver.taken(); len(ids) != 46 {
		t.Errorf("%d webhooks arrived at once, want 46", len(ids))
	}
	for range 15 { // new processes have no failure counts
		w.run(10*time.Hour, w.notifier())
		w.isWell()
	}
	for _, i := range indices {
		if diff := cmp.Diff(schedule(), at[w.batch.Key.MessageID(i)]); diff != "" {
			t.Errorf("posts of message %d (-want +got):\n%s", i, diff)
		}
	}
	if left := w.left(w.delivery(w.dead(1)[0])); !slices.Equal(left, indices) {
		t.Errorf("left %v, want the refused ones", left)
	}
}

// If the first messages ever fail, the circuit opens. The first probe with another message
// closes it.
func TestRefused_FirstMessages(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 50)
	indices := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	at := w.refusing(bad, indices...)
	w.record(sent(50)...)
	process := w.notifier()
	process.Jitter = mathrand.Float64
	w.run(10*time.Minute, process)
	if ids, _ := w.receiver.taken(); len(ids) != 38 {
		t.Errorf("%d webhooks arrived within 10 minutes, want 38", len(ids))
	}
	w.run(140*time.Hour, process)
	w.isWell()
	w.dead(1)
	for id, posts := range at {
		if len(posts) > 14 { // the schedule, and some probes
			t.Errorf("message %s was posted %d times", id, len(posts))
		}
	}
}

// A message that always gets a Retry-After does not park the others for long, and dies.
func TestRefused_RetryAfterOfOneMessage(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 100)
	pause := func(h http.ResponseWriter) int {
		h.Header().Set("Retry-After", "1")
		return http.StatusServiceUnavailable
	}
	at := w.refusing(pause, 7)
	process := w.notifier()
	w.record(campaign.Change{Index: 7, Outcome: campaign.OutcomeSent, At: start})
	receivesBeforeDelivery := 0
	for i := range 15 {
		if i != 7 {
			w.record(campaign.Change{Index: i, Outcome: campaign.OutcomeSent, At: start})
		}
		w.run(time.Second, process)
		if ids, _ := w.receiver.taken(); len(ids) < i {
			receivesBeforeDelivery++
		}
		w.pass(time.Minute, process)
	}
	if receivesBeforeDelivery > 2 {
		t.Errorf("%d of 15 webhooks did not arrive at once", receivesBeforeDelivery)
	}
	if ids, _ := w.receiver.taken(); len(ids) != 14 {
		t.Errorf("%d webhooks arrived, want 14", len(ids))
	}
	if posts := len(at[w.batch.Key.MessageID(7)]); posts > 8 {
		t.Errorf("the message was posted %d times within 15 minutes", posts)
	}
	w.isWell()
}

// pass advances the time with all due work.
func (w *harness) pass(span time.Duration, process *webhook.Notifier) {
	w.t.Helper()
	end := w.Now().Add(span)
	w.run(span, process)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = end
}

func TestCircuit_LowTraffic(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	w.receiver.set(failing(500))
	w.record(sent(1)...)
	for range 3 { // each attempt runs in another process
		w.run(4*time.Minute, w.notifier())
	}
	if c, err := w.store.Circuit(t.Context(), w.tenant, w.endpoint.ID); err != nil || !c.Open() {
		t.Fatalf("the circuit is not open: %+v, %v", c, err)
	}
}

// An unreadable delivery is dead at once and does not block others.
func TestHandle_Unreadable(t *testing.T) {
	t.Parallel()
	damages := map[string]func(w *harness) delivery.Delivery{
		"no content": func(*harness) delivery.Delivery {
			return delivery.Delivery{Kind: delivery.KindReplied, Blob: "events/gone/" + rand.Text()}
		},
		"damaged content": func(w *harness) delivery.Delivery {
			blob := "events/" + w.tenant + "/damaged"
			w.must(w.blobs.Put(w.t.Context(), blob, []byte("{"), "application/json"))
			return delivery.Delivery{Kind: delivery.KindReplied, Blob: blob}
		},
		"damaged entries": func(*harness) delivery.Delivery {
			return delivery.Delivery{Entries: []byte{0x80}}
		},
		"no batch": func(*harness) delivery.Delivery {
			var key campaign.BatchKey
			_, _ = rand.Read(key[:])
			return delivery.Delivery{Entries: ledger.PackNewEntries([]ledger.NewEntries{{Key: key, Entries: ledger.Numbered(1, sent(1))}})}
		},
		"damaged payload": func(w *harness) delivery.Delivery {
			well := w.batch
			w.batch = w.newBatch(1)
			w.must(w.blobs.Put(w.t.Context(), w.batch.Payload, make([]byte, 400), "application/octet-stream"))
			d := delivery.Delivery{Entries: ledger.PackNewEntries([]ledger.NewEntries{w.fresh(sent(1)...)})}
			w.batch = well
			return d
		},
		"short payload": func(w *harness) delivery.Delivery {
			well := w.batch
			w.batch = w.newBatch(101)
			w.must(w.blobs.Put(w.t.Context(), w.batch.Payload, nil, "application/octet-stream"))
			d := delivery.Delivery{Entries: ledger.PackNewEntries([]ledger.NewEntries{
				w.fresh(campaign.Change{Index: 100, Outcome: campaign.OutcomeSent, At: start}),
			})}
			w.batch = well
			return d
		},
	}
	for name, damage := range damages {
		for _, when := range []string{"on its way", "parked"} {
			t.Run(fmt.Sprint(name, " ", when), func(t *testing.T) {
				t.Parallel()
				w := newHarness(t, 20)
				process := w.notifier()
				if when == "parked" { // before all others
					w.receiver.set(failing(503))
					w.record(sent(20)...)
					w.run(time.Minute, process)
					w.mu.Lock()
					w.now = start
					w.mu.Unlock()
				}
				d := damage(w)
				d.Tenant, d.EndpointID, d.Next, d.Parked = w.tenant, w.endpoint.ID, start.Add(-time.Hour), when == "parked"
				w.enqueue(d.Identified())
				if when == "parked" {
					w.run(time.Minute, process)
					w.receiver.set(nil)
					w.run(10*time.Minute, process)
					if ids, _ := w.receiver.taken(); len(ids) != 20 {
						t.Errorf("%d webhooks arrived, want 20", len(ids))
					}
				} else {
					w.run(time.Second, process)
				}
				w.dead(1)
				w.isWell()
			})
		}
	}
}

// Expired deliveries that DynamoDB has not deleted yet are deleted when they are read.
func TestCircuit_ExpiredDeliveries(t *testing.T) {
	t.Parallel()
	const ended = 2 * 100 // twice a page
	w := newHarness(t, 20)
	process := w.notifier()
	w.receiver.set(failing(503))
	w.record(sent(20)...)
	w.run(time.Minute, process)
	for i := range ended {
		d := delivery.Delivery{
			Tenant: w.tenant, EndpointID: w.endpoint.ID, Entries: fmt.Append(nil, i), Pending: []int{0},
			Next: start.Add(-time.Hour), Parked: true, ExpiresAt: start.Add(-time.Second),
		}.Identified()
		w.must(w.store.AddDeliveries(t.Context(), []delivery.Delivery{d}))
	}
	w.receiver.set(nil)
	w.run(10*time.Minute, process)
	if ids, _ := w.receiver.taken(); len(ids) != 20 {
		t.Errorf("%d webhooks arrived, want 20", len(ids))
	}
	w.isWell()
	if left, err := w.store.ParkedDeliveries(t.Context(), w.tenant, w.endpoint.ID, ended); err != nil || len(left) > 0 {
		t.Errorf("%d deliveries are left, %v", len(left), err)
	}
}

// enqueue writes a delivery, replacing the existing one.
func (w *harness) enqueue(d delivery.Delivery) {
	w.t.Helper()
	w.must(w.store.DeleteDelivery(w.t.Context(), d.Task()))
	w.must(w.store.AddDeliveries(w.t.Context(), []delivery.Delivery{d}))
	w.queue = slices.DeleteFunc(w.queue, func(q queued) bool { return q.task == d.Task() })
}

// A transient read error abandons nothing.
func TestHandle_TransientReadError(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	process := w.notifier()
	process.Blobs = brokenBlobs{}
	w.record(sent(5)...)
	tasks := w.arrived()
	if errs := process.Handle(t.Context(), tasks); len(errs) != 1 || errs[0] == nil {
		t.Errorf("errors %v, want one", errs)
	}
	w.queue = append(w.queue, queued{tasks[0], w.Now().Add(time.Minute)}) // received again
	w.dead(0)
	w.run(time.Hour, w.notifier())
	if ids, _ := w.receiver.taken(); len(ids) != 5 {
		t.Errorf("%d webhooks arrived, want 5", len(ids))
	}
}

type brokenBlobs struct{}

func (brokenBlobs) Get(context.Context, string) ([]byte, error) { return nil, errDied }

func (brokenBlobs) GetRange(context.Context, string, int, int) ([]byte, error) { return nil, errDied }

// Posts to a hanging endpoint take about as long as one post, for any number of deliveries.
func TestHandle_HangingEndpoint(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 200)
	var posts atomic.Int32
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	w.receiver.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	})
	for i := range 10 {
		var changes []campaign.Change
		for k := range 20 {
			changes = append(changes, campaign.Change{Index: i*20 + k, Outcome: campaign.OutcomeSent, At: start})
		}
		w.record(changes...)
	}
	tasks := w.arrived()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	process := w.notifier()
	process.HTTP = netguard.Guard{Local: true}.Client(8, 2*time.Second)
	for _, err := range process.Handle(ctx, tasks) {
		w.must(err)
	}
	if posts.Load() > 2 {
		t.Errorf("%d tasks made %d posts, want that of one", len(tasks), posts.Load())
	}
	parked, err := w.store.ParkedDeliveries(t.Context(), w.tenant, w.endpoint.ID, 100)
	if err != nil || len(parked) != 10 {
		t.Errorf("%d deliveries wait, %v; want 10", len(parked), err)
	}
	failures, err := w.store.Failures(t.Context(), w.tenant, w.endpoint.ID, 10)
	if err != nil || len(failures) == 0 || failures[0].Code != "timeout" {
		t.Errorf("failures %+v, %v; want timeouts", failures, err)
	}
}

// A failed post in a call that reached its deadline counts as an attempt.
func TestHandle_DeadlineCountsAttempt(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 20)
	const shutdownMargin = 20 * time.Second // of the call's time
	ctx, cancel := context.WithTimeout(t.Context(), shutdownMargin+4*time.Second)
	defer cancel()
	// The response arrives long after the deadline for new posts.
	receivesBeforeDelivery, end := retry.WithMargin(ctx, shutdownMargin-time.Second)
	defer end()
	w.receiver.set(func(http.ResponseWriter, string) int {
		<-receivesBeforeDelivery.Done()
		return http.StatusBadRequest
	})
	w.record(sent(20)...)
	tasks := w.arrived()
	for _, err := range w.notifier().Handle(ctx, tasks) {
		w.must(err)
	}
	d := w.delivery(tasks[0])
	if _, posts := w.receiver.taken(); d.Attempt != 1 || posts != 1 {
		t.Errorf("delivery %+v, %d posts; want an attempt that was cut", d, posts)
	}
	if len(w.queue) != 1 || w.queue[0].at.Before(start.Add(5*time.Second)) {
		t.Errorf("queued %+v, want it in 5 seconds", w.queue)
	}
}

// A Retry-After also counts if another process opened the circuit concurrently.
func TestCircuit_LaterRetryAfter(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 20)
	w.receiver.set(func(h http.ResponseWriter, _ string) int {
		switch now := w.Now(); {
		case now.Equal(start):
			_, err := w.store.SaveCircuit(t.Context(), delivery.Circuit{
				Tenant: w.tenant, EndpointID: w.endpoint.ID, Since: start, Next: start.Add(10 * time.Second),
			})
			if err != nil {
				t.Error(err)
			}
			fallthrough
		case now.Before(start.Add(time.Hour)):
			h.Header().Set("Retry-After", "3600")
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	w.record(sent(20)...)
	process := w.notifier()
	w.run(59*time.Minute, process)
	if _, posts := w.receiver.taken(); posts != 1 {
		t.Errorf("%d posts within the hour, want 1", posts)
	}
	w.run(time.Hour, process)
	if ids, _ := w.receiver.taken(); len(ids) != 20 {
		t.Errorf("%d webhooks arrived after it, want 20", len(ids))
	}
}
