package campaign

import "time"

// Reservation is a task's share of its agent's rate: its messages may go from Start
// on, one Every so often. The zero Turn was not leased yet.
type Reservation struct {
	Start time.Time     `json:"start"`
	Every time.Duration `json:"every"`
	// SlowedAt is that of the rate limit which the turn was leased from.
	SlowedAt time.Time `json:"slowedAt,omitzero"`
}

// At returns when the turn's i-th message may go, counted from 0.
func (t Reservation) At(i int) time.Time { return t.Start.Add(time.Duration(i) * t.Every) }

// end returns when the turn of n messages is over, in whole milliseconds.
func (t Reservation) end(n int) time.Time {
	return t.At(n).Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond)
}

// Revoked reports whether the rate limit slowed down after the turn was leased.
func (t Reservation) Revoked(p RateLimit) bool { return t.SlowedAt.Before(p.SlowedAt) }

// RateLimit is the rate of an agent's messages, which all functions share. It keeps
// milliseconds and microseconds, no less. The zero Pace sets no limit.
type RateLimit struct {
	Every    time.Duration // from one message to the next
	Next     time.Time     // when the next message may go
	SlowedAt time.Time     // when it last slowed down: the turns leased before are void
	Lanes    Lanes         // the campaigns that share it
}

// The rate of an agent that the provider throttles stays within these bounds.
// An agent without a rate of its own is unlimited again beyond the fastest.
const (
	slowest = time.Second
	fastest = time.Millisecond
)

// slowOnce is how long a lower rate is given to show its effect: before that,
// not all functions have heard of it.
const slowOnce = 3 * time.Second

// Paced reports whether messages of an agent with the given rate must wait for
// their turn.
func (p RateLimit) Paced(rate int) bool { return rate > 0 || p.Every > 0 }

// Lease takes the turn of the next n messages of an agent whose own rate is the
// given one, and returns the rate limit that is left to the others. A rate below the
// pace's slows it down.
func (p RateLimit) Lease(now time.Time, n, rate int) (Reservation, RateLimit) {
	p = p.atRate(now, rate)
	reservation := Reservation{Start: now, Every: p.Every, SlowedAt: p.SlowedAt}
	if p.Next.After(now) {
		reservation.Start = p.Next
	}
	p.Next = reservation.end(n)
	return reservation, p
}

// Release frees what is left of the turn of n messages, where no later turn was
// leased.
func (p RateLimit) Release(now time.Time, t Reservation, n int) RateLimit {
	if p.Next.After(now) && p.Next.Equal(t.end(n)) {
		p.Next = now.Truncate(time.Millisecond)
	}
	return p
}

// atRate is the rate limit under the agent's own rate, which slows it down if it is the
// lower one.
func (p RateLimit) atRate(now time.Time, rate int) RateLimit {
	every := max(p.Every, interval(rate))
	if p.Every > 0 && every > p.Every {
		return p.slowTo(now, every)
	}
	p.Every = every
	return p
}

// Decrease halves the rate because messages were throttled that went at one every so
// often, once in three seconds at most. What went faster than the rate limit is by now says
// nothing against it.
func (p RateLimit) Decrease(now time.Time, every time.Duration) RateLimit {
	slower := min(max(2*every, fastest), slowest).Truncate(time.Microsecond)
	if slower <= p.Every || now.Sub(p.SlowedAt) < slowOnce {
		return p
	}
	return p.slowTo(now, slower)
}

// slowTo voids all turns that were leased, so that the next one begins now:
// behind them it would begin after a silence as long as the backlog.
func (p RateLimit) slowTo(now time.Time, every time.Duration) RateLimit {
	p.Every, p.Next = every, now.Truncate(time.Millisecond)
	p.SlowedAt = p.Next
	return p
}

// Increase raises the rate by some three per cent for each frame that went without
// a throttled message, up to the agent's own rate; the rate limit of an agent without
// one ends in the zero Pace.
func (p RateLimit) Increase(frames, rate int) RateLimit {
	if p.Every == 0 {
		return p
	}
	for range frames {
		p.Every = (p.Every * 100 / 103).Truncate(time.Microsecond)
	}
	if rate == 0 && p.Every < fastest {
		return RateLimit{}
	}
	p.Every = max(p.Every, interval(rate))
	return p
}

// interval is the time between two messages at a rate a second, 0 for no limit.
func interval(rate int) time.Duration {
	if rate <= 0 {
		return 0
	}
	micros := (1_000_000 + rate - 1) / rate // rounded up, lest the rate be exceeded
	return time.Duration(micros) * time.Microsecond
}

// Channel is how a tenant's messages reach the provider by one agent at present.
type Channel struct {
	Agent Agent
	// Pause names the switch that stops sending, "" where none does: "all",
	// "tenant", "agent", or "no_agent" where there is no agent.
	Pause     string
	RateLimit RateLimit
}
