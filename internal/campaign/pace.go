package campaign

import "time"

// Turn is a task's share of its agent's rate: its messages may go from Start
// on, one Every so often. The zero Turn was not leased yet.
type Turn struct {
	Start time.Time     `json:"start"`
	Every time.Duration `json:"every"`
	// SlowedAt is that of the pace which the turn was leased from.
	SlowedAt time.Time `json:"slowedAt,omitzero"`
}

// At returns when the turn's i-th message may go, counted from 0.
func (t Turn) At(i int) time.Time { return t.Start.Add(time.Duration(i) * t.Every) }

// end returns when the turn of n messages is over, in whole milliseconds.
func (t Turn) end(n int) time.Time {
	return t.At(n).Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond)
}

// Void tells whether the pace slowed down after the turn was leased.
func (t Turn) Void(p Pace) bool { return t.SlowedAt.Before(p.SlowedAt) }

// Pace is the rate of an agent's messages, which all functions share. It keeps
// milliseconds and microseconds, no less. The zero Pace sets no limit.
type Pace struct {
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

// Paced tells whether messages of an agent with the given rate must wait for
// their turn.
func (p Pace) Paced(rate int) bool { return rate > 0 || p.Every > 0 }

// Lease takes the turn of the next n messages of an agent whose own rate is the
// given one, and returns the pace that is left to the others. A rate below the
// pace's slows it down.
func (p Pace) Lease(now time.Time, n, rate int) (Turn, Pace) {
	p = p.atRate(now, rate)
	turn := Turn{Start: now, Every: p.Every, SlowedAt: p.SlowedAt}
	if p.Next.After(now) {
		turn.Start = p.Next
	}
	p.Next = turn.end(n)
	return turn, p
}

// Release frees what is left of the turn of n messages, where no later turn was
// leased.
func (p Pace) Release(now time.Time, t Turn, n int) Pace {
	if p.Next.After(now) && p.Next.Equal(t.end(n)) {
		p.Next = now.Truncate(time.Millisecond)
	}
	return p
}

// atRate is the pace under the agent's own rate, which slows it down if it is the
// lower one.
func (p Pace) atRate(now time.Time, rate int) Pace {
	every := max(p.Every, interval(rate))
	if p.Every > 0 && every > p.Every {
		return p.slowTo(now, every)
	}
	p.Every = every
	return p
}

// Slow halves the rate because messages were throttled that went at one every so
// often, once in three seconds at most. What went faster than the pace is by now says
// nothing against it.
func (p Pace) Slow(now time.Time, every time.Duration) Pace {
	slower := min(max(2*every, fastest), slowest).Truncate(time.Microsecond)
	if slower <= p.Every || now.Sub(p.SlowedAt) < slowOnce {
		return p
	}
	return p.slowTo(now, slower)
}

// slowTo voids all turns that were leased, so that the next one begins now:
// behind them it would begin after a silence as long as the backlog.
func (p Pace) slowTo(now time.Time, every time.Duration) Pace {
	p.Every, p.Next = every, now.Truncate(time.Millisecond)
	p.SlowedAt = p.Next
	return p
}

// Ease raises the rate by some three per cent for each frame that went without
// a throttled message, up to the agent's own rate; the pace of an agent without
// one ends in the zero Pace.
func (p Pace) Ease(frames, rate int) Pace {
	if p.Every == 0 {
		return p
	}
	for range frames {
		p.Every = (p.Every * 100 / 103).Truncate(time.Microsecond)
	}
	if rate == 0 && p.Every < fastest {
		return Pace{}
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
	Pause string
	Pace  Pace
}
