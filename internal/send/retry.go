package send

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"campaign-dispatch/internal/campaign"
)

const (
	// maxAttempts is how often what the provider did not take is tried before it
	// is left to sweep, which tries again as long as it takes.
	maxAttempts = 8
	// firstDelay doubles with each attempt, up to maxDelay, the longest time for
	// which the queue holds a task back.
	firstDelay = 2 * time.Second
	maxDelay   = 15 * time.Minute
	// maxShrinkingDelay is maxDelay for a wait that may get much shorter.
	maxShrinkingDelay = 5 * time.Minute
	// early is how long before its turn a task comes back: the queue counts
	// whole seconds, and the turn is then waited for.
	early = 2 * time.Second
)

// requeue puts what the run left unsent back on the queue.
func (s *Sender) requeue(ctx context.Context, r *run) {
	var last time.Time
	for _, p := range r.parts {
		if t, delay, ok := p.rest(r.stopped, rand.Float64()); ok { //nolint:gosec // spreads load, guards nothing
			p.put(ctx, s.Queue, t, delay)
		}
		if p.until.After(last) {
			last = p.until
		}
	}
	s.expect(ctx, r.batch, last)
}

// putBack puts the tasks of a run that got no turns back on the queue as they
// are, for a few seconds later: as failed ones the queue would hide them for
// minutes.
func (s *Sender) putBack(ctx context.Context, r *run) {
	slog.InfoContext(ctx, "the agent's pace is contended, frames are put back", "agent_id", r.channel.Agent.ID,
		"batch_id", r.batch.BatchID, "frames", len(r.parts))
	for _, p := range r.parts {
		if p.err == nil {
			p.put(ctx, s.Queue, p.task, retryDelay(2, 0, rand.Float64())) //nolint:gosec // spreads load, guards nothing
		}
	}
}

func (p *part) put(ctx context.Context, q Queue, t campaign.SendTask, delay time.Duration) {
	body, err := json.Marshal(t)
	if err == nil {
		err = q.Send(ctx, t.Tenant, body, delay)
	}
	if err != nil {
		p.err = fmt.Errorf("put the rest of frame %d of batch %s back: %w", t.Frame, t.BatchID, err)
	}
}

// rest is the task of those messages that were to go in this run and have no
// outcome, and the time until their next attempt; random is from 0 up to 1. It
// is false where there are none, or after too many attempts. An attempt that
// failed counts, the end of the time for the run does not.
func (p *part) rest(stopped bool, random float64) (campaign.SendTask, time.Duration, bool) {
	var open []*job
	var asked time.Duration
	failed := stopped
	for _, j := range p.now {
		if !j.settled() {
			open = append(open, j)
			asked = max(asked, j.retryAfter)
			failed = failed || j.code != ""
		}
	}
	t := p.taskOf(open)
	if !failed {
		return t, 0, len(open) > 0
	}
	t.Attempt++
	return t, retryDelay(t.Attempt, asked, random), len(open) > 0 && t.Attempt < maxAttempts
}

// turned is the task of those messages that hold a turn which is too far away
// for this run, and the time until it should come back.
func (p *part) turned(now time.Time) (campaign.SendTask, time.Duration) {
	t := p.taskOf(p.later)
	t.Reservation = p.task.Reservation
	t.Reservation.Start = p.later[0].at
	return t, min(max(t.Reservation.Start.Sub(now)-early, 0), maxDelay)
}

func (p *part) taskOf(jobs []*job) campaign.SendTask {
	t := campaign.SendTask{BatchRef: p.task.BatchRef, Frame: p.task.Frame, Attempt: p.task.Attempt, Ticket: p.task.Ticket}
	for _, j := range jobs {
		t.Only = append(t.Only, j.index%campaign.FrameSize)
	}
	return t
}

// retryDelay is the time until the attempt, from 1: it doubles, at least half
// of it is certain, and it is no shorter than what the provider asked for.
func retryDelay(attempt int, asked time.Duration, random float64) time.Duration {
	limit := min(firstDelay<<min(attempt-1, 10), maxDelay)
	delay := limit/2 + time.Duration(random*float64(limit/2))
	return min(max(delay, asked), maxDelay)
}

// expect keeps sweep from taking a batch for stuck that waits for its agent's
// rate until the given time, if any. It writes seldom: each time puts sweep off
// by far more than it has to.
func (s *Sender) expect(ctx context.Context, b campaign.Batch, until time.Time) {
	if until.IsZero() || !b.NextCheck.Before(until.Add(s.SweepAfter/2)) {
		return
	}
	if _, err := s.Batches.MoveCheck(ctx, b, until.Add(s.SweepAfter)); err != nil {
		slog.WarnContext(ctx, "sweep could not be put off, it will queue frames again", "batch_id", b.BatchID, "error", err)
	}
}

// adapt slows the agent down after too many throttled messages, and lets it get
// faster after frames without any. It is no failure of sending if it cannot.
func (s *Sender) adapt(ctx context.Context, r *run) {
	change := s.adaptation(r)
	if change(r.rateLimit) == r.rateLimit {
		return
	}
	changed := false
	_, err := s.changeRateLimit(ctx, r.channel.Agent.ID, func(old campaign.RateLimit) campaign.RateLimit {
		rateLimit := change(old)
		changed = rateLimit != old
		return rateLimit
	})
	if err != nil {
		slog.WarnContext(ctx, "the pace could not be adapted", "agent_id", r.channel.Agent.ID, "error", err)
		return
	}
	if changed {
		s.channels.Drop(channelKey{r.batch.Tenant, r.batch.AgentID})
	}
}

// adaptation is what the run's answers make of a rate limit. An agent that had none
// was as fast as this run, which would have sent more at once if there had been
// more: the time that a few messages took says little about their rate.
func (s *Sender) adaptation(r *run) func(campaign.RateLimit) campaign.RateLimit {
	now, answers := s.Now(), int(r.answered.Load())
	if r.tooFast() {
		every := r.every
		if every == 0 {
			every = now.Sub(r.started) / time.Duration(max(answers, s.Concurrency))
		}
		return func(p campaign.RateLimit) campaign.RateLimit { return r.release(p.Decrease(now, every), now) }
	}
	if r.throttled.Load() > 0 {
		return func(p campaign.RateLimit) campaign.RateLimit { return p }
	}
	frames := (answers + campaign.FrameSize - 1) / campaign.FrameSize
	return func(p campaign.RateLimit) campaign.RateLimit { return p.Increase(frames, r.channel.Agent.Rate) }
}

// release frees the turns that the run does not use since it was stopped. Otherwise
// no message would go until they are over.
func (r *run) release(rateLimit campaign.RateLimit, now time.Time) campaign.RateLimit {
	if !r.stopped {
		return rateLimit
	}
	for _, p := range r.parts {
		if len(p.later) == 0 {
			rateLimit = rateLimit.Release(now, p.task.Reservation, len(p.now))
		}
	}
	return rateLimit
}
