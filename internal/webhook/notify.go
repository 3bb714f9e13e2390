// Package webhook posts message outcomes to the tenants' endpoints: signed, at least once,
// and retried while an endpoint is down.
//
// At first a task contains the entries to post. Those that are not delivered are written as a
// delivery before the task ends; later tasks only name it. A delivery is deleted after all of it
// is posted. After a crash, the task's next receive or sweep resumes.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/webhook/delivery"
)

// Store stores deliveries, and reads batches and templates.
type Store interface {
	port.SentBatches

	// Delivery returns a delivery. The error wraps campaign.ErrNotFound if there is none.
	Delivery(ctx context.Context, t delivery.NotifyTask) (delivery.Delivery, error)
	// SaveDelivery replaces a delivery that has not changed and ends its claim, and reports whether it did.
	SaveDelivery(ctx context.Context, read, d delivery.Delivery) (bool, error)
	// ClaimDelivery gives a delivery to one caller until an instant. It returns the end of another's claim.
	ClaimDelivery(ctx context.Context, read delivery.Delivery, until time.Time) (claimed bool, others time.Time, err error)
	// DeleteDelivery deletes a delivery. A missing one is not an error.
	DeleteDelivery(ctx context.Context, t delivery.NotifyTask) error
	// FindBatch returns the batch with a key. The error wraps campaign.ErrNotFound if there is none.
	FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error)
	// Lists returns the lists of a tenant, deleted ones included, ordered by name.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
}

// Endpoints stores endpoints, their circuits, posts and failures.
type Endpoints interface {
	// Endpoint returns an endpoint. The error wraps campaign.ErrNotFound if there is none.
	Endpoint(ctx context.Context, tenant, id string) (delivery.Endpoint, error)
	// DisableEndpoint disables an endpoint that is on, and reports whether it did. Of the callers that disable it within
	// noticeEvery, only the first gets notice = true.
	DisableEndpoint(ctx context.Context, tenant, id, offReason string, noticeEvery time.Duration) (disabled, notice bool, err error)
	// Circuit returns the circuit of an endpoint. Without one, only Tenant and EndpointID are set.
	Circuit(ctx context.Context, tenant, endpointID string) (delivery.Circuit, error)
	// SaveCircuit writes a circuit that has not changed, and reports whether it did.
	SaveCircuit(ctx context.Context, c delivery.Circuit) (bool, error)
	// EndCircuit deletes a circuit that has not changed, and reports whether it did.
	EndCircuit(ctx context.Context, c delivery.Circuit) (bool, error)
	// ParkedDeliveries returns up to limit parked deliveries, oldest first.
	ParkedDeliveries(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.NotifyTask, error)
	// RecordFailure records a failed webhook. It can be repeated.
	RecordFailure(ctx context.Context, f delivery.Failure) error
	// CountPosts counts posts by hour, in memory.
	CountPosts(tenant, endpointID string, at time.Time, p delivery.PostCount)
	// WritePosts writes the counts at the end of a call. After an error, the next call writes them.
	WritePosts(ctx context.Context, now time.Time) error
	// KeepPost keeps a post with its payload and answer. It can be repeated.
	KeepPost(ctx context.Context, p delivery.KeptPost) error
}

// Blobs reads payloads and webhook events.
type Blobs interface {
	// Get returns an object. The error wraps campaign.ErrNotFound if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// GetRange returns the bytes [from, to). The error wraps campaign.ErrNotFound, or ErrDamaged for an object too short.
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
}

// Tickets takes notices for the operators.
type Tickets interface {
	// Announce publishes a notice, if the operators have a topic for them.
	Announce(ctx context.Context, subject, text string) error
}

// Notifier posts webhooks. Repeated tasks are safe.
type Notifier struct {
	Store     Store
	Endpoints Endpoints
	Blobs     Blobs
	Notify    port.Queue
	Tickets   Tickets
	// HTTP sends the requests, see Poster.
	HTTP *http.Client
	Now  func() time.Time
	// Jitter returns a random number in [0, 1) to spread retries.
	Jitter func() float64

	endpoints      cache.Cache[endpointKey, delivery.Endpoint]
	circuits       cache.Cache[endpointKey, delivery.Circuit]
	batches        cache.Cache[campaign.BatchKey, campaign.Batch]
	templates      port.Templates
	lists          cache.Cache[listKey, string] // their names
	recipientCache recipientCache
	limiters       limiters
	samples        samples
}

type endpointKey struct{ tenant, id string }

type listKey struct {
	tenant string
	number int
}

const (
	// shutdownMargin is the time reserved for running posts and for recording their results.
	shutdownMargin = Timeout + 5*time.Second
	endpointTTL    = 3 * time.Second // cache TTL of endpoints and circuits
	// maxWarm is the size of the endpoint caches: about 1,000 tenants, in 10 MB. A full
	// cache is cleared, with the failure counts. maxBatches is the size of the batch cache,
	// without recipients.
	maxWarm, maxBatches = 5_000, 10_000
)

func (n *Notifier) poster() Poster { return Poster{HTTP: n.HTTP, Now: n.Now} }

// HandleMessages processes the tasks of the messages. It returns an error by position for
// each message to retry with all its tasks.
func (n *Notifier) HandleMessages(ctx context.Context, messages []delivery.NotifyMessage) []error {
	var tasks []delivery.NotifyTask
	for _, m := range messages {
		tasks = append(tasks, m.Tasks()...)
	}
	failed := n.Handle(ctx, tasks)
	errs := make([]error, len(messages))
	for i, m := range messages {
		count := 1 + len(m.Also)
		errs[i] = n.requeueFailed(ctx, tasks[:count], failed[:count])
		tasks, failed = tasks[count:], failed[count:]
	}
	return errs
}

// requeueFailed returns the error of a message whose tasks all failed. If only some failed,
// it queues these again as single tasks, so that completed tasks are not repeated.
func (n *Notifier) requeueFailed(ctx context.Context, tasks []delivery.NotifyTask, errs []error) error {
	failed := errors.Join(errs...)
	if failed == nil || !slices.Contains(errs, nil) {
		return failed
	}
	for i, t := range tasks {
		if errs[i] == nil {
			continue
		}
		slog.WarnContext(ctx, "task failed; requeued without the completed tasks of its message",
			"tenant", t.Tenant, "endpoint_id", t.EndpointID, "error", errs[i])
		if err := n.queue(ctx, t, aloneAfter); err != nil {
			return errors.Join(failed, err)
		}
	}
	return nil
}

// aloneAfter is the delay of a task that is requeued alone.
const aloneAfter = time.Minute

// Handle processes the tasks concurrently. It returns an error by position for each task to
// retry. A failing endpoint is not an error: its deliveries are kept.
func (n *Notifier) Handle(ctx context.Context, tasks []delivery.NotifyTask) []error {
	errs := make([]error, len(tasks))
	var all sync.WaitGroup
	for i, t := range tasks {
		all.Go(func() {
			if err := n.handleOrSave(ctx, t); err != nil {
				errs[i] = fmt.Errorf("notify endpoint %s: %w", t.EndpointID, err)
			}
		})
	}
	all.Wait()
	if err := n.Endpoints.WritePosts(ctx, n.Now()); err != nil {
		slog.WarnContext(ctx, "counting posts failed", "error", err)
	}
	return errs
}

// receivesBeforeDelivery is the number of receives of a task with entries before they are written as a delivery.
const receivesBeforeDelivery = 3

// handleOrSave processes a task. Entries that repeatedly cannot be posted because of
// internal errors are written as a delivery: the queue drops a message after some receives,
// sweep retries without limit.
func (n *Notifier) handleOrSave(ctx context.Context, t delivery.NotifyTask) error {
	err := n.handle(ctx, t)
	if err == nil || t.Entries == "" || t.Receives < receivesBeforeDelivery {
		return err
	}
	d, unreadable := n.newDelivery(t)
	if unreadable != nil {
		return err
	}
	slog.WarnContext(ctx, "posting webhooks failed; saved for retry by sweep",
		"tenant", t.Tenant, "endpoint_id", t.EndpointID, "receives", t.Receives, "error", err)
	_, err = n.schedule(ctx, d, d, minSweepDelay)
	return err
}

func (n *Notifier) handle(ctx context.Context, t delivery.NotifyTask) error {
	if t.OfCircuit() {
		return n.checkCircuit(ctx, t)
	}
	d, err := n.delivery(ctx, t)
	if err != nil || d.Dead || n.isEarly(d) {
		return campaign.IgnoreNotFound(err) // delivered or expired
	}
	e, err := n.endpoint(ctx, t.Tenant, t.EndpointID)
	if errors.Is(err, campaign.ErrNotFound) {
		return n.remove(ctx, d)
	}
	if err != nil {
		return err
	}
	circuit, err := n.circuit(ctx, t)
	if err != nil {
		return err
	}
	if claimed, err := n.claim(ctx, d); err != nil || !claimed {
		return err
	}
	if d.Parked || e.Off() || circuit.Open() {
		return n.park(ctx, d, d)
	}
	n.limiters.get(endpointKey{t.Tenant, t.EndpointID}).circuitClosed()
	messages, ok, err := n.readable(ctx, d, e)
	if err != nil || !ok {
		return err
	}
	return n.saveResult(ctx, d, e, n.postAll(ctx, d, e, messages))
}

// isEarly reports whether a delivery waits for a later attempt: the task is a surplus one, and the attempt has its own or
// comes from sweep. A queue's delays are in whole seconds.
func (n *Notifier) isEarly(d delivery.Delivery) bool {
	return !d.Parked && d.NotBefore.Sub(n.Now()) > time.Second
}

// claimFor is longer than a call of the function, so that only one call posts a delivery.
const claimFor = 65 * time.Second

// claim makes this call the only one that posts or parks a saved delivery, and reports whether it is. A delivery can have
// several tasks: sweep repeats one that waits in the queue for long. To park a delivery ends the claim of a call that is
// posting it, whose result would then be lost and posted again. The task of another's delivery comes back when that claim
// ends, in case the other process has died.
func (n *Notifier) claim(ctx context.Context, d delivery.Delivery) (bool, error) {
	if d.Unsaved || d.Parked {
		return true, nil
	}
	now := n.Now()
	claimed, others, err := n.Store.ClaimDelivery(ctx, d, now.Add(claimFor))
	if err != nil || claimed || others.IsZero() {
		return claimed, err
	}
	return false, n.queue(ctx, d.Task(), others.Sub(now)+time.Second)
}

// delivery reads the task's delivery, or creates it from the task's entries. An expired
// delivery is deleted, because DynamoDB deletes it days later and sweep would find it
// until then.
func (n *Notifier) delivery(ctx context.Context, t delivery.NotifyTask) (delivery.Delivery, error) {
	if t.Entries != "" {
		return n.newDelivery(t)
	}
	read, err := n.Store.Delivery(ctx, t)
	if errors.Is(err, campaign.ErrExpired) {
		if err := n.Store.DeleteDelivery(ctx, t); err != nil {
			return read, err
		}
	}
	return read, err
}

// endpointCache configures the caches of endpoints and circuits.
var endpointCache = cache.Options{TTL: endpointTTL, MaxEntries: maxWarm}

func (n *Notifier) endpoint(ctx context.Context, tenant, id string) (delivery.Endpoint, error) {
	return n.endpoints.Get(endpointKey{tenant, id}, n.Now(), endpointCache, func() (delivery.Endpoint, error) {
		return n.Endpoints.Endpoint(ctx, tenant, id)
	})
}

func (n *Notifier) circuit(ctx context.Context, t delivery.NotifyTask) (delivery.Circuit, error) {
	return n.circuits.Get(endpointKey{t.Tenant, t.EndpointID}, n.Now(), endpointCache, func() (delivery.Circuit, error) {
		return n.Endpoints.Circuit(ctx, t.Tenant, t.EndpointID)
	})
}

// park saves next as parked. It stays parked until the circuit closes.
func (n *Notifier) park(ctx context.Context, read, next delivery.Delivery) error {
	next.Parked, next.Next = true, n.Now()
	if !read.Parked || next.Attempt != read.Attempt || !slices.Equal(next.Pending, read.Pending) {
		if _, err := n.save(ctx, read, next); err != nil {
			return err
		}
	}
	// The circuit may have closed, or the endpoint been enabled, before the delivery was saved.
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

// unpark makes a delivery due again: after its retry delay, or at once. It reports whether
// the delivery was parked or has expired.
func (n *Notifier) unpark(ctx context.Context, t delivery.NotifyTask, atOnce bool) (bool, error) {
	read, err := n.delivery(ctx, t)
	if errors.Is(err, campaign.ErrExpired) {
		return true, nil
	}
	if err != nil || !read.Parked {
		return false, campaign.IgnoreNotFound(err)
	}
	delay := time.Duration(0)
	if read.Attempt > 0 && !atOnce {
		delay, _ = retryDelay(read.Attempt-1, n.Jitter())
	}
	back := read
	back.Parked = false
	return n.schedule(ctx, read, back, delay)
}

// repair is the time until sweep checks a delivery whose task was queued.
const repair = 2 * time.Minute

// schedule saves next with its next attempt after delay. It reports whether the delivery
// was unchanged since it was read.
func (n *Notifier) schedule(ctx context.Context, read, next delivery.Delivery, delay time.Duration) (bool, error) {
	soon := delay < minSweepDelay
	next.NotBefore = n.Now().Add(delay)
	next.Next = next.NotBefore
	if soon {
		next.Next = next.Next.Add(repair)
	}
	if saved, err := n.save(ctx, read, next); err != nil || !saved || !soon {
		return saved, err
	}
	return true, n.queue(ctx, read.Task(), delay)
}

func (n *Notifier) queue(ctx context.Context, t delivery.NotifyTask, delay time.Duration) error {
	return port.Send(ctx, n.Notify, t.Tenant, t, delay)
}

// saveResult saves the pending part of a delivery after an attempt. An attempt with failed posts counts as failed.
func (n *Notifier) saveResult(ctx context.Context, read delivery.Delivery, e delivery.Endpoint, r *attempt) error {
	if len(r.pending) == 0 {
		return n.remove(ctx, read)
	}
	next := read
	next.Parked = false
	if r.posts.Accepted > 0 || !countsTowardCircuit(read) {
		next.Pending = r.pending
	}
	if r.refused() && !r.gone {
		next.Attempt++
	}
	stopped, err := n.stop(ctx, read, e, r)
	if err != nil { // the result is saved all the same: what was delivered is not posted again
		slog.WarnContext(ctx, "stopping posts to a failing endpoint failed", "tenant", e.Tenant, "endpoint_id", e.ID, "error", err)
	}
	if stopped && next.Attempt <= len(retries) {
		return n.park(ctx, read, next)
	}
	return n.retry(ctx, read, next, r)
}

// stop disables an endpoint that is gone, or opens the circuit of one that fails too often. It reports whether it did.
func (n *Notifier) stop(ctx context.Context, read delivery.Delivery, e delivery.Endpoint, r *attempt) (stopped bool, err error) {
	switch {
	case r.gone:
		err = n.switchOff(ctx, e, "gone")
	case r.open || n.maybeOpenCircuit(read, r):
		err = n.openCircuit(ctx, e, r.retryAfter)
	default:
		return false, nil
	}
	return err == nil, err
}

// attemptsToOpen is the number of failed attempts after which a delivery without any
// success opens the circuit. It covers endpoints with too little traffic for consecutive
// failures.
const attemptsToOpen = 3

func (n *Notifier) maybeOpenCircuit(read delivery.Delivery, r *attempt) bool {
	return r.refused() && r.posts.Accepted == 0 && countsTowardCircuit(read) && read.Attempt+1 >= attemptsToOpen &&
		n.limiters.get(endpointKey{read.Tenant, read.EndpointID}).stopIfUnhealthy(n.Now())
}

// retry schedules the next attempt of the pending messages, or abandons them after the last one.
func (n *Notifier) retry(ctx context.Context, read, next delivery.Delivery, r *attempt) error {
	delay, ok := time.Duration(0), true
	if r.refused() {
		delay, ok = retryDelay(read.Attempt, n.Jitter())
	}
	if ok {
		_, err := n.schedule(ctx, read, next, max(delay, r.retryAfter))
		return err
	}
	metrics.Add(ctx, metrics.WebhooksGivenUp, len(r.pending))
	slog.ErrorContext(ctx, "webhooks abandoned after last attempt; they can be resent",
		"tenant", read.Tenant, "endpoint_id", read.EndpointID, "webhooks", len(r.pending))
	return n.markDead(ctx, read, next)
}

// markDead abandons a delivery. It can be resent.
func (n *Notifier) markDead(ctx context.Context, read, next delivery.Delivery) error {
	next.Dead, next.Parked, next.Next = true, false, n.Now()
	_, err := n.save(ctx, read, next)
	return err
}

// isUnreadable reports whether the delivery's content is damaged or deleted.
func isUnreadable(err error) bool {
	return errors.Is(err, campaign.ErrNotFound) || errors.Is(err, campaign.ErrDamaged)
}

// readable returns the messages of a delivery. If none can ever be read, it marks the
// delivery dead and returns ok = false. If only some can be read, it moves the others to a
// dead delivery.
func (n *Notifier) readable(
	ctx context.Context, read delivery.Delivery, e delivery.Endpoint,
) (messages []pendingMessage, ok bool, err error) {
	messages, unreadable, err := n.messages(ctx, read, e)
	if len(unreadable) > 0 {
		metrics.Add(ctx, metrics.WebhooksGivenUp, len(unreadable))
		slog.ErrorContext(ctx, "webhooks abandoned: batches damaged or deleted",
			"tenant", read.Tenant, "endpoint_id", read.EndpointID, "webhooks", len(unreadable))
		return messages, true, n.markPartDead(ctx, read, unreadable)
	}
	if !isUnreadable(err) {
		return messages, true, err
	}
	metrics.Add(ctx, metrics.WebhooksGivenUp, 1)
	slog.ErrorContext(ctx, "webhooks abandoned: content damaged or deleted",
		"tenant", read.Tenant, "endpoint_id", read.EndpointID, "error", err)
	return nil, false, n.markDead(ctx, read, read)
}

// noticeEvery is the least time between two notices of an endpoint. Its tenant can enable it again and again.
const noticeEvery = 24 * time.Hour

func (n *Notifier) switchOff(ctx context.Context, e delivery.Endpoint, reason string) error {
	disabled, notice, err := n.Endpoints.DisableEndpoint(ctx, e.Tenant, e.ID, reason, noticeEvery)
	if err != nil {
		return err
	}
	n.endpoints.Drop(endpointKey{e.Tenant, e.ID})
	if disabled {
		metrics.Add(ctx, metrics.EndpointsOff, 1)
		slog.ErrorContext(ctx, "endpoint disabled", "tenant", e.Tenant, "endpoint_id", e.ID, "reason", reason)
	}
	if notice { // the alarm, too, fires once for an endpoint that its tenant enables again and again
		metrics.AddOf(ctx, metrics.EndpointsOff, metrics.OfEndpoint, e.ID, 1)
		n.tell(ctx, e, reason)
	}
	return nil
}

// tell tells the operators of a disabled endpoint: an alarm that already fires cannot tell of the next one. The endpoint stays
// disabled if that fails.
func (n *Notifier) tell(ctx context.Context, e delivery.Endpoint, reason string) {
	text := fmt.Sprintf("The webhook endpoint %[2]s of the tenant %[1]s is disabled (%[3]s). Its webhooks wait. Inform the tenant. To enable "+
		"it, run make enable-endpoint TENANT=%[1]s ENDPOINT=%[2]s with the ENV of this stack.", e.Tenant, e.ID, reason)
	if err := n.Tickets.Announce(ctx, "Webhook endpoint disabled", text); err != nil {
		slog.ErrorContext(ctx, "publishing the disabled endpoint failed", "tenant", e.Tenant, "endpoint_id", e.ID, "error", err)
	}
}
