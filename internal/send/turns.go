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
	// window is how far away a turn may be for its message to be waited for.
	window = 8 * time.Second
	// returnEarly is how long before its turn a frame without one comes back, at
	// least: the queue counts whole seconds, and may be a second late.
	returnEarly = 2500 * time.Millisecond
	// lateness is how late a task may be and still use the turn that it holds,
	// from now on: for that long, the turns of others may come at the same time.
	lateness = 10 * time.Second
	// rateLimitTries is how many races for an agent's rate limit are run: some two seconds.
	rateLimitTries = 10
)

// takeReservations leases the parts' share of their agent's rate. Those that get none
// yet go back to the queue at once, and so does later what is too far away.
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

// begin gives the messages of a part their turns. Those that are too far away go
// back to the queue now, for to send the others takes as long.
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
		p.now, p.later = nil, nil // the task comes again as it was
	}
}

// stale reports whether a turn may not be used any more: it is long over, or its
// agent has slowed down since.
func stale(t campaign.Reservation, now time.Time, rateLimit campaign.RateLimit) bool {
	return t.Start.Before(now.Add(-lateness)) || t.Revoked(rateLimit)
}

// split gives the part's messages their turns, and puts aside those after end.
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

// errContended says that a run lost too many races for its agent's rate limit.
var errContended = errors.New("update rate limit: too many conflicts")

// claim gives each of the parts a turn, or a ticket and the time to wait.
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
		return fmt.Errorf("lease a turn of agent %s: %w", agent.ID, err)
	}
	r.rateLimit = rateLimit
	for i, p := range parts {
		p.grant, p.task.Reservation, p.task.Ticket = grants[i], grants[i].Reservation, grants[i].Ticket
	}
	return nil
}

// byTicket sorts parts by their positions, those without one last.
func byTicket(a, b *part) int {
	none := campaign.Ticket{}
	if a.task.Ticket == none || b.task.Ticket == none {
		return -cmp.Compare(a.task.Ticket.Position, b.task.Ticket.Position)
	}
	return cmp.Compare(a.task.Ticket.Position, b.task.Ticket.Position)
}

// returnAfter is when a frame that got no turn comes back. That is early, in the
// measure in which the wait may shrink: what comes late leaves a gap, and what comes
// early costs a few reads and no write.
func returnAfter(g campaign.Grant) time.Duration {
	margin, longest := g.Wait/8, maxDelay
	if g.Shrinks {
		margin, longest = g.Wait/2, maxShrinkingDelay
	}
	return min(max(g.Wait-max(margin, returnEarly), time.Second), longest)
}

// changeRateLimit makes the agent's rate limit what change makes of it, and returns that.
// Many functions change the same one: who loses the race waits for a moment that
// gets longer, and gives up with errContended.
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
