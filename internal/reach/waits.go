package reach

import (
	"context"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Reason is why messages wait.
type Reason string

// The reasons.
const (
	ReasonPaused     Reason = "paused"
	ReasonSendWindow Reason = "send_window"
)

// Waiting are messages of a campaign that wait for the same.
type Waiting struct {
	Opening // without a zone if it is not known, and without OpensAt if that is not known

	Reason Reason
	Never  bool // they never go, or not in time for their NotAfter
	// EndsAt is when the first of them end, if they never go; zero if that is not known yet.
	EndsAt time.Time
}

// Store reads what a campaign's messages wait for.
type Store interface {
	Templates
	// TenantHours returns the hours of a tenant, zero for none. The error wraps campaign.ErrDamaged if they cannot be read.
	TenantHours(ctx context.Context, tenant string) (TenantHours, error)
}

// WaitingOf returns the messages of a campaign that wait, the first opening first. It reads nothing if none do, and
// each template once, and looks for each opening once: a campaign can have thousands of batches.
func WaitingOf(ctx context.Context, store Store, c campaign.Campaign, now time.Time) ([]Waiting, error) {
	if !c.CancelledAt.IsZero() { // what is left is being stopped
		return nil, nil
	}
	o, paused := newOpenings(store, c.Tenant), c.Paused()
	for _, b := range c.Batches {
		if o.addPaused(b, paused) {
			continue
		}
		waits, err := o.waits(ctx, b.Batch, b.ClosedZones, now)
		if err != nil {
			return nil, err
		}
		o.add(waits...)
	}
	return o.sorted(), nil
}

// NeverGoing returns the messages that never go, and when the first of them end, zero if that is not known yet.
func NeverGoing(waiting []Waiting) (messages int, ends time.Time) {
	for _, w := range waiting {
		if w.Never {
			messages, ends = messages+w.Messages, first(ends, w.EndsAt)
		}
	}
	return messages, ends
}

// first returns the first of two times. Zero is no time.
func first(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
