package reach

import (
	"context"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
)

// BookedOn returns a function that returns the date in whose budget messages to some zones are booked that are due at an
// instant: that of their first opening, in São Paulo, or of the instant if none of them can ever go. The zone 0 is that of
// the tenant, as are no zones: a batch that was accepted without hours has none. The function looks for each opening once.
func (h Hours) BookedOn(due time.Time) func(of window.Set) string {
	opens := h.opening(due)
	return func(of window.Set) string { return localtime.Day(opens(of)) }
}

// FirstOpens returns when the first message to some zones goes that are due at an instant: then, or when their hours open
// first. It is the instant if none of them can ever go.
func (h Hours) FirstOpens(of window.Set, due time.Time) time.Time { return h.opening(due)(of) }

func (h Hours) opening(due time.Time) func(of window.Set) time.Time {
	opens := map[window.Zone]time.Time{}
	return func(of window.Set) (at time.Time) {
		for _, z := range h.decisive(of) {
			if _, known := opens[z]; !known {
				opens[z] = h.Opens(z, due)
			}
			at = first(at, opens[z])
		}
		if at.IsZero() {
			return due
		}
		return at
	}
}

// decisive returns the zones whose hours decide about messages to some zones, none without hours.
func (h Hours) decisive(of window.Set) []window.Zone {
	if !h.Limited() {
		return nil
	}
	if of == 0 || of.Has(0) {
		of = of.With(h.zone)
	}
	return of.Zones()
}

// Bookings returns the dates in whose budget the reservations of batches that are due at an instant are booked, by
// BatchID. It reads each template once, and looks for each opening once: a campaign can have thousands of batches.
func Bookings(
	ctx context.Context, templates Templates, p TenantHours, batches []campaign.Batch, due time.Time,
) (dates map[string]string, err error) {
	dates, templates = map[string]string{}, Remember(templates)
	known := map[openingKey]func(window.Set) string{}
	for _, b := range batches {
		if b.Reserved == 0 {
			continue
		}
		key := openingKeyOf(b, 0, due)
		if known[key] == nil {
			hours, err := Load(ctx, templates, p, b)
			if err != nil {
				return nil, err
			}
			known[key] = hours.BookedOn(due)
		}
		dates[b.BatchID] = known[key](b.ZoneSet())
	}
	return dates, nil
}
