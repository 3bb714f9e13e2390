package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/testsize"
)

// metered counts the units of the harness's store.
func (w *harness) metered() *metering.Meter {
	cfg := stackenv.Load(w.t).AWS()
	used := &metering.Meter{Rules: metering.OfService(metering.RowSizes(w.t.Context(), dynamodb.NewFromConfig(cfg)))}
	w.store.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(cfg, used.AttachTo) })
	return used
}

// steps counts the notifier's steps by name.
func (w *harness) steps() func(step string) int {
	taken := map[string]int{}
	w.broken = func(step string) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		taken[step]++
		return nil
	}
	return func(step string) int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return taken[step]
	}
}

// takeTasks receives all tasks, without sweep.
func (w *harness) takeTasks() (tasks []delivery.NotifyTask) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queue {
		tasks = append(tasks, q.task)
	}
	w.queue = nil
	return tasks
}

// Webhooks delivered at the first attempt write only the post counts, besides the kept posts,
// which TestHandle_KeepsASample limits: 200 isolated events of an hour cost less than 0.25
// units each.
func TestHandle_SuccessWritesOnlyCounts(t *testing.T) {
	t.Parallel()
	for _, endpoints := range []int{0, 5, 1, 2}[:testsize.Of(2, 4)] {
		t.Run(fmt.Sprint(endpoints, " endpoints"), func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 200)
			w.must(w.removeEndpoint(w.endpoint))
			for range endpoints {
				w.newEndpoint(w.receiver.URL)
			}
			process := w.notifier()
			used := w.metered()
			process.Store, process.Endpoints = w.store, counting{w.store, &webhook.PostSums{Store: w.store}}
			for i := range 200 {
				w.now = start.Add(time.Duration(i) * time.Hour / 200)
				w.record(campaign.Change{Index: i, Outcome: campaign.OutcomeRead, At: w.now})
				for _, err := range process.Handle(t.Context(), w.takeTasks()) {
					w.must(err)
				}
			}
			units := metering.Sum(used.Take()).Writes
			t.Logf("%.3f write units an event", units/200)
			if units > 0.25*200 || endpoints == 0 && units > 0 {
				t.Errorf("%.3f write units an event, want 0.25 at most, and none without endpoints", units/200)
			}
			if _, posts := w.receiver.taken(); posts != 200*endpoints {
				t.Errorf("%d posts, want %d", posts, 200*endpoints)
			}
		})
	}
}

// A call that posts 500 webhooks to a healthy endpoint writes nothing but the count and the
// kept posts, and leaves no due row.
func TestHandle_SuccessWritesNothing(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 600)
	used := w.metered()
	process := w.notifier()
	process.Endpoints = silent{process.Endpoints}
	w.record(sent(500)...)
	w.run(time.Second, process)
	if got := metering.Sum(used.Take()); got.Writes > 0 {
		t.Errorf("%.1f write units, want none", got.Writes)
	}
	if ids, posts := w.receiver.taken(); len(ids) != 500 || posts != 500 {
		t.Errorf("%d webhooks arrived in %d posts, want 500", len(ids), posts)
	}
	w.checkNothingIsDue()
}

// counting counts posts and keeps none.
type counting struct {
	*dynamotest.Store
	*webhook.PostSums
}

func (counting) KeepPost(context.Context, delivery.KeptPost) error { return nil }

// silent neither counts nor keeps posts.
type silent struct{ webhook.Endpoints }

func (silent) CountPosts(string, string, time.Time, delivery.PostCount) {}
func (silent) WritePosts(context.Context, time.Time) error              { return nil }
func (silent) KeepPost(context.Context, delivery.KeptPost) error        { return nil }

// A failing endpoint costs one write per task, except for its probes.
func TestHandle_FailingEndpointWrites(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1100)
	w.receiver.set(failing(503))
	process := w.notifier()
	w.record(sent(100)...)
	w.run(time.Second, process) // opens the circuit
	taken := w.steps()
	var more []campaign.Change
	for i := range 1000 {
		more = append(more, campaign.Change{Index: 100 + i, Outcome: campaign.OutcomeSent, At: start})
	}
	w.record(more...)
	tasks := w.arrived()
	for _, err := range process.Handle(t.Context(), tasks) {
		w.must(err)
	}
	if len(tasks) != 4 || taken("save delivery") != 4 || taken("delete delivery")+taken("save circuit") > 0 {
		t.Errorf("%d tasks of 1,000 entries made %d writes of deliveries, %d deletions and %d writes of the circuit; want one write each",
			len(tasks), taken("save delivery"), taken("delete delivery"), taken("save circuit"))
	}
	w.receiver.set(nil)
	w.run(time.Hour, process)
	if ids, _ := w.receiver.taken(); len(ids) != 1100 {
		t.Errorf("%d webhooks arrived once it was up, want 1100", len(ids))
	}
	w.checkNothingIsDue()
}

// A task received twice while its endpoint is down creates one delivery.
func TestHandle_RepeatedTask(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	w.receiver.set(failing(503))
	w.record(sent(5)...)
	tasks := w.arrived()
	for range 2 {
		for _, err := range w.notifier().Handle(t.Context(), tasks) {
			w.must(err)
		}
	}
	rows := len(w.due(start.Add(1000 * time.Hour)))
	parked, err := w.store.ParkedDeliveries(t.Context(), w.tenant, w.endpoint.ID, 10)
	w.must(err)
	for _, d := range w.due(start.Add(1000 * time.Hour)) {
		if d.Delivery.OfCircuit() {
			rows--
		}
	}
	if rows+len(parked) != 1 {
		t.Errorf("%d deliveries are due and %d parked, want one in all", rows, len(parked))
	}
	w.receiver.set(nil)
	w.run(time.Hour, w.notifier())
	if ids, _ := w.receiver.taken(); len(ids) != 5 {
		t.Errorf("%d webhooks arrived, want 5", len(ids))
	}
}

// A delivery is not stranded if the circuit closes, or the endpoint is enabled, just before
// it is parked.
func TestPark_EndpointRecoversConcurrently(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ stop, start func(w *harness) }{
		"the circuit closes": {
			func(w *harness) {
				_, err := w.store.SaveCircuit(w.t.Context(), delivery.Circuit{Tenant: w.tenant, EndpointID: w.endpoint.ID, Since: start, Next: start.Add(time.Hour)})
				w.must(err)
			},
			func(w *harness) {
				c, err := w.store.Circuit(w.t.Context(), w.tenant, w.endpoint.ID)
				w.must(err)
				_, err = w.store.EndCircuit(w.t.Context(), c)
				w.must(err)
			},
		},
		"the endpoint is switched on": {
			func(w *harness) {
				_, err := w.store.SwitchEndpoint(w.t.Context(), w.tenant, w.endpoint.ID, "operator")
				w.must(err)
			},
			func(w *harness) {
				_, err := w.store.SwitchEndpoint(w.t.Context(), w.tenant, w.endpoint.ID, "")
				w.must(err)
			},
		},
	}
	for name, tt := range tests {
		for _, step := range []string{"save delivery", "saved delivery"} {
			t.Run(name+" at "+step, func(t *testing.T) {
				t.Parallel()
				w := newHarness(t, 20)
				w.record(sent(20)...)
				tt.stop(w)
				var once sync.Once
				w.broken = func(at string) error {
					if at == step {
						once.Do(func() { tt.start(w) })
					}
					return nil
				}
				w.run(10*time.Minute, w.notifier())
				if ids, _ := w.receiver.taken(); len(ids) != 20 {
					t.Errorf("%d webhooks arrived, want 20", len(ids))
				}
				if parked, err := w.store.ParkedDeliveries(t.Context(), w.tenant, w.endpoint.ID, 10); err != nil || len(parked) > 0 {
					t.Errorf("%d deliveries wait, %v", len(parked), err)
				}
			})
		}
	}
}

func (w *harness) removeEndpoint(e delivery.Endpoint) error {
	_, err := w.store.Tables().Client.DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(w.store.Tables().Campaigns), Key: dynamo.Item{
			"pk": &types.AttributeValueMemberS{Value: "TEN#" + e.Tenant}, "sk": &types.AttributeValueMemberS{Value: "ENDPOINT#" + e.ID},
		},
	})
	return err
}

// Tasks of a deleted endpoint are dropped, and its deliveries are deleted.
func TestHandle_DeletedEndpoint(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 10)
	at := w.refusing(bad, 3)
	w.record(sent(5)...)
	w.run(time.Second, w.notifier())
	w.record(campaign.Change{Index: 7, Outcome: campaign.OutcomeSent, At: start})
	w.must(w.removeEndpoint(w.endpoint))
	w.run(time.Hour, w.notifier())
	if ids, _ := w.receiver.taken(); len(ids) != 4 || len(at[w.batch.Key.MessageID(3)]) != 1 {
		t.Errorf("%d webhooks arrived, want the 4 before", len(ids))
	}
	w.checkNothingIsDue()
}

// The parked deliveries of a deleted endpoint are deleted with its circuit.
func TestCircuit_DeletedEndpoint(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 20)
	w.receiver.set(failing(503))
	w.record(sent(20)...)
	w.run(time.Minute, w.notifier())
	w.must(w.removeEndpoint(w.endpoint))
	w.run(time.Hour, w.notifier())
	parked, err := w.store.ParkedDeliveries(t.Context(), w.tenant, w.endpoint.ID, 10)
	if due := w.due(w.Now().Add(1000 * time.Hour)); err != nil || len(parked)+len(due) > 0 {
		t.Errorf("%d deliveries wait and %d rows are due, %v; want none", len(parked), len(due), err)
	}
}

// Entries whose recipients are unreadable until the queue would drop their task are posted
// once they are readable.
func TestHandle_TooManyReceives(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	w.record(sent(5)...)
	tasks := w.arrived()
	broken := w.notifier()
	broken.Blobs = brokenBlobs{}
	for receives := 1; receives <= 3; receives++ {
		tasks[0].Receives = receives
		errs := broken.Handle(t.Context(), tasks)
		if again := errs[0] != nil; again != (receives < 3) {
			t.Errorf("receive %d: %v", receives, errs[0])
		}
	}
	w.run(time.Minute/2, w.notifier())
	if _, posts := w.receiver.taken(); posts > 0 {
		t.Errorf("%d posts within half a minute, want none", posts)
	}
	w.run(10*time.Minute, w.notifier())
	if ids, _ := w.receiver.taken(); len(ids) != 5 {
		t.Errorf("%d webhooks arrived, want 5", len(ids))
	}
	w.checkNothingIsDue()
}

// The deleted part of a task is dead, and the rest is posted.
func TestHandle_DeletedBatch(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 150)
	changes := append(sent(2), campaign.Change{Index: 120, Outcome: campaign.OutcomeSent, At: start})
	fresh := []ledger.NewEntries{w.fresh(changes...)}
	payload := w.batch
	w.batch = w.newBatch(3)
	fresh = append(fresh, w.fresh(sent(3)...))
	w.must(w.blobs.Delete(t.Context(), w.batch.Payload))
	w.must(w.blobs.Put(t.Context(), payload.Payload, bytes.Repeat([]byte{0xff}, payload.Offsets[1]), "application/octet-stream"))
	w.batch = w.newBatch(4)
	fresh = append(fresh, w.fresh(sent(4)...))
	w.feed(fresh...)
	if len(w.queue) != 1 {
		t.Fatalf("%d tasks, want one", len(w.queue))
	}
	w.run(time.Hour, w.notifier())
	if ids, posts := w.receiver.taken(); len(ids) != 4 || posts != 4 {
		t.Errorf("%d webhooks arrived in %d posts, want the 4 of the healthy batch", len(ids), posts)
	}
	entries, err := ledger.UnpackNewEntries(w.delivery(w.dead(1)[0]).Entries)
	w.must(err)
	dead := 0
	for _, f := range entries {
		dead += len(f.Entries)
	}
	if dead != 6 {
		t.Errorf("%d entries are dead, want the 6 of the two others", dead)
	}
	w.isWell()
}

// countedBlobs counts the reads of each payload.
type countedBlobs struct {
	webhook.Blobs
	mu    sync.Mutex
	reads map[string]int
}

func (b *countedBlobs) GetRange(ctx context.Context, key string, from, to int) ([]byte, error) {
	b.mu.Lock()
	b.reads[key]++
	b.mu.Unlock()
	return b.Blobs.GetRange(ctx, key, from, to)
}

// The payload of a batch is read once for all endpoints, frames, tasks and calls within 15
// minutes.
func TestRecipients_Cached(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 600)
	w.newEndpoint(w.receiver.URL)
	blobs := &countedBlobs{Blobs: w.blobs, reads: map[string]int{}}
	process := w.notifier()
	process.Blobs = blobs
	var fresh []ledger.NewEntries
	var keys []string
	for i := range 3 {
		if i > 0 {
			w.batch = w.newBatch(600)
		}
		keys = append(keys, w.batch.Payload)
		var changes []campaign.Change
		for k := range 600 {
			changes = append(changes, campaign.Change{Index: k, Outcome: campaign.OutcomeSent, At: start})
		}
		fresh = append(fresh, w.fresh(changes...))
	}
	w.feed(fresh...)
	w.run(time.Second, process)
	w.record(campaign.Change{Index: 599, Outcome: campaign.OutcomeRead, At: start})
	w.run(time.Second, process)
	want := map[string]int{keys[0]: 1, keys[1]: 1, keys[2]: 1}
	if diff := cmp.Diff(want, blobs.reads); diff != "" {
		t.Errorf("reads by payload (-want +got):\n%s", diff)
	}
	if ids, posts := w.receiver.taken(); len(ids) != 1801 || posts != 2*1801 {
		t.Errorf("%d webhooks in %d posts, want 1801 for each of two endpoints", len(ids), posts)
	}
	w.advance(w.Now().Add(20 * time.Minute))
	w.record(campaign.Change{Index: 598, Outcome: campaign.OutcomeRead, At: start})
	w.run(time.Second, process)
	if got := blobs.reads[keys[2]]; got != 2 {
		t.Errorf("20 minutes later the payload was read %d times, want twice", got)
	}
}

// A number erased after its entry was queued is never posted, neither at once nor after
// failures.
func TestHandle_ErasedAfterQueueing(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]bool{"posted at once": false, "posted after failures": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 2)
			process := w.notifier()
			w.record(sent(2)...)
			if down {
				w.receiver.set(failing(503))
				w.run(20*time.Minute, process)
				w.receiver.set(nil)
				w.receiver.posts = nil
			}
			w.erase(1)
			w.pass(time.Hour, process)
			var phones []string
			for _, p := range w.receiver.posts {
				var l struct{ Data struct{ Phone string } }
				w.must(json.Unmarshal(p.body, &l))
				phones = append(phones, l.Data.Phone)
			}
			slices.Sort(phones)
			if diff := cmp.Diff([]string{"", "+5511900000000"}, phones); diff != "" {
				t.Errorf("numbers (-want +got):\n%s", diff)
			}
		})
	}
}

// Tasks and delivery rows contain no phone number, UID or text.
func TestDelivery_NoPersonalData(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 3)
	w.receiver.set(failing(503))
	w.record(sent(3)...)
	tasks := w.arrived()
	for _, err := range w.notifier().Handle(t.Context(), tasks) {
		w.must(err)
	}
	parked, err := w.store.ParkedDeliveries(t.Context(), w.tenant, w.endpoint.ID, 10)
	if err != nil || len(parked) != 1 {
		t.Fatalf("%d deliveries wait, %v; want 1", len(parked), err)
	}
	failures, err := w.store.Failures(t.Context(), w.tenant, w.endpoint.ID, 10)
	w.must(err)
	kept := fmt.Sprintf("%+v %s %+v %+v", tasks, w.delivery(parked[0]).Entries, parked, failures)
	for _, secret := range []string{"5511900000", "uid-"} {
		if strings.Contains(kept, secret) {
			t.Errorf("%q stands in %s", secret, kept)
		}
	}
}

// A damaged task is retried until it moves to the dead-letter queue.
func TestHandle_DamagedTask(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	for _, entries := range []string{"%", "AAAA"} {
		task := delivery.NotifyTask{Tenant: w.tenant, EndpointID: w.endpoint.ID, Entries: entries}
		if errs := w.notifier().Handle(t.Context(), []delivery.NotifyTask{task}); errs[0] == nil {
			t.Errorf("the entries %q were handled", entries)
		}
	}
	w.dead(0)
}
