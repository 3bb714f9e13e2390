// Package sweep repeats lost work: batches that were not released in time, frames that
// were not sent, messages without a delivery status, webhooks that were not posted, and steps
// of submissions.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
)

// Store reads unfinished batches, deliveries and submissions, and changes when they are checked.
type Store interface {
	port.SentBatches
	port.OpenBatches

	// Due yields the due items of a shard, the longest overdue first.
	Due(ctx context.Context, shard int, now time.Time) iter.Seq2[overdue.Item, error]
	// DueDeliveries yields due deliveries of the Webhooks table, which has its own shards.
	DueDeliveries(ctx context.Context, shard int, now time.Time) iter.Seq2[overdue.Item, error]
	// Route returns how a tenant sends through an agent. Without an existing agent, it is paused.
	Route(ctx context.Context, tenant, agentID string) (outgoing.Route, error)
	// Resumed returns the subjects of the pauses that ended lately, and of the hours that changed.
	Resumed(ctx context.Context) ([]string, error)
	// Waits yields the batches of a tenant that are paused or closed.
	Waits(ctx context.Context, tenant string) iter.Seq2[campaign.BatchRef, error]
	// DueShard returns the shard of the index of due items that has a batch. All of a tenant's are in one part.
	DueShard(ref campaign.BatchRef) int
	// TenantOf returns the tenant that uses or has used an agent, "" for none.
	TenantOf(ctx context.Context, agentID string) (string, error)
	// Submission returns a submission. The error wraps campaign.ErrNotFound if there is none.
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	// Move returns the last change of a campaign's due time. The error wraps campaign.ErrNotFound if the campaign does not
	// exist.
	Move(ctx context.Context, id campaign.ID) (campaign.Move, error)
	// PostponeDelivery sets the next check of a delivery that has not changed, and reports whether it did.
	PostponeDelivery(ctx context.Context, t delivery.NotifyTask, read, next time.Time) (bool, error)
	// MarkSent moves a batch whose messages all have outcomes to sent, and reports whether it did.
	MarkSent(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	// SaveSubmission returns an error that wraps campaign.ErrLostRace after another write.
	SaveSubmission(ctx context.Context, sub submission.Submission) (submission.Submission, error)
}

// Recorder ends batches.
type Recorder interface {
	// ExpireUnconfirmed ends a batch with messages without a delivery status.
	ExpireUnconfirmed(ctx context.Context, b campaign.Batch) error
	// Complete ends a batch whose messages all have final outcomes. It reports whether the
	// campaign awaits parts of its file.
	Complete(ctx context.Context, b campaign.Batch) (awaitsParts bool, err error)
	// Close ends the checks of a completed or cancelled batch.
	Close(ctx context.Context, b campaign.Batch) error
}

// Sweeper checks all batches, deliveries and submissions that are due. Concurrent sweeps are safe:
// consumers ignore duplicate tasks.
type Sweeper struct {
	Store    Store
	Recorder Recorder
	// Expire deletes an expired campaign. It reports whether the campaign was deleted.
	Expire func(ctx context.Context, id campaign.ID) (deleted bool, err error)
	// Recount corrects the counts of days, for the tenants of the minute in which the sweep began. It can be nil.
	Recount func(ctx context.Context, began time.Time) error
	// Clean deletes the unused segments of lists, and returns how many.
	Clean    func(ctx context.Context) (deleted int, err error)
	Releases port.BatchQueue
	Frames   port.BatchQueue
	// Queued returns the number of tasks in the queue of frames.
	Queued         func(ctx context.Context) (int, error)
	Notify         port.BatchQueue
	Revokes        port.BatchQueue
	Intake         port.BatchQueue
	Shards         int           // of the index of due items
	DeliveryShards int           // number of shards of the Webhooks table's index
	SweepAfter     time.Duration // time until the next check of a batch whose tasks were requeued
	SweepDelay     time.Duration // time until the check of a batch after its due time
	Now            func() time.Time
}

const (
	shutdownMargin = 5 * time.Second // time reserved for started work at the end of a call
	maxEnded       = 500             // maximum number of campaigns per shard in one sweep
	// atOnce is the number of shards processed concurrently. They mostly wait for the database.
	atOnce = 32
)

// action is what the sweep did with an item. It is a metric dimension.
type action string

const (
	released  action = "released"  // the release task was queued again
	resent    action = "resent"    // unsent frames were queued again
	finished  action = "finished"  // a batch whose messages were all sent was marked so
	paused    action = "paused"    // sending is paused
	woken     action = "woken"     // frames that waited for the end of a pause, or for a send window, were queued
	unopened  action = "unopened"  // all unsent messages wait for the opening of their send window
	postponed action = "postponed" // not due any more
	inQueue   action = "waiting"   // still queued behind a backlog
	undecided action = "undecided" // nothing was done, or not yet: until the tenants' backlogs are known; not counted
	removed   action = "removed"   // nothing is left to do; removed from the index
	closed    action = "closed"    // messages without a delivery status expired
	completed action = "completed" // an interrupted completion was repeated
	awaiting  action = "awaiting"  // completed batches of a campaign that awaits parts of its file
	notified  action = "notified"  // the task of a delivery was queued again
	continued action = "continued" // the task of a submission was queued again
	discarded action = "discarded" // a submission that nobody sent in time was discarded
	stopping  action = "stopping"  // messages of a batch that was cancelled before its release
	moving    action = "moving"    // batches without the due time of their rescheduled campaign
	over      action = "over"      // expired batches, deleted soon by DynamoDB
	deleted   action = "deleted"   // campaigns that were deleted
	kept      action = "kept"      // campaigns with newer batches
	failed    action = "failed"    // an error was logged; the item stays due
)

// lost lists the actions that repeat lost work. The other actions are regular work of the sweep.
var lost = [...]action{released, resent, finished, completed, continued, stopping, moving}

// Section selects the shards whose number modulo Of is Number. The zero Section selects all shards.
type Section struct {
	Number int `json:"part"`
	Of     int `json:"of"`
}

func (s Section) sweeps(shard int) bool { return s.Of == 0 || shard%s.Of == s.Number }

// Sweep checks all due items of the section's shards, until shortly before the end of ctx. Items
// that it does not reach or that fail stay due. Failed items are counted; only an
// unreadable index is an error.
func (s *Sweeper) Sweep(ctx context.Context, section Section) error {
	began := s.Now()
	deliveries := s.sweepDeliveries(ctx, section)
	resumed := s.resumed(ctx)
	wakes := s.wakes(ctx, section, resumed)
	var sweeps []*shardSweep
	var holding atomic.Bool
	slots := make(semaphore, atOnce)
	for shard := range s.Shards {
		if section.sweeps(shard) {
			sweeps = append(sweeps, &shardSweep{
				sweeper: s, shard: shard, semaphore: slots, holding: &holding, actions: map[action]int{}, routes: map[routeKey]outgoing.Route{},
				templates: reach.Remember(s.Store), resumed: resumed, wakes: wakes[shard],
			})
		}
	}
	each(sweeps, func(r *shardSweep) { r.err = r.process(ctx) })
	var behind []queuedBatch
	for _, r := range sweeps {
		behind = append(behind, r.queued...)
	}
	waits := queuedTenants(behind)
	each(sweeps, func(r *shardSweep) {
		r.requeueLost(ctx, waits)
		r.deleteCampaigns(ctx) // lowest priority
	})
	s.recount(ctx, section, began)
	delivered := deliveries()
	turnedIn(ctx, netDue, section, sweeps)
	turnedIn(ctx, netDeliveries, section, delivered)
	return report(ctx, append(sweeps, delivered...))
}

// recount corrects the counts of days, in the first section only.
func (s *Sweeper) recount(ctx context.Context, section Section, began time.Time) {
	if s.Recount == nil || section.Number != 0 {
		return
	}
	err := s.Recount(ctx, began)
	turned(ctx, netRecount, err)
	if err != nil {
		slog.WarnContext(ctx, "recounting results failed; the next turn repeats it", "error", err)
	}
}

type shardSweep struct {
	sweeper   *Sweeper
	shard     int
	semaphore semaphore
	routes    map[routeKey]outgoing.Route
	templates reach.Templates
	actions   map[action]int
	queued    []queuedBatch
	holding   *atomic.Bool  // set if any sweep holds a batch; all sweeps then stop early
	campaigns []campaign.ID // that may have expired
	resumed   subjects
	wakes     []campaign.BatchRef // that may have waited for one of resumed
	cut       bool                // due items are left because the call was about to end; expired campaigns do not count
	err       error
}

func each(sweeps []*shardSweep, do func(r *shardSweep)) {
	var shards sync.WaitGroup
	for _, r := range sweeps {
		shards.Go(func() {
			r.semaphore.begin()
			defer r.semaphore.end()
			do(r)
		})
	}
	shards.Wait()
}

// semaphore limits the number of concurrent shard sweeps. Queued sweeps continue in FIFO
// order, so a shard with many items does not block the others.
type semaphore chan struct{}

func (t semaphore) begin() { t <- struct{}{} }
func (t semaphore) end()   { <-t }

func (t semaphore) next() {
	t.end()
	t.begin()
}

func report(ctx context.Context, sweeps []*shardSweep) error {
	total := map[action]int{}
	for _, r := range sweeps {
		for d, n := range r.actions {
			total[d] += n
		}
	}
	for _, d := range lost {
		metrics.Add(ctx, metrics.SweepFound, total[d])
	}
	metrics.Add(ctx, metrics.SweepFailed, total[failed])
	for d, n := range total {
		metrics.Kind(ctx, string(d), n)
	}
	slog.InfoContext(ctx, "sweep finished", "actions", total)
	return errors.Join(errorsOf(sweeps)...)
}

// process handles the due items of the shard. Batches behind a backlog are left until the end.
func (r *shardSweep) process(ctx context.Context) error {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	early, cancelEarly := retry.WithMargin(ctx, shutdownMargin+queuedMargin)
	defer cancelEarly()
	pending := deliveries{sweeper: r.sweeper, actions: r.actions}
	defer pending.flush(ctx)
	for due, err := range r.sweeper.Store.Due(ctx, r.shard, r.sweeper.Now()) {
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		if starting.Err() != nil || r.holding.Load() && early.Err() != nil {
			r.cut = true
			return nil
		}
		switch {
		case due.Delivery != nil:
			pending.add(ctx, due)
		case due.Campaign != nil:
			if len(r.campaigns) < maxEnded {
				r.campaigns = append(r.campaigns, *due.Campaign)
			}
		case due.Submission != nil:
			r.processSubmission(ctx, *due.Submission)
		default:
			r.count(ctx, due.Batch, r.sweepBatch)
		}
		r.semaphore.next()
	}
	return r.wake(starting)
}

// count processes a batch and counts what was done.
func (r *shardSweep) count(ctx context.Context, ref campaign.BatchRef, process func(context.Context, campaign.BatchRef) (action, error)) {
	result, err := process(ctx, ref)
	if err != nil {
		slog.ErrorContext(ctx, "processing due batch failed",
			"tenant", ref.Tenant, "campaign_id", ref.CampaignID, "batch_id", ref.BatchID, "error", err)
		result = failed
	}
	if result != undecided {
		r.actions[result]++
	}
}

func (r *shardSweep) deleteCampaigns(ctx context.Context) {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for _, id := range r.campaigns {
		if starting.Err() != nil {
			return
		}
		done, err := r.sweeper.Expire(ctx, id)
		switch {
		case err != nil:
			slog.ErrorContext(ctx, "deleting expired campaign failed", "tenant", id.Tenant, "campaign_id", id.CampaignID, "error", err)
			r.actions[failed]++
		case done:
			r.actions[deleted]++
		default:
			r.actions[kept]++
		}
		r.semaphore.next()
	}
}

// sweepBatch processes the batch according to its current state, because the index may be outdated.
func (r *shardSweep) sweepBatch(ctx context.Context, ref campaign.BatchRef) (action, error) {
	s := r.sweeper
	b, err := s.Store.Batch(ctx, ref)
	if errors.Is(err, campaign.ErrNotFound) {
		return over, nil
	}
	if err != nil {
		return failed, err
	}
	return r.sweepRead(ctx, b)
}

func (r *shardSweep) sweepRead(ctx context.Context, b campaign.Batch) (action, error) {
	s := r.sweeper
	switch b.State {
	case campaign.BatchPending:
		if b.Unmoved {
			return moving, s.completeCampaign(ctx, b)
		}
		if b.Due.After(s.Now()) {
			return postponed, s.check(ctx, b, b.Due.Add(s.SweepDelay))
		}
		return released, s.release(ctx, b)
	case campaign.BatchReleasing:
		return released, s.release(ctx, b)
	case campaign.BatchSending:
		return r.resend(ctx, b)
	case campaign.BatchSent:
		if wait := b.NextCheck; wait.After(s.Now()) {
			return postponed, nil
		}
		return closed, s.Recorder.ExpireUnconfirmed(ctx, b)
	case campaign.BatchCompleted:
		return s.repeatCompletion(ctx, b)
	case campaign.BatchCancelled:
		return s.stop(ctx, b)
	}
	return removed, s.Recorder.Close(ctx, b)
}

// repeatCompletion repeats the completion of a batch. Nothing was lost if its campaign awaits parts, or did
// so at the last check.
func (s *Sweeper) repeatCompletion(ctx context.Context, b campaign.Batch) (action, error) {
	awaitsParts, err := s.Recorder.Complete(ctx, b)
	switch {
	case awaitsParts:
		return awaiting, err
	case b.Waits.Parts:
		return removed, err
	}
	return completed, err
}

// stop queues the cancellation of the campaign again, until all messages of the cancelled batch have ended.
func (s *Sweeper) stop(ctx context.Context, b campaign.Batch) (action, error) {
	head, err := s.Store.LedgerHead(ctx, b.Key)
	if err != nil {
		return failed, err
	}
	if head.Summary().Final() >= b.Accepted {
		return removed, s.Recorder.Close(ctx, b)
	}
	return stopping, s.completeCampaign(ctx, b)
}

// completeCampaign queues the task that completes the cancellation or the reschedule of the batch's campaign.
func (s *Sweeper) completeCampaign(ctx context.Context, b campaign.Batch) error {
	return s.queue(ctx, s.Revokes, b, []any{campaign.RevokeTask{BatchRef: campaign.BatchRef{ID: b.ID}}})
}

func (s *Sweeper) release(ctx context.Context, b campaign.Batch) error {
	return s.queue(ctx, s.Releases, b, []any{campaign.ReleaseTask{BatchRef: b.BatchRef}})
}

// resend requeues the incomplete frames. Sending skips messages with an outcome. During a
// backlog, the batch is left until the end instead.
func (r *shardSweep) resend(ctx context.Context, b campaign.Batch) (action, error) {
	s := r.sweeper
	head, err := s.Store.LedgerHead(ctx, b.Key)
	if err != nil {
		return failed, err
	}
	if head.Summary().Known() >= b.Accepted {
		return s.finish(ctx, b, head)
	}
	route, err := r.route(ctx, b)
	if err != nil {
		return failed, err
	}
	if route.Pauses(b, s.Now()) {
		b.Waits.Paused = true
		return paused, s.check(ctx, b, outgoing.WaitUntil(b, s.Now()))
	}
	hours, err := reach.Load(ctx, r.templates, route.Hours, b)
	if err != nil {
		return failed, err
	}
	frames := hours.FramesOf(b, func(index int) bool { return head.Outcome(index) == "" }, s.Now())
	unsent := queuedBatch{frames: frames.Open}
	unsent.Batch, unsent.opens = hours.Postpone(b, frames.Closed, s.Now())
	if len(frames.Open) == 0 {
		same := b.Waits == campaign.Waits{Zones: frames.Closed} && b.NeverOpen == unsent.NeverOpen
		if same && b.NextCheck.Equal(unsent.opens) { // nothing has changed
			return unopened, nil
		}
		unsent.Waits.Paused = false
		return unopened, s.check(ctx, unsent.Batch, unsent.opens)
	}
	if len(frames.Opened) > 0 { // nothing of them is queued
		unsent.frames = frames.Opened
		return s.queueOpened(ctx, unsent)
	}
	ahead, err := s.Queued(ctx)
	if err != nil {
		return failed, err
	}
	if ahead >= backlog {
		r.queued = append(r.queued, unsent)
		r.holding.Store(true)
		return undecided, nil
	}
	return resent, s.queueFrames(ctx, unsent)
}

func (s *Sweeper) finish(ctx context.Context, b campaign.Batch, head ledger.Head) (action, error) {
	if head.Summary().Final() >= b.Accepted {
		_, err := s.Recorder.Complete(ctx, b)
		return completed, err
	}
	_, err := s.Store.MarkSent(ctx, b.BatchRef, s.Now().Add(campaign.MessageTTL+campaign.AnswerGrace))
	return finished, err
}

// routeKey identifies a route. A batch keeps the agent of its release.
type routeKey struct{ tenant, agentID string }

// route returns the route of a batch. Each is read once in a sweep.
func (r *shardSweep) route(ctx context.Context, b campaign.Batch) (outgoing.Route, error) {
	key := routeKey{b.Tenant, b.AgentID}
	if route, ok := r.routes[key]; ok {
		return route, nil
	}
	route, err := r.sweeper.Store.Route(ctx, b.Tenant, b.AgentID)
	if err == nil {
		r.routes[key] = route
	}
	return route, err
}

// queue queues the tasks, then postpones the batch's next check. A crash in between requeues them (at least once).
func (s *Sweeper) queue(ctx context.Context, q port.BatchQueue, b campaign.Batch, tasks []any) error {
	return s.queueUntil(ctx, q, b, tasks, s.Now().Add(s.SweepAfter))
}

// queueUntil is queue with the time of the next check.
func (s *Sweeper) queueUntil(ctx context.Context, q port.BatchQueue, b campaign.Batch, tasks []any, next time.Time) error {
	if err := port.SendAll(ctx, q, b.Tenant, tasks); err != nil {
		return fmt.Errorf("queue tasks of batch %s: %w", b.BatchID, err)
	}
	b.Waits.Paused = false
	return s.check(ctx, b, next)
}

// check sets the batch's next check, unless it was changed concurrently.
func (s *Sweeper) check(ctx context.Context, b campaign.Batch, next time.Time) error {
	_, err := s.Store.PostponeCheck(ctx, b, next)
	return err
}
