package webhook_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// The latencies of the simulated services, and the intervals of the runs of sweep and of its checks.
const (
	callTime      = 5 * time.Millisecond
	answerTime    = 20 * time.Millisecond
	visibility    = 360 * time.Second
	callTimeout   = time.Minute
	sweepInterval = time.Minute
	sweepAgain    = 10 * time.Minute
)

// outage is an endpoint that fails for a while, in the time of a synctest bubble, with the tables and the queue of
// notify.
type outage struct {
	webhook.Store
	webhook.Endpoints

	endpoint delivery.Endpoint
	batch    campaign.Batch
	payload  []byte
	from, to time.Time // of the failures
	header   http.Header

	mu      sync.Mutex
	rows    map[string]claimed
	circuit delivery.Circuit
	queue   []message
	busy    int            // messages in flight
	taken   map[string]int // answers 2xx by webhook
	refused int
}

type claimed struct {
	delivery.Delivery
	until time.Time
}

type message struct {
	delivery.NotifyMessage
	visible time.Time
}

func newOutage(messages int, from, to time.Duration) *outage {
	o := &outage{
		endpoint: delivery.Endpoint{ID: "e", Tenant: "t", URL: "https://e.example", Secret: newSecret()},
		rows:     map[string]claimed{}, taken: map[string]int{}, header: http.Header{},
		circuit: delivery.Circuit{Tenant: "t", EndpointID: "e"}, from: time.Now().Add(from), to: time.Now().Add(to),
	}
	var w payload.Writer
	for i := range messages {
		w.Add(5511900000000+uint64(i), fmt.Appendf(nil, "uid-%d", i), nil)
	}
	o.batch = campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, BatchID: "b"}, Accepted: messages, Key: campaign.BatchKey{1},
	}
	o.payload, o.batch.Offsets = w.Finish()
	return o
}

// feed queues three changes of each message, some in each task, one task after the other for a time.
func (o *outage) feed(perTask int, during time.Duration) {
	var changes []campaign.Change
	for _, outcome := range []campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead} {
		for i := range o.batch.Accepted {
			changes = append(changes, campaign.Change{Index: i, Outcome: outcome, At: start})
		}
	}
	at := time.Now()
	for some := range slices.Chunk(ledger.Numbered(1, changes), perTask) {
		at = at.Add(during * time.Duration(len(some)) / time.Duration(len(changes)))
		packed := ledger.PackNewEntries([]ledger.NewEntries{{Key: o.batch.Key, Entries: some}})
		t := delivery.NotifyTask{Tenant: "t", EndpointID: "e", Entries: base64.StdEncoding.EncodeToString(packed)}
		o.queue = append(o.queue, message{delivery.NotifyMessage{NotifyTask: t}, at})
	}
}

// step waits for a call of a service, and returns with the lock held.
func (o *outage) step() {
	time.Sleep(callTime)
	o.mu.Lock()
}

func (o *outage) Delivery(_ context.Context, t delivery.NotifyTask) (delivery.Delivery, error) {
	o.step()
	defer o.mu.Unlock()
	row, found := o.rows[t.DeliveryID]
	if !found {
		return row.Delivery, campaign.ErrNotFound
	}
	return row.Delivery, nil
}

func (o *outage) unchanged(read delivery.Delivery) (row claimed, ok bool) {
	row, found := o.rows[read.ID]
	return row, found && row.Attempt == read.Attempt && row.Parked == read.Parked && slices.Equal(row.Pending, read.Pending)
}

func (o *outage) SaveDelivery(_ context.Context, read, next delivery.Delivery) (bool, error) {
	o.step()
	defer o.mu.Unlock()
	_, ok := o.unchanged(read)
	if _, found := o.rows[read.ID]; read.Unsaved {
		ok = !found
	}
	if ok {
		next.Unsaved = false
		o.rows[read.ID] = claimed{Delivery: next}
	}
	return ok, nil
}

func (o *outage) ClaimDelivery(_ context.Context, read delivery.Delivery, until time.Time) (bool, time.Time, error) {
	o.step()
	defer o.mu.Unlock()
	row, ok := o.unchanged(read)
	if row.until.After(time.Now()) {
		return false, row.until, nil
	}
	if ok {
		o.rows[read.ID] = claimed{row.Delivery, until}
	}
	return ok, time.Time{}, nil
}

func (o *outage) DeleteDelivery(_ context.Context, t delivery.NotifyTask) error {
	o.step()
	defer o.mu.Unlock()
	delete(o.rows, t.DeliveryID)
	return nil
}

func (o *outage) ParkedDeliveries(_ context.Context, _, _ string, limit int) (tasks []delivery.NotifyTask, _ error) {
	o.step()
	defer o.mu.Unlock()
	rows := slices.Collect(maps.Values(o.rows))
	slices.SortFunc(rows, func(a, b claimed) int { return cmp.Or(a.Next.Compare(b.Next), cmp.Compare(a.ID, b.ID)) })
	for _, row := range rows {
		if row.Parked && len(tasks) < limit {
			tasks = append(tasks, row.Task())
		}
	}
	return tasks, nil
}

func (o *outage) FindBatch(context.Context, campaign.BatchKey) (campaign.Batch, error) {
	return o.batch, nil
}

func (o *outage) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	return o.batch, nil
}

func (o *outage) Endpoint(context.Context, string, string) (delivery.Endpoint, error) {
	time.Sleep(callTime)
	return o.endpoint, nil
}

func (o *outage) Circuit(context.Context, string, string) (delivery.Circuit, error) {
	o.step()
	defer o.mu.Unlock()
	return o.circuit, nil
}

func (o *outage) SaveCircuit(_ context.Context, c delivery.Circuit) (bool, error) {
	o.step()
	defer o.mu.Unlock()
	if c.Version != o.circuit.Version {
		return false, nil
	}
	o.circuit = c
	o.circuit.Version++
	return true, nil
}

func (o *outage) EndCircuit(_ context.Context, c delivery.Circuit) (bool, error) {
	o.step()
	defer o.mu.Unlock()
	if c.Version != o.circuit.Version {
		return false, nil
	}
	o.circuit = delivery.Circuit{Tenant: "t", EndpointID: "e"}
	return true, nil
}

func (*outage) RecordFailure(context.Context, delivery.Failure) error    { return nil }
func (*outage) KeepPost(context.Context, delivery.KeptPost) error        { return nil }
func (*outage) CountPosts(string, string, time.Time, delivery.PostCount) {}
func (*outage) WritePosts(context.Context, time.Time) error              { return nil }
func (*outage) Get(context.Context, string) ([]byte, error)              { return nil, campaign.ErrNotFound }

func (o *outage) GetRange(_ context.Context, _ string, a, b int) ([]byte, error) {
	return o.payload[a:b], nil
}

func (o *outage) Send(_ context.Context, _ string, body []byte, delay time.Duration) error {
	var m delivery.NotifyMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return err
	}
	o.step()
	defer o.mu.Unlock()
	o.queue = append(o.queue, message{m, time.Now().Add(delay)})
	return nil
}

// RoundTrip is the endpoint.
func (o *outage) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(answerTime)
	o.mu.Lock()
	defer o.mu.Unlock()
	status := http.StatusNoContent
	if now := time.Now(); !now.Before(o.from) && now.Before(o.to) {
		status = http.StatusServiceUnavailable
		o.refused++
	} else {
		o.taken[r.Header.Get("Webhook-Id")]++
	}
	return &http.Response{StatusCode: status, Header: o.header, Body: http.NoBody, Request: r}, nil
}

// receive takes up to ten visible messages.
func (o *outage) receive() (received []message) {
	o.step()
	defer o.mu.Unlock()
	var rest []message
	for _, m := range o.queue {
		if m.visible.After(time.Now()) || len(received) == 10 {
			rest = append(rest, m)
		} else {
			m.Receives++
			received = append(received, m)
		}
	}
	o.queue = rest
	o.busy += len(received)
	return received
}

// notify is a process of the function. It calls Handle until ctx ends.
func (o *outage) notify(ctx context.Context) {
	n := &webhook.Notifier{
		Store: o, Endpoints: o, Blobs: o, Notify: o, Tickets: tickets{new(harness)}, HTTP: &http.Client{Transport: o},
		Now: time.Now, Jitter: func() float64 { return 0 },
	}
	for ctx.Err() == nil {
		received := o.receive()
		if len(received) == 0 {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		o.call(ctx, n, received)
	}
}

func (o *outage) call(ctx context.Context, n *webhook.Notifier, received []message) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	messages := make([]delivery.NotifyMessage, len(received))
	for i, m := range received {
		messages[i] = m.NotifyMessage
	}
	errs := n.HandleMessages(ctx, messages)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, err := range errs {
		if err != nil {
			o.queue = append(o.queue, message{messages[i], time.Now().Add(visibility)})
		}
	}
	o.busy -= len(received)
}

// sweep queues the tasks of the due rows.
func (o *outage) sweep() {
	o.step()
	defer o.mu.Unlock()
	now := time.Now()
	queue := func(t delivery.NotifyTask) {
		o.queue = append(o.queue, message{delivery.NotifyMessage{NotifyTask: t}, now})
	}
	if o.circuit.Version > 0 && !o.circuit.Next.After(now) {
		queue(delivery.NotifyTask{Tenant: "t", EndpointID: "e"})
	}
	for id, row := range o.rows {
		if !row.Parked && !row.Dead && !row.Next.After(now) {
			queue(row.Task())
			row.Next = now.Add(sweepAgain)
			o.rows[id] = row
		}
	}
}

func (o *outage) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue)+len(o.rows)+o.busy == 0 && o.circuit.Version == 0
}

// run runs processes until there is nothing left to do.
func (o *outage) run(t *testing.T, processes int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range processes {
		running.Go(func() { o.notify(ctx) })
	}
	for began := time.Now(); !o.idle(); {
		if time.Since(began) > time.Hour {
			t.Errorf("after an hour: %d rows, %d tasks, the circuit %+v", len(o.rows), len(o.queue), o.circuit)
			break
		}
		time.Sleep(sweepInterval)
		o.sweep()
	}
	stop()
	running.Wait()
}

// What an endpoint answered 2xx does not come again after an outage of 30 seconds, during which changes go on.
func TestOutage_NothingTwice(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{"503": {}, "503 with Retry-After": {"Retry-After": {"5"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(1000, 20*time.Second, 50*time.Second)
				o.header = header
				o.feed(5, 40*time.Second)
				o.run(t, 6)
				again := 0
				for _, n := range o.taken {
					again += n - 1
				}
				if len(o.taken) != 3*o.batch.Accepted || again > 0 || o.refused == 0 {
					t.Errorf("%d webhooks taken, %d of them again, %d posts refused", len(o.taken), again, o.refused)
				}
			})
		})
	}
}
