package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

const (
	maxRunWait = 8 * time.Second // maximum time that a run waits for a message's send time
	// returnEarly is the minimum time between the return of a waiting frame and its estimated
	// reservation. SQS delays are in whole seconds and can be a second late.
	returnEarly = 2500 * time.Millisecond
	// maxReservationDelay is the maximum delay of a task that can still use its reservation.
	// Within it, the reservations of other tasks can overlap.
	maxReservationDelay = 10 * time.Second
	// rateLimitTries is the maximum number of attempts to update a rate limit, about two seconds in total.
	rateLimitTries = 10
)

// takeReservations leases the frames' share of their agent's rate. Frames without a
// reservation are requeued at once. Messages with a late reservation are requeued too.
func (s *Sender) takeReservations(ctx context.Context, r *run) error {
	if !r.route.RateLimit.Paced(r.route.Agent.Rate) {
		return nil
	}
	now := s.Now()
	var claiming []*frameRun
	for _, f := range r.frameRuns {
		if stale(f.task.Reservation, now, r.route.RateLimit) {
			f.task.Reservation = outgoing.Reservation{}
			if len(f.current) > 0 {
				claiming = append(claiming, f)
			}
		}
	}
	if err := s.claim(ctx, r, claiming); err != nil {
		return err
	}
	for _, f := range r.frameRuns {
		switch {
		case f.grant.Wait > 0:
			f.current, f.postponed = nil, f.current
			f.until = now.Add(f.grant.Wait + time.Duration(len(f.postponed))*r.rateLimit.Every)
			f.put(ctx, s.Queue, f.taskOf(f.postponed), r.untilClosing(returnAfter(f.grant), now))
		case len(f.current) > 0:
			s.assignSendTimes(ctx, r, f, now)
		}
	}
	return nil
}

// untilClosing returns the delay of a frame without a reservation: it returns when a send window closes, because the
// frames before it may leave the queue.
func (r *run) untilClosing(delay time.Duration, now time.Time) time.Duration {
	if r.closes.IsZero() {
		return delay
	}
	return min(delay, max(r.closes.Sub(now)+time.Second, time.Second))
}

// assignSendTimes assigns send times to the messages of a frame. Late messages are requeued now, not
// after the others are sent.
func (s *Sender) assignSendTimes(ctx context.Context, r *run, f *frameRun, now time.Time) {
	f.task.Reservation.Start = campaign.Later(f.task.Reservation.Start, now)
	if r.every == 0 || f.task.Reservation.Every < r.every {
		r.every = f.task.Reservation.Every
	}
	f.split(now.Add(maxRunWait))
	if len(f.postponed) == 0 {
		return
	}
	f.until = f.postponed[len(f.postponed)-1].at
	t, delay := f.postponedTask(now)
	if f.put(ctx, s.Queue, t, delay); f.err != nil {
		f.current, f.postponed = nil, nil // the task is received again unchanged
	}
}

// stale reports whether a reservation is unusable: it is long over, or revoked by a rate decrease.
func stale(t outgoing.Reservation, now time.Time, rateLimit outgoing.RateLimit) bool {
	return t.Start.Before(now.Add(-maxReservationDelay)) || t.Revoked(rateLimit)
}

// split assigns send times and moves messages after end to postponed.
func (f *frameRun) split(end time.Time) {
	jobs := f.current
	f.current = nil
	for i, j := range jobs {
		if j.at = f.task.Reservation.At(i); j.at.After(end) {
			f.postponed = append(f.postponed, j)
		} else {
			f.current = append(f.current, j)
		}
	}
}

// errContended reports too many concurrent updates of a rate limit.
var errContended = errors.New("update rate limit: too many conflicts")

// claim gives each frame a reservation, or a ticket and an estimated wait.
func (s *Sender) claim(ctx context.Context, r *run, frames []*frameRun) error {
	if len(frames) == 0 {
		return nil
	}
	slices.SortStableFunc(frames, byTicket)
	agent := r.route.Agent
	r.closes = r.rules.Hours.NextClosing(r.batch, s.Now())
	grants := make([]outgoing.Grant, len(frames))
	rateLimit, err := s.changeRateLimit(ctx, agent.ID, func(rateLimit outgoing.RateLimit) outgoing.RateLimit {
		for i, f := range frames {
			if !rateLimit.Paced(agent.Rate) {
				grants[i] = outgoing.Grant{Reservation: outgoing.Reservation{Start: s.Now()}}
				continue
			}
			claim := outgoing.Claim{ID: r.batch.ID, Ticket: f.task.Ticket, Messages: len(f.current), Until: r.closes}
			grants[i], rateLimit = rateLimit.Claim(s.Now(), claim, agent.Rate)
		}
		return rateLimit
	})
	if err != nil {
		return fmt.Errorf("lease rate of agent %s: %w", agent.ID, err)
	}
	r.rateLimit = rateLimit
	for i, f := range frames {
		f.grant, f.task.Reservation, f.task.Ticket = grants[i], grants[i].Reservation, grants[i].Ticket
	}
	return nil
}

// byTicket sorts frames by ticket position, frames without a ticket last.
func byTicket(a, b *frameRun) int {
	none := outgoing.Ticket{}
	if a.task.Ticket == none || b.task.Ticket == none {
		return -cmp.Compare(a.task.Ticket.Position, b.task.Ticket.Position)
	}
	return cmp.Compare(a.task.Ticket.Position, b.task.Ticket.Position)
}

// returnAfter returns the delay of a frame without a reservation: the wait less a margin,
// which is larger if the wait can shrink. A late frame leaves a gap, an early one costs reads.
func returnAfter(g outgoing.Grant) time.Duration {
	margin, longest := g.Wait/8, maxDelay
	if g.Shrinks {
		margin, longest = g.Wait/2, maxShrinkingDelay
	}
	return min(max(g.Wait-max(margin, returnEarly), time.Second), longest)
}

// changeRateLimit applies change to the agent's rate limit and returns the result.
// Conflicts with other functions are retried with backoff. After rateLimitTries it returns
// errContended.
func (s *Sender) changeRateLimit(
	ctx context.Context, agentID string, change func(outgoing.RateLimit) outgoing.RateLimit,
) (outgoing.RateLimit, error) {
	for try := range rateLimitTries {
		if err := retry.Wait(ctx, try); err != nil {
			return outgoing.RateLimit{}, err
		}
		old, err := s.Store.RateLimit(ctx, agentID)
		if err != nil {
			return outgoing.RateLimit{}, err
		}
		rateLimit := change(old)
		if rateLimit == old {
			return rateLimit, nil
		}
		swapped, err := s.Store.SwapRateLimit(ctx, agentID, old, rateLimit)
		if err != nil {
			return outgoing.RateLimit{}, err
		}
		if swapped {
			return rateLimit, nil
		}
	}
	return outgoing.RateLimit{}, errContended
}
