package reach

import (
	"context"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/phone/e164"
)

// Times are when the unsent messages of a campaign go.
type Times struct {
	// Waiting are those of WaitingOf, and the messages of batches that are not released if they go later than they are due.
	Waiting  []Waiting
	Holidays []window.Holiday // that keep them from being sent, by date
}

// Timed returns a campaign whose batches have Goes and Never, and what its messages wait for. It reads nothing if no hours
// apply to the campaign, and otherwise as much as WaitingOf.
func Timed(ctx context.Context, store Store, c campaign.Campaign, now time.Time) (campaign.Campaign, Times, error) {
	if !c.CancelledAt.IsZero() { // what is left is being stopped
		return c, Times{}, nil
	}
	o, paused, shared := newOpenings(store, c.Tenant), c.Paused(), true
	for i, b := range c.Batches {
		messages, due := unsentIn(b, now)
		waits, err := o.waits(ctx, b.Batch, messages, due)
		if err != nil {
			return c, Times{}, err
		}
		b.Goes = firstOf(waits)
		if !o.addPaused(b, paused) {
			b.Never = neverOf(b, waits)
			o.add(later(waits, b, due)...)
		}
		if b.Goes.IsZero() && b.Never == 0 {
			continue
		}
		if shared { // with a cache
			c.Batches, shared = slices.Clone(c.Batches), false
		}
		c.Batches[i] = b
	}
	return c, Times{o.sorted(), o.holidays.byDate()}, nil
}

// unsentIn returns the messages of a batch that no task sends yet, by zone, and when they are due. While a batch is being
// sent, only the zones of those that wait are known.
func unsentIn(b campaign.BatchProgress, now time.Time) (messages []window.Count, due time.Time) {
	if b.State != campaign.BatchPending || b.Cancelled() {
		return b.ClosedZones, now
	}
	return b.Zones, dueOf(b.Batch, now)
}

// dueOf returns when the unsent messages of a batch are due, at the earliest now.
func dueOf(b campaign.Batch, now time.Time) time.Time {
	if b.State == campaign.BatchPending && b.Due.After(now) {
		return b.Due
	}
	return now
}

// WaitOf returns what an unsent message of a campaign to a phone number waits for: the end of a pause, its schedule, or the
// beginning of its sending hours. It is zero if the message goes now.
func WaitOf(
	ctx context.Context, store Store, c campaign.Campaign, b campaign.Batch, phone e164.Number, now time.Time,
) (w Waiting, err error) {
	if waitsForPause(b, !c.PausedAt.IsZero()) {
		return Waiting{Reason: ReasonPaused}, nil
	}
	p, err := store.TenantHours(ctx, b.Tenant)
	if err != nil {
		return w, err
	}
	hours, err := Load(ctx, store, p, b)
	if err != nil {
		return w, err
	}
	at := hours.Opens(hours.Zone(phone), dueOf(b, now))
	if w.Never = never(at, b.LastSend()); !w.Never && at.After(now) {
		w.OpensAt = at
	}
	return w, nil
}

// firstOf returns when the first of the messages go, zero if that is unknown, or if none goes.
func firstOf(waits []Waiting) (at time.Time) {
	for _, w := range waits {
		if !w.Never {
			at = first(at, w.OpensAt)
		}
	}
	return at
}

// neverOf returns how many messages of a batch that is not released never go.
func neverOf(b campaign.BatchProgress, waits []Waiting) (messages int) {
	if b.State == campaign.BatchPending {
		messages, _ = NeverGoing(waits)
	}
	return messages
}

// later returns the waits without those of a batch that is not released whose messages go when they are due.
func later(waits []Waiting, b campaign.BatchProgress, due time.Time) []Waiting {
	if b.State != campaign.BatchPending {
		return waits
	}
	return slices.DeleteFunc(waits, func(w Waiting) bool { return w.OpensAt.Equal(due) })
}
