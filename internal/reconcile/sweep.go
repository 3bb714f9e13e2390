// Package reconcile brings back what was left behind, whatever died where: batches
// that were not released in time, frames that were not sent, messages that were
// never answered and webhooks that were not posted.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/retry"
)

// Store knows the batches that are not done, and how far they are.
type Store interface {
	Due(ctx context.Context, shard int, now time.Time) iter.Seq2[campaign.Due, error]
	// DueDeliveries are those of the Webhooks table, which has shards of its own.
	DueDeliveries(ctx context.Context, shard int, now time.Time) iter.Seq2[campaign.Due, error]
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	Ledger(ctx context.Context, b campaign.Batch, frames []int) (campaign.Ledger, error)
	Channel(ctx context.Context, tenant, agentID string) (campaign.Channel, error)
	// AdoptAgent returns the batch with the agent that it is sent by.
	AdoptAgent(ctx context.Context, b campaign.Batch) (campaign.Batch, error)
}

// Moves moves batches on, where they still are as they were read.
type Moves interface {
	MoveCheck(ctx context.Context, b campaign.Batch, next time.Time) (bool, error)
	MoveDelivery(ctx context.Context, t campaign.NotifyTask, read, next time.Time) (bool, error)
	FinishBatch(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	Forget(ctx context.Context, ref campaign.BatchRef) error
}

// Recorder ends batches: CloseUnanswered those whose messages should have had an
// answer by now, Complete those of which nothing more has to come.
type Recorder interface {
	CloseUnanswered(ctx context.Context, b campaign.Batch) error
	Complete(ctx context.Context, b campaign.Batch) error
}

// Purger forgets campaigns that have ended, and reports whether one is.
type Purger interface {
	PurgeIfExpired(ctx context.Context, id campaign.ID) (forgotten bool, err error)
}

// Queue takes tasks.
type Queue interface {
	SendAll(ctx context.Context, group string, bodies [][]byte) error
}

// Line is a queue that tells how many of its tasks nobody has taken yet.
type Line interface {
	Queue
	Waiting(ctx context.Context) (int, error)
}

// Sweeper looks at every batch and every delivery whose next check has come. Two may do so at
// once: tasks that are queued twice are done once.
type Sweeper struct {
	Store    Store
	Moves    Moves
	Recorder Recorder
	Purger   Purger
	Releases Queue
	Frames   Line
	Notify   Queue
	Revokes  Queue
	Shards   int // of the index of what is due
	// DeliveryShards are those of the index of the Webhooks table.
	DeliveryShards int
	// After is how long a batch is left alone once its tasks were queued again.
	After time.Duration
	Now   func() time.Time
}

const (
	// pauseCheck is when a batch whose sending is paused is looked at again.
	pauseCheck = time.Minute
	// dueGrace is how long the schedule of a batch may be late.
	dueGrace = 2 * time.Minute
	// shutdownMargin is what is kept of a call's time for what was begun.
	shutdownMargin = 5 * time.Second
	// maxEnded is how many campaigns of a shard are looked at in one sweep.
	maxEnded = 500
	// atOnce is how many shards are worked on at once. Each of them waits for the
	// database most of the time.
	atOnce = 32
)

// action is what sweep did about a batch.
type action string

const (
	released  action = "released"
	resent    action = "resent"
	finished  action = "finished"
	paused    action = "paused"
	postponed action = "postponed"
	waiting   action = "waiting"   // behind a backlog of the queue
	undecided action = "undecided" // until it is known whose backlog it is: never counted
	forgotten action = "forgotten"
	closed    action = "closed"    // messages that were not answered have expired
	completed action = "completed" // what somebody began is done
	notified  action = "notified"
	stopping  action = "stopping" // messages of a batch that was cancelled before its release
	over      action = "over"     // batches past their time, which DynamoDB is about to delete
	ended     action = "ended"    // campaigns that are forgotten
	kept      action = "kept"     // campaigns that are not, for they have newer batches
	failed    action = "failed"
)

// lost are the actions that somebody else would have done, had they not died or
// failed. The others are sweep's own, such as webhooks whose next time has come.
var lost = [...]action{released, resent, finished, completed, stopping}

// Part is a part of the shards: those whose number has the remainder Part when divided
// by Of. The zero Part is all shards.
type Part struct {
	Part int `json:"part"`
	Of   int `json:"of"`
}

func (p Part) has(shard int) bool { return p.Of == 0 || shard%p.Of == p.Part }

// Sweep sweeps all shards, see SweepPart.
func (s *Sweeper) Sweep(ctx context.Context) error { return s.SweepPart(ctx, Part{}) }

// SweepPart looks at everything in its shards whose next check has come, until ctx is
// near its end. What it does not reach, and what fails, it finds again the next time. Items
// that fail are counted; only an index that cannot be read is an error.
func (s *Sweeper) SweepPart(ctx context.Context, part Part) error {
	deliveries := s.sweepDeliveries(ctx, part)
	var rounds []*round
	var holding atomic.Bool
	turns := make(turns, atOnce)
	for shard := range s.Shards {
		if part.has(shard) {
			rounds = append(rounds, &round{sweeper: s, shard: shard, turns: turns, holding: &holding, actions: map[action]int{}, channels: map[channelKey]campaign.Channel{}})
		}
	}
	each(rounds, func(r *round) { r.err = r.look(ctx) })
	var behind []heldBatch
	for _, r := range rounds {
		behind = append(behind, r.held...)
	}
	waits := waitingTenants(behind)
	each(rounds, func(r *round) {
		r.settleHeld(ctx, waits)
		r.endCampaigns(ctx) // after all that somebody waits for
	})
	return report(ctx, append(rounds, deliveries()...))
}

// round is the sweep of one shard.
type round struct {
	sweeper   *Sweeper
	shard     int
	turns     turns
	channels  map[channelKey]campaign.Channel
	actions   map[action]int
	held      []heldBatch
	holding   *atomic.Bool  // whether any round holds a batch: all of them end early then
	campaigns []campaign.ID // that may have ended
	err       error
}

func each(rounds []*round, do func(r *round)) {
	var shards sync.WaitGroup
	for _, r := range rounds {
		shards.Go(func() {
			r.turns.begin()
			defer r.turns.end()
			do(r)
		})
	}
	shards.Wait()
}

// turns lets as many rounds work at once as it has room for. Those that wait come in
// the order in which they began to wait, so that a shard with much to do holds up no
// other one.
type turns chan struct{}

func (t turns) begin() { t <- struct{}{} }
func (t turns) end()   { <-t }

// next lets another round work, where one waits.
func (t turns) next() {
	t.end()
	t.begin()
}

// report counts and logs what was done.
func report(ctx context.Context, rounds []*round) error {
	total := map[action]int{}
	var errs []error
	for _, r := range rounds {
		errs = append(errs, r.err)
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
	slog.InfoContext(ctx, "swept", "deeds", total)
	return errors.Join(errs...)
}

// look does what the due rows of the shard need, except for what it holds.
func (r *round) look(ctx context.Context) error {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	early, cancelEarly := retry.WithMargin(ctx, shutdownMargin+heldMargin)
	defer cancelEarly()
	owed := deliveries{sweeper: r.sweeper, actions: r.actions}
	defer owed.flush(ctx)
	for due, err := range r.sweeper.Store.Due(ctx, r.shard, r.sweeper.Now()) {
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		if starting.Err() != nil || r.holding.Load() && early.Err() != nil {
			return nil
		}
		switch {
		case due.Delivery != nil:
			owed.add(ctx, due)
		case due.Campaign != nil:
			if len(r.campaigns) < maxEnded {
				r.campaigns = append(r.campaigns, *due.Campaign)
			}
		default:
			r.lookAtBatch(ctx, due.Batch)
		}
		r.turns.next()
	}
	return nil
}

func (r *round) lookAtBatch(ctx context.Context, ref campaign.BatchRef) {
	did, err := r.sweepBatch(ctx, ref)
	if err != nil {
		slog.ErrorContext(ctx, "a batch could not be swept", "tenant", ref.Tenant, "campaign_id", ref.CampaignID, "batch_id", ref.BatchID, "error", err)
		did = failed
	}
	if did != undecided {
		r.actions[did]++
	}
}

func (r *round) endCampaigns(ctx context.Context) {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for _, id := range r.campaigns {
		if starting.Err() != nil {
			return
		}
		forgotten, err := r.sweeper.Purger.PurgeIfExpired(ctx, id)
		switch {
		case err != nil:
			slog.ErrorContext(ctx, "a campaign could not be forgotten", "tenant", id.Tenant, "campaign_id", id.CampaignID, "error", err)
			r.actions[failed]++
		case forgotten:
			r.actions[ended]++
		default:
			r.actions[kept]++
		}
		r.turns.next()
	}
}

// sweepBatch does what the batch needs in the state that it is in: the index
// that named it may be late.
func (r *round) sweepBatch(ctx context.Context, ref campaign.BatchRef) (action, error) {
	s := r.sweeper
	b, err := s.Store.Batch(ctx, ref)
	if errors.Is(err, campaign.ErrNotFound) {
		return over, nil
	}
	if err != nil {
		return failed, err
	}
	switch b.State {
	case campaign.BatchPending:
		if b.Due.After(s.Now()) {
			return postponed, s.check(ctx, b, b.Due.Add(dueGrace))
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
		return closed, s.Recorder.CloseUnanswered(ctx, b)
	case campaign.BatchCompleted:
		return completed, s.Recorder.Complete(ctx, b)
	case campaign.BatchCancelled:
		return s.stop(ctx, b)
	}
	return forgotten, s.Moves.Forget(ctx, ref)
}

// stop asks again for the messages of a cancelled batch to be ended, until all of
// them are. The task is the campaign's: it does all that cancelling leaves to do.
func (s *Sweeper) stop(ctx context.Context, b campaign.Batch) (action, error) {
	batchLedger, err := s.Store.Ledger(ctx, b, nil)
	if err != nil {
		return failed, err
	}
	if batchLedger.Head.Settled() >= b.Accepted {
		return forgotten, s.Moves.Forget(ctx, b.BatchRef)
	}
	return stopping, s.queue(ctx, s.Revokes, b, []any{campaign.RevokeTask{BatchRef: campaign.BatchRef{ID: b.ID}}})
}

func (s *Sweeper) release(ctx context.Context, b campaign.Batch) error {
	return s.queue(ctx, s.Releases, b, []any{campaign.ReleaseTask{BatchRef: b.BatchRef}})
}

// resend queues the frames that are not complete again, each as a whole: send skips
// what has an outcome. Where the queue has a backlog it holds the batch.
func (r *round) resend(ctx context.Context, b campaign.Batch) (action, error) {
	s := r.sweeper
	frames := make([]int, b.Frames())
	for f := range frames {
		frames[f] = f
	}
	batchLedger, err := s.Store.Ledger(ctx, b, frames)
	if err != nil {
		return failed, err
	}
	unsent := heldBatch{b, unsentFrames(b, batchLedger)}
	if len(unsent.frames) == 0 {
		return s.finish(ctx, b, batchLedger)
	}
	stopped, err := r.stopped(ctx, b)
	if err != nil {
		return failed, err
	}
	if stopped {
		return paused, s.check(ctx, b, s.Now().Add(pauseCheck))
	}
	ahead, err := s.Frames.Waiting(ctx)
	if err != nil {
		return failed, err
	}
	if ahead >= backlog {
		r.held = append(r.held, unsent)
		r.holding.Store(true)
		return undecided, nil
	}
	return resent, s.queueFrames(ctx, unsent)
}

// unsentFrames returns those frames that are not complete.
func unsentFrames(b campaign.Batch, batchLedger campaign.Ledger) (frames []int) {
	for f := range b.Frames() {
		if len(batchLedger.Frames[f].Outcomes) < b.FrameLen(f) {
			frames = append(frames, f)
		}
	}
	return frames
}

// finish moves on a batch of which every message has an outcome.
func (s *Sweeper) finish(ctx context.Context, b campaign.Batch, batchLedger campaign.Ledger) (action, error) {
	if batchLedger.Head.Settled() >= b.Accepted {
		return completed, s.Recorder.Complete(ctx, b)
	}
	_, err := s.Moves.FinishBatch(ctx, b.BatchRef, s.Now().Add(campaign.MessageTTL+campaign.AnswerGrace))
	return finished, err
}

// channelKey names a channel: a batch keeps the agent of its release.
type channelKey struct{ tenant, agentID string }

// stopped reports whether a switch stops the batch's sending. What may not be
// sent any more is queued all the same, to end as expired.
func (r *round) stopped(ctx context.Context, b campaign.Batch) (bool, error) {
	b, err := r.sweeper.Store.AdoptAgent(ctx, b)
	if err != nil {
		return false, err
	}
	key := channelKey{b.Tenant, b.AgentID}
	channel, ok := r.channels[key]
	if !ok {
		if channel, err = r.sweeper.Store.Channel(ctx, b.Tenant, b.AgentID); err != nil {
			return false, err
		}
		r.channels[key] = channel
	}
	return channel.Pause != "" && !b.TooLate(r.sweeper.Now()) && !b.Cancelled(), nil
}

// queue puts the tasks on the queue, and only then leaves the batch alone for a
// while: who dies in between queues them twice, and never not at all.
func (s *Sweeper) queue(ctx context.Context, q Queue, b campaign.Batch, tasks []any) error {
	bodies, err := campaign.Bodies(tasks)
	if err != nil {
		return err
	}
	if err := q.SendAll(ctx, b.Tenant, bodies); err != nil {
		return fmt.Errorf("queue tasks of batch %s: %w", b.BatchID, err)
	}
	return s.check(ctx, b, s.Now().Add(s.After))
}

// check sets when the batch is looked at next, unless somebody else has.
func (s *Sweeper) check(ctx context.Context, b campaign.Batch, next time.Time) error {
	_, err := s.Moves.MoveCheck(ctx, b, next)
	return err
}
