package outgoing

import (
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
)

// Reservation is a task's share of its agent's rate. Messages may be sent from Start on,
// one every Every. The zero Reservation is not leased.
type Reservation struct {
	Start    time.Time     `json:"start"`
	Every    time.Duration `json:"every"`
	SlowedAt time.Time     `json:"slowedAt,omitzero"` // copied from the rate limit at the time of the lease
}

// At returns when the i-th message may be sent, counted from 0.
func (t Reservation) At(i int) time.Time { return t.Start.Add(time.Duration(i) * t.Every) }

// end returns the end of a reservation of n messages, rounded up to milliseconds.
func (t Reservation) end(n int) time.Time {
	return t.At(n).Add(time.Millisecond - time.Nanosecond).Truncate(time.Millisecond)
}

// Revoked reports whether the rate was decreased after the lease.
func (t Reservation) Revoked(p RateLimit) bool { return t.SlowedAt.Before(p.SlowedAt) }

// RateLimit is an agent's current message rate, shared by all functions. Times are stored
// in milliseconds, durations in microseconds. The zero RateLimit means no limit.
type RateLimit struct {
	Every    time.Duration // time per message
	Next     time.Time     // when the next message may be sent
	SlowedAt time.Time     // last decrease; earlier reservations are revoked
	Lanes    Lanes         // campaigns that share the rate
}

// Bounds of the rate of an agent that the provider throttles. Above the fastest rate, an
// agent without a configured rate is unlimited again.
const (
	slowest = time.Second
	fastest = time.Millisecond
)

// slowOnce is the minimum time between two decreases. Functions need time to read the new rate.
const slowOnce = 3 * time.Second

// Paced reports whether messages of an agent with the configured rate need a reservation.
func (p RateLimit) Paced(rate int) bool { return rate > 0 || p.Every > 0 }

// Lease reserves the next n messages of an agent with the configured rate. It also returns
// the updated rate limit. A rate below the current one decreases it.
func (p RateLimit) Lease(now time.Time, n, rate int) (Reservation, RateLimit) {
	p = p.atRate(now, rate)
	reservation := Reservation{Start: campaign.Later(now, p.Next), Every: p.Every, SlowedAt: p.SlowedAt}
	p.Next = reservation.end(n)
	return reservation, p
}

// ReturnReservation returns the rest of a reservation of n messages, unless a later one was leased.
func (p RateLimit) ReturnReservation(now time.Time, t Reservation, n int) RateLimit {
	if p.Next.After(now) && p.Next.Equal(t.end(n)) {
		p.Next = now.Truncate(time.Millisecond)
	}
	return p
}

// atRate returns the rate limit, decreased to the configured rate if that is lower.
func (p RateLimit) atRate(now time.Time, rate int) RateLimit {
	every := max(p.Every, interval(rate))
	if p.Every > 0 && every > p.Every {
		return p.slowTo(now, every)
	}
	p.Every = every
	return p
}

// Decrease halves the rate after messages sent one every `every` were throttled, at most
// once per slowOnce. Messages sent faster than the current rate are ignored.
func (p RateLimit) Decrease(now time.Time, every time.Duration) RateLimit {
	slower := min(max(2*every, fastest), slowest).Truncate(time.Microsecond)
	if slower <= p.Every || now.Sub(p.SlowedAt) < slowOnce {
		return p
	}
	return p.slowTo(now, slower)
}

// slowTo revokes all reservations. The next one starts now, not after the revoked backlog.
func (p RateLimit) slowTo(now time.Time, every time.Duration) RateLimit {
	p.Every, p.Next = every, now.Truncate(time.Millisecond)
	p.SlowedAt = p.Next
	return p
}

// Increase raises the rate by about 3% per frame sent without throttling, up to the
// configured rate. Without a configured rate, it ends in the zero RateLimit.
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

// interval returns the time between two messages at a rate per second, 0 for no limit.
func interval(rate int) time.Duration {
	if rate <= 0 {
		return 0
	}
	micros := (1_000_000 + rate - 1) / rate // rounded up, so that the rate is not exceeded
	return time.Duration(micros) * time.Microsecond
}

// PauseCheck is the time until sweep checks a paused batch again. It needs no check to go on: the end of
// a pause is recorded, and sweep looks for the batches that waited for it.
const PauseCheck = time.Hour

// Route is a tenant's current agent and whether it may send.
type Route struct {
	Agent campaign.Agent
	// Pause is the switch that stops sending: "all", "tenant", "agent", or "no_agent"
	// without an agent. It is "" when sending is allowed.
	Pause     string
	Paused    []string // the campaigns of the tenant that are paused
	RateLimit RateLimit
	Hours     reach.TenantHours // of the tenant
}

// Pauses reports whether the batch must wait for the end of a pause. Expired and cancelled batches do
// not wait, so that their messages end.
func (r Route) Pauses(b campaign.Batch, now time.Time) bool {
	return r.PauseOf(b) != "" && !b.PastLastSend(now) && !b.Cancelled()
}

// PauseOf returns what pauses the batch: a Pause, "campaign", or "".
func (r Route) PauseOf(b campaign.Batch) string {
	if r.Pause == "" && slices.Contains(r.Paused, b.CampaignID) {
		return "campaign"
	}
	return r.Pause
}

// WaitUntil returns when a paused batch is checked next: when its time ends, or after PauseCheck.
func WaitUntil(b campaign.Batch, now time.Time) time.Time {
	return b.CheckBy(now.Add(PauseCheck))
}
