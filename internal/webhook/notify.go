// Package webhook posts to the endpoints of tenants what became of their
// messages: each change at least once, signed, and however long an endpoint is
// down. What is posted first stands in a task, and of what was not taken a delivery is
// written before the task ends. A delivery is removed once all of it was taken. Whatever
// step a Notifier dies at, the same task or sweep does the rest.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/metrics"
)

// Store keeps deliveries, and what they are about.
type Store interface {
	Delivery(ctx context.Context, t campaign.NotifyTask) (campaign.Delivery, error)
	SaveDelivery(ctx context.Context, read, n campaign.Delivery) (bool, error)
	DeleteDelivery(ctx context.Context, t campaign.NotifyTask) error
	LogPage(ctx context.Context, key campaign.BatchKey, ordinal int) (campaign.LogPage, error)
	FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error)
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
}

// Endpoints keeps endpoints, and how they fare.
type Endpoints interface {
	Endpoint(ctx context.Context, tenant, id string) (campaign.Endpoint, error)
	SwitchEndpoint(ctx context.Context, tenant, id, offReason string) (bool, error)
	Circuit(ctx context.Context, tenant, endpointID string) (campaign.Circuit, error)
	SaveCircuit(ctx context.Context, c campaign.Circuit) (bool, error)
	EndCircuit(ctx context.Context, c campaign.Circuit) (bool, error)
	ParkedDeliveries(ctx context.Context, tenant, endpointID string, limit int) ([]campaign.NotifyTask, error)
	RecordFailure(ctx context.Context, f campaign.WebhookFailure) error
}

// Posts counts posts by the hour.
type Posts interface {
	CountPosts(ctx context.Context, tenant, endpointID string, at time.Time, taken, failed int) error
}

// Blobs reads payloads, from offset from up to, not including, to, and the
// contents of webhook events.
type Blobs interface {
	Get(ctx context.Context, key string) ([]byte, error)
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
}

// Queue takes the tasks of notifying.
type Queue interface {
	Send(ctx context.Context, group string, body []byte, delay time.Duration) error
}

// Notifier posts webhooks. A task may be given to it any number of times.
type Notifier struct {
	Store     Store
	Endpoints Endpoints
	Posts     Posts
	Blobs     Blobs
	Queue     Queue
	// HTTP posts: see Poster.
	HTTP *http.Client
	Now  func() time.Time
	// Jitter returns a number from 0 up to 1, which spreads retries.
	Jitter func() float64

	endpoints cache.Cache[endpointKey, campaign.Endpoint]
	circuits  cache.Cache[endpointKey, campaign.Circuit]
	batches   cache.Cache[campaign.BatchKey, campaign.Batch]
	directory directory
	limiters  limiters
}

type endpointKey struct{ tenant, id string }

const (
	// shutdownMargin is what is kept of a call's time for the posts that were begun and
	// for writing down what came of them.
	shutdownMargin = Timeout + 5*time.Second
	// keptFor is how long endpoints and circuits are taken for what they were.
	keptFor = 3 * time.Second
	// maxWarm is the number of endpoints that are kept: those of some thousand tenants, in
	// some 10 MB. Where there are more, all are forgotten, with what is known of their
	// failures. maxBatches is the number of batches, without their recipients.
	maxWarm, maxBatches = 5_000, 10_000
)

func (n *Notifier) poster() Poster { return Poster{HTTP: n.HTTP, Now: n.Now} }

// HandleMessages does what the tasks of the messages ask for, and returns an error by its
// position for each message that has to come again. Then all of its tasks come again.
func (n *Notifier) HandleMessages(ctx context.Context, messages []campaign.NotifyMessage) []error {
	var tasks []campaign.NotifyTask
	for _, m := range messages {
		tasks = append(tasks, m.Tasks()...)
	}
	failed := n.Handle(ctx, tasks)
	errs := make([]error, len(messages))
	for i, m := range messages {
		count := 1 + len(m.Also)
		errs[i] = n.separate(ctx, tasks[:count], failed[:count])
		tasks, failed = tasks[count:], failed[count:]
	}
	return errs
}

// separate returns why the tasks of a message have to come again. Where some of them are
// done it queues each of the others alone instead: what was posted must not be posted
// again because another task fails.
func (n *Notifier) separate(ctx context.Context, tasks []campaign.NotifyTask, errs []error) error {
	failed := errors.Join(errs...)
	if failed == nil || !slices.Contains(errs, nil) {
		return failed
	}
	for i, t := range tasks {
		if errs[i] == nil {
			continue
		}
		slog.WarnContext(ctx, "a task failed and is queued without those of its message that are done", "tenant", t.Tenant, "endpoint_id", t.EndpointID, "error", errs[i])
		if err := n.queue(ctx, t, aloneAfter); err != nil {
			return errors.Join(failed, err)
		}
	}
	return nil
}

// aloneAfter is after how long a task that failed is tried alone.
const aloneAfter = time.Minute

// Handle does what the tasks ask for, side by side, and returns an error by its
// position for each that has to come again. That an endpoint takes nothing is no
// error: its deliveries wait.
func (n *Notifier) Handle(ctx context.Context, tasks []campaign.NotifyTask) []error {
	errs := make([]error, len(tasks))
	var all sync.WaitGroup
	for i, t := range tasks {
		all.Go(func() {
			if err := n.handleOrKeep(ctx, t); err != nil {
				errs[i] = fmt.Errorf("notify endpoint %s: %w", t.EndpointID, err)
			}
		})
	}
	all.Wait()
	return errs
}

// receivesBeforeDelivery is how often a task with entries may arrive before a delivery is written of it.
const receivesBeforeDelivery = 3

// handleOrKeep does what a task asks for. Entries that cannot be posted time and again,
// because something of ours is down, are written as a delivery: a queue repeats its
// messages some times only, and sweep always.
func (n *Notifier) handleOrKeep(ctx context.Context, t campaign.NotifyTask) error {
	err := n.handle(ctx, t)
	if err == nil || t.Entries == "" || t.Receives < receivesBeforeDelivery {
		return err
	}
	delivery, unreadable := n.newDelivery(t)
	if unreadable != nil {
		return err
	}
	slog.WarnContext(ctx, "webhooks could not be posted, sweep will ask for them again", "tenant", t.Tenant, "endpoint_id", t.EndpointID, "receives", t.Receives, "error", err)
	_, err = n.schedule(ctx, delivery, delivery, soonest)
	return err
}

func (n *Notifier) handle(ctx context.Context, t campaign.NotifyTask) error {
	if t.OfCircuit() {
		return n.lookAfter(ctx, t)
	}
	delivery, err := n.delivery(ctx, t)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil // it was taken, or its time is over
	}
	if err != nil || delivery.Dead {
		return err
	}
	e, err := n.endpoint(ctx, t.Tenant, t.EndpointID)
	if errors.Is(err, campaign.ErrNotFound) {
		return n.remove(ctx, delivery)
	}
	if err != nil {
		return err
	}
	circuit, err := n.circuit(ctx, t)
	if err != nil {
		return err
	}
	if e.Off() || circuit.Open() {
		return n.park(ctx, delivery, delivery)
	}
	n.limiters.of(endpointKey{t.Tenant, t.EndpointID}).closed()
	messages, ok, err := n.readable(ctx, delivery, e)
	if err != nil || !ok {
		return err
	}
	return n.settle(ctx, delivery, e, n.postAll(ctx, delivery, e, messages))
}

// delivery reads the delivery of a task, or makes that of the task's entries. One that has ended is deleted, which DynamoDB does days
// later: until then sweep would find it again and again, and it would stand before
// those that wait.
func (n *Notifier) delivery(ctx context.Context, t campaign.NotifyTask) (campaign.Delivery, error) {
	if t.Entries != "" {
		return n.newDelivery(t)
	}
	read, err := n.Store.Delivery(ctx, t)
	if errors.Is(err, campaign.ErrEnded) {
		if err := n.Store.DeleteDelivery(ctx, t); err != nil {
			return read, err
		}
	}
	return read, err
}

func (n *Notifier) endpoint(ctx context.Context, tenant, id string) (campaign.Endpoint, error) {
	return n.endpoints.Get(endpointKey{tenant, id}, n.Now(), cache.Options{TTL: keptFor, MaxEntries: maxWarm}, func() (campaign.Endpoint, error) {
		return n.Endpoints.Endpoint(ctx, tenant, id)
	})
}

func (n *Notifier) circuit(ctx context.Context, t campaign.NotifyTask) (campaign.Circuit, error) {
	return n.circuits.Get(endpointKey{t.Tenant, t.EndpointID}, n.Now(), cache.Options{TTL: keptFor, MaxEntries: maxWarm}, func() (campaign.Circuit, error) {
		return n.Endpoints.Circuit(ctx, t.Tenant, t.EndpointID)
	})
}

// park leaves the delivery, as it is next, to whoever finds the endpoint well again.
func (n *Notifier) park(ctx context.Context, read, next campaign.Delivery) error {
	next.Parked, next.Next = true, n.Now()
	if !read.Parked || next.Attempt != read.Attempt || !slices.Equal(next.Left, read.Left) {
		if _, err := n.save(ctx, read, next); err != nil {
			return err
		}
	}
	// The circuit may have closed, and the endpoint been switched on, before the
	// delivery was there to be found.
	e, err := n.Endpoints.Endpoint(ctx, read.Tenant, read.EndpointID)
	if errors.Is(err, campaign.ErrNotFound) {
		return n.Store.DeleteDelivery(ctx, read.Task())
	}
	if err != nil {
		return err
	}
	circuit, err := n.Endpoints.Circuit(ctx, read.Tenant, read.EndpointID)
	if err != nil {
		return err
	}
	if e.Off() || circuit.Open() {
		return nil
	}
	key := endpointKey{read.Tenant, read.EndpointID}
	n.endpoints.Drop(key)
	n.circuits.Drop(key)
	_, err = n.unpark(ctx, read.Task(), false)
	return err
}

// unpark puts a delivery back in sweep's sight: as if its last attempt had failed
// now, or for at once. It reports whether the delivery was parked, or has ended.
func (n *Notifier) unpark(ctx context.Context, t campaign.NotifyTask, atOnce bool) (bool, error) {
	read, err := n.delivery(ctx, t)
	if errors.Is(err, campaign.ErrEnded) {
		return true, nil
	}
	if errors.Is(err, campaign.ErrNotFound) || err == nil && !read.Parked {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	delay := time.Duration(0)
	if read.Attempt > 0 && !atOnce {
		delay, _ = retryDelay(read.Attempt-1, n.Jitter())
	}
	back := read
	back.Parked = false
	return n.schedule(ctx, read, back, delay)
}

// repair is after how long sweep looks at a delivery whose task was queued.
const repair = 2 * time.Minute

// schedule sets when the delivery, as it is next, is posted, and reports whether it
// was still as it was read.
func (n *Notifier) schedule(ctx context.Context, read, next campaign.Delivery, delay time.Duration) (bool, error) {
	soon := delay < soonest
	next.Next = n.Now().Add(delay)
	if soon {
		next.Next = next.Next.Add(repair)
	}
	if saved, err := n.save(ctx, read, next); err != nil || !saved || !soon {
		return saved, err
	}
	return true, n.queue(ctx, read.Task(), delay)
}

func (n *Notifier) queue(ctx context.Context, t campaign.NotifyTask, delay time.Duration) error {
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write a task: %w", err)
	}
	return n.Queue.Send(ctx, t.Tenant, body, delay)
}

// settle writes down what is left of a delivery after its messages were posted. A
// round in which some were refused is an attempt, whatever comes of it.
func (n *Notifier) settle(ctx context.Context, read campaign.Delivery, e campaign.Endpoint, r *attempt) error {
	if len(r.left) == 0 {
		return n.remove(ctx, read)
	}
	next := read
	next.Parked = false
	if r.taken > 0 || !countsTowardCircuit(read) {
		next.Left = r.left
	}
	if r.gone {
		if err := n.switchOff(ctx, e, "gone"); err != nil {
			return err
		}
		return n.park(ctx, read, next)
	}
	if r.refused() {
		next.Attempt++
	}
	if r.open || n.maybeOpenCircuit(read, r) {
		if err := n.openCircuit(ctx, e, r.hold); err != nil {
			return err
		}
		if next.Attempt <= len(retries) {
			return n.park(ctx, read, next)
		}
	}
	return n.retry(ctx, read, next, r)
}

// attemptsToOpen is after how many failed attempts a delivery of which nothing was ever
// taken opens the circuit of an endpoint with too little traffic to be seen
// failing otherwise.
const attemptsToOpen = 3

func (n *Notifier) maybeOpenCircuit(read campaign.Delivery, r *attempt) bool {
	return r.refused() && r.taken == 0 && countsTowardCircuit(read) && read.Attempt+1 >= attemptsToOpen &&
		n.limiters.of(endpointKey{read.Tenant, read.EndpointID}).shutIfUnhealthy(n.Now())
}

// retry sets when what is left is posted again, or ends it.
func (n *Notifier) retry(ctx context.Context, read, next campaign.Delivery, r *attempt) error {
	delay, ok := time.Duration(0), true
	if r.refused() {
		delay, ok = retryDelay(read.Attempt, n.Jitter())
	}
	if ok {
		_, err := n.schedule(ctx, read, next, max(delay, r.hold))
		return err
	}
	metrics.Add(ctx, metrics.WebhooksGivenUp, len(r.left))
	slog.ErrorContext(ctx, "webhooks were given up, they can be resent", "tenant", read.Tenant, "endpoint_id", read.EndpointID, "webhooks", len(r.left))
	return n.markDead(ctx, read, next)
}

// markDead ends a delivery: nothing more is posted of it, unless somebody resends it.
func (n *Notifier) markDead(ctx context.Context, read, next campaign.Delivery) error {
	next.Dead, next.Parked, next.Next = true, false, n.Now()
	_, err := n.save(ctx, read, next)
	return err
}

// lost reports whether an error says that what a delivery is about is damaged or gone
// for good.
func lost(err error) bool {
	return errors.Is(err, campaign.ErrNotFound) || errors.Is(err, campaign.ErrDamaged)
}

// readable returns the messages of a delivery. One that cannot be read for good is
// buried, and has none; ok is false then. Of one that can be read in part the rest is
// buried apart.
func (n *Notifier) readable(ctx context.Context, read campaign.Delivery, e campaign.Endpoint) (messages []pendingMessage, ok bool, err error) {
	messages, unreadable, err := n.messages(ctx, read, e)
	if len(unreadable) > 0 {
		metrics.Add(ctx, metrics.WebhooksGivenUp, len(unreadable))
		slog.ErrorContext(ctx, "webhooks were given up: their batches are damaged or gone", "tenant", read.Tenant, "endpoint_id", read.EndpointID, "webhooks", len(unreadable))
		return messages, true, n.markPartDead(ctx, read, unreadable)
	}
	if !lost(err) {
		return messages, true, err
	}
	metrics.Add(ctx, metrics.WebhooksGivenUp, 1)
	slog.ErrorContext(ctx, "webhooks were given up: what they are about is damaged or gone", "tenant", read.Tenant, "endpoint_id", read.EndpointID, "error", err)
	return nil, false, n.markDead(ctx, read, read)
}

// switchOff ends all posts to an endpoint, and says so.
func (n *Notifier) switchOff(ctx context.Context, e campaign.Endpoint, reason string) error {
	if _, err := n.Endpoints.SwitchEndpoint(ctx, e.Tenant, e.ID, reason); err != nil {
		return err
	}
	n.endpoints.Drop(endpointKey{e.Tenant, e.ID})
	metrics.Add(ctx, metrics.EndpointsOff, 1)
	slog.ErrorContext(ctx, "an endpoint was switched off", "tenant", e.Tenant, "endpoint_id", e.ID, "reason", reason)
	return nil
}
