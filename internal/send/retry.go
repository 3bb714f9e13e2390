package send

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

const (
	// maxAttempts is the number of attempts before the task is left to sweep, which retries without limit.
	maxAttempts = 8
	maxDelay    = 15 * time.Minute // maximum delay of SQS
	// maxShrinkingDelay replaces maxDelay for a wait that may become much shorter.
	maxShrinkingDelay = 5 * time.Minute
	// receiveEarly is how long before its reservation a task is received. SQS delays are in whole
	// seconds; the run waits for the rest.
	receiveEarly = 2 * time.Second
)

// attempts is the backoff of a task's attempts.
var attempts = retry.Backoff{First: 2 * time.Second, Max: maxDelay}

func (s *Sender) requeue(ctx context.Context, r *run) {
	r.setAside()
	for _, f := range r.frameRuns {
		if t, delay, ok := f.retryTask(r.stopped, s.Jitter()); ok {
			f.put(ctx, s.Queue, t, delay)
		}
	}
	s.postponeCheck(ctx, r)
}

// putBack requeues the unchanged tasks of a run without reservations, with a delay of
// seconds. A failed task would be invisible for minutes.
func (s *Sender) putBack(ctx context.Context, r *run) {
	slog.InfoContext(ctx, "rate limit update conflicts; frames requeued", "agent_id", r.route.Agent.ID,
		"batch_id", r.batch.BatchID, "frames", len(r.frameRuns))
	for _, f := range r.frameRuns {
		if f.err == nil {
			f.put(ctx, s.Queue, f.task, retryDelay(2, 0, s.Jitter()))
		}
	}
}

func (f *frameRun) put(ctx context.Context, q port.Queue, t outgoing.SendTask, delay time.Duration) {
	if err := port.Send(ctx, q, t.Tenant, t, delay); err != nil {
		f.err = fmt.Errorf("requeue frame %d of batch %s: %w", t.Frame, t.BatchID, err)
	}
}

// retryTask returns a task for the frame's unsent messages and its delay. random is in [0,
// 1). The result is false if no message is left, or after maxAttempts. A failed send counts
// as an attempt; the end of ctx does not.
func (f *frameRun) retryTask(stopped bool, random float64) (outgoing.SendTask, time.Duration, bool) {
	var open []*job
	var asked time.Duration
	failed := stopped
	for _, j := range f.current {
		if !j.hasOutcome() {
			open = append(open, j)
			asked = max(asked, j.retryAfter)
			failed = failed || j.code != ""
		}
	}
	t := f.taskOf(open)
	if !failed {
		return t, 0, len(open) > 0
	}
	t.Attempt++
	return t, retryDelay(t.Attempt, asked, random), len(open) > 0 && t.Attempt < maxAttempts
}

// postponedTask returns a task for the messages whose reservation is too late for this run, and its delay.
func (f *frameRun) postponedTask(now time.Time) (outgoing.SendTask, time.Duration) {
	t := f.taskOf(f.postponed)
	t.Reservation = f.task.Reservation
	t.Reservation.Start = f.postponed[0].at
	return t, min(max(t.Reservation.Start.Sub(now)-receiveEarly, 0), maxDelay)
}

func (f *frameRun) taskOf(jobs []*job) outgoing.SendTask {
	t := outgoing.SendTask{
		BatchRef: f.task.BatchRef, Frame: f.task.Frame, Released: f.task.Released, Attempt: f.task.Attempt, Ticket: f.task.Ticket,
	}
	for _, j := range jobs {
		t.Only = append(t.Only, j.index%campaign.FrameSize)
	}
	return t
}

// retryDelay returns the delay before an attempt, counted from 1. It doubles, has up to 50%
// jitter, and is at least the provider's Retry-After.
func retryDelay(attempt int, asked time.Duration, random float64) time.Duration {
	limit := attempts.Delay(attempt - 1)
	delay := limit/2 + retry.Jitter(limit/2, random)
	return min(max(delay, asked), maxDelay)
}

// postponeCheck sets the sweep check of a batch that waits for its agent's rate or for the opening of a send window.
// It writes rarely: it postpones the check by more than necessary, and a zone starts to wait once for each closing.
func (s *Sender) postponeCheck(ctx context.Context, r *run) {
	if err := s.markWaits(ctx, r); err != nil {
		slog.WarnContext(ctx, "postponing the check failed; frames may be requeued", "batch_id", r.batch.BatchID, "error", err)
	}
}

// markWaits repeats tryPostpone while the row, which has changed since it was read, lacks a zone whose messages wait:
// nothing else has them sent.
func (s *Sender) markWaits(ctx context.Context, r *run) error {
	for try := range maxMarks {
		changed, err := s.tryPostpone(ctx, r)
		if err != nil || changed || !r.beginsToWait() {
			return err
		}
		if err := retry.Wait(ctx, try+1); err != nil {
			return err //nolint:wrapcheck // the function has ended
		}
		if err := s.readWaits(ctx, r); err != nil || !r.beginsToWait() {
			return err
		}
	}
	return campaign.ErrLostRace
}

// tryPostpone sets the check if the row is unchanged since it was read, and reports whether the row is as it should be.
func (s *Sender) tryPostpone(ctx context.Context, r *run) (changed bool, err error) {
	b := r.batch
	next := b.NextCheck
	if until := r.until(); !until.IsZero() && next.Before(until.Add(s.SweepAfter/2)) {
		next = until.Add(s.SweepAfter)
	}
	if closed := b.Waits.Zones | r.closedZones(); closed != 0 {
		var opens time.Time
		b, opens = r.rules.Hours.Postpone(b, closed, s.Now())
		next = earlier(next, opens)
	}
	if b.Waits.Paused { // frames without a task end in time; only sweep, which queues them, clears the mark
		next = b.CheckBy(next)
	}
	if next.Equal(r.batch.NextCheck) && b.Waits == r.batch.Waits && b.NeverOpen == r.batch.NeverOpen {
		return true, nil
	}
	if changed, err = s.Store.PostponeCheck(ctx, b, next); changed {
		r.batch.NextCheck, r.batch.Waits, r.batch.NeverOpen = next, b.Waits, b.NeverOpen
	}
	return changed, err
}

// beginsToWait reports whether messages of a zone wait without a mark in the row, as it was read. Those of a cancelled
// batch do not wait.
func (r *run) beginsToWait() bool {
	return r.closedZones()&^r.batch.Waits.Zones != 0 && !r.batch.Cancelled()
}

// readWaits reads again what the batch waits for.
func (s *Sender) readWaits(ctx context.Context, r *run) error {
	b, err := s.Store.Batch(ctx, r.batch.BatchRef)
	if err == nil {
		r.batch.NextCheck, r.batch.Waits, r.batch.NeverOpen, r.batch.CancelledAt = b.NextCheck, b.Waits, b.NeverOpen, b.CancelledAt
	}
	return err
}

// until returns the estimated send time of the last postponed message.
func (r *run) until() (last time.Time) {
	for _, f := range r.frameRuns {
		last = campaign.Later(last, f.until)
	}
	return last
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// adjustRate decreases the agent's rate after too many throttled messages, and increases it
// after frames without any. Its own errors are only logged.
func (s *Sender) adjustRate(ctx context.Context, r *run) {
	change := s.adaptation(r)
	if change(r.rateLimit) == r.rateLimit {
		return
	}
	changed := false
	_, err := s.changeRateLimit(ctx, r.route.Agent.ID, func(old outgoing.RateLimit) outgoing.RateLimit {
		rateLimit := change(old)
		changed = rateLimit != old
		return rateLimit
	})
	if err != nil {
		slog.WarnContext(ctx, "updating rate limit failed", "agent_id", r.route.Agent.ID, "error", err)
		return
	}
	if changed {
		s.routes.Drop(routeKey{r.batch.Tenant, r.batch.AgentID})
	}
}

// adaptation returns the change of the rate limit that follows from the run's responses.
// For an unlimited agent, it estimates the rate from the run, with at least Concurrency
// messages: the duration of a few messages says little about the rate.
func (s *Sender) adaptation(r *run) func(outgoing.RateLimit) outgoing.RateLimit {
	now, answers := s.Now(), int(r.answered.Load())
	if r.tooFast() {
		every := r.every
		if every == 0 {
			every = now.Sub(r.started) / time.Duration(max(answers, s.Concurrency))
		}
		return func(p outgoing.RateLimit) outgoing.RateLimit {
			return r.returnReservations(p.Decrease(now, every), now)
		}
	}
	if r.throttled.Load() > 0 {
		return func(p outgoing.RateLimit) outgoing.RateLimit { return p }
	}
	frames := (answers + campaign.FrameSize - 1) / campaign.FrameSize
	return func(p outgoing.RateLimit) outgoing.RateLimit { return p.Increase(frames, r.route.Agent.Rate) }
}

// returnReservations returns the unused reservations of a stopped run. Otherwise, nothing would be sent until they end.
func (r *run) returnReservations(rateLimit outgoing.RateLimit, now time.Time) outgoing.RateLimit {
	if !r.stopped {
		return rateLimit
	}
	for _, f := range r.frameRuns {
		if len(f.postponed) == 0 {
			rateLimit = rateLimit.ReturnReservation(now, f.task.Reservation, len(f.current))
		}
	}
	return rateLimit
}
