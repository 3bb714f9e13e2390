package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/retry"
)

const (
	// window is the maximum time that a run waits for a message's send time.
	window = 8 * time.Second
	// returnEarly is how long before its estimated reservation a waiting frame is received,
	// at least. SQS delays are in whole seconds and can be a second late.
	returnEarly = 2500 * time.Millisecond
	// lateness is the maximum delay of a task that can still use its reservation. Within
	// it, the reservations of other tasks can overlap.
	lateness = 10 * time.Second
	// rateLimitTries is the maximum number of attempts to update a rate limit, about two
	// seconds in total.
	rateLimitTries = 10
)

// takeReservations leases the parts' share of their agent's rate. Parts without a
// reservation are requeued at once. Messages with a late reservation are requeued too.
func (s *Sender) takeReservations(ctx context.Context, r *run) error {
	if !r.channel.RateLimit.Paced(r.channel.Agent.Rate) {
		return nil
	}
	now := s.Now()
	var claiming []*part
	for _, p := range r.parts {
		if stale(p.task.Reservation, now, r.channel.RateLimit) {
			p.task.Reservation = campaign.Reservation{}
			if len(p.now) > 0 {
				claiming = append(claiming, p)
			}
		}
	}
	if err := s.claim(ctx, r, claiming); err != nil {
		return err
	}
	for _, p := range r.parts {
		switch {
		case p.grant.Wait > 0:
			p.now, p.later = nil, p.now
			p.until = now.Add(p.grant.Wait + time.Duration(len(p.later))*r.rateLimit.Every)
			p.put(ctx, s.Queue, p.taskOf(p.later), returnAfter(p.grant))
		case len(p.now) > 0:
			s.begin(ctx, r, p, now)
		}
	}
	return nil
}

// begin assigns send times to the messages of a part. Late messages are requeued now, not
// after the others are sent.
func (s *Sender) begin(ctx context.Context, r *run, p *part, now time.Time) {
	if p.task.Reservation.Start.Before(now) {
		p.task.Reservation.Start = now
	}
	if r.every == 0 || p.task.Reservation.Every < r.every {
		r.every = p.task.Reservation.Every
	}
	p.split(now.Add(window))
	if len(p.later) == 0 {
		return
	}
	p.until = p.later[len(p.later)-1].at
	t, delay := p.turned(now)
	if p.put(ctx, s.Queue, t, delay); p.err != nil {
		p.now, p.later = nil, nil // the task is received again unchanged
	}
}

// stale reports whether a reservation is unusable: it is long over, or revoked by a rate
// decrease.
func stale(t campaign.Reservation, now time.Time, rateLimit campaign.RateLimit) bool {
	return t.Start.Before(now.Add(-lateness)) || t.Revoked(rateLimit)
}

// split assigns send times and moves messages after end to later.
func (p *part) split(end time.Time) {
	jobs := p.now
	p.now = nil
	for i, j := range jobs {
		if j.at = p.task.Reservation.At(i); j.at.After(end) {
			p.later = append(p.later, j)
		} else {
			p.now = append(p.now, j)
		}
	}
}

// errContended reports too many concurrent updates of a rate limit.
var errContended = errors.New("update rate limit: too many conflicts")

// claim gives each part a reservation, or a ticket and an estimated wait.
func (s *Sender) claim(ctx context.Context, r *run, parts []*part) error {
	if len(parts) == 0 {
		return nil
	}
	slices.SortStableFunc(parts, byTicket)
	agent := r.channel.Agent
	grants := make([]campaign.Grant, len(parts))
	rateLimit, err := s.changeRateLimit(ctx, agent.ID, func(rateLimit campaign.RateLimit) campaign.RateLimit {
		for i, p := range parts {
			if !rateLimit.Paced(agent.Rate) {
				grants[i] = campaign.Grant{Reservation: campaign.Reservation{Start: s.Now()}}
				continue
			}
			grants[i], rateLimit = rateLimit.Claim(s.Now(), campaign.Claim{ID: r.batch.ID, Ticket: p.task.Ticket, Messages: len(p.now)}, agent.Rate)
		}
		return rateLimit
	})
	if err != nil {
		return fmt.Errorf("lease rate of agent %s: %w", agent.ID, err)
	}
	r.rateLimit = rateLimit
	for i, p := range parts {
		p.grant, p.task.Reservation, p.task.Ticket = grants[i], grants[i].Reservation, grants[i].Ticket
	}
	return nil
}

// byTicket sorts parts by ticket position, parts without a ticket last.
func byTicket(a, b *part) int {
	none := campaign.Ticket{}
	if a.task.Ticket == none || b.task.Ticket == none {
		return -cmp.Compare(a.task.Ticket.Position, b.task.Ticket.Position)
	}
	return cmp.Compare(a.task.Ticket.Position, b.task.Ticket.Position)
}

// returnAfter returns the delay of a frame without a reservation. It is shorter than the
// wait, all the more if the wait can shrink: a late frame leaves a gap, an early one costs
// only a few reads.
func returnAfter(g campaign.Grant) time.Duration {
	margin, longest := g.Wait/8, maxDelay
	if g.Shrinks {
		margin, longest = g.Wait/2, maxShrinkingDelay
	}
	return min(max(g.Wait-max(margin, returnEarly), time.Second), longest)
}

// changeRateLimit applies change to the agent's rate limit and returns the result.
// Conflicts with other functions are retried with backoff. After rateLimitTries it returns
// errContended.
func (s *Sender) changeRateLimit(ctx context.Context, agentID string, change func(campaign.RateLimit) campaign.RateLimit) (campaign.RateLimit, error) {
	for try := range rateLimitTries {
		if err := retry.Wait(ctx, try); err != nil {
			return campaign.RateLimit{}, err
		}
		old, err := s.RateLimits.RateLimit(ctx, agentID)
		if err != nil {
			return campaign.RateLimit{}, err
		}
		rateLimit := change(old)
		if rateLimit == old {
			return rateLimit, nil
		}
		swapped, err := s.RateLimits.SwapRateLimit(ctx, agentID, old, rateLimit)
		if err != nil {
			return campaign.RateLimit{}, err
		}
		if swapped {
			return rateLimit, nil
		}
	}
	return campaign.RateLimit{}, errContended
}
