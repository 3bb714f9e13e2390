package reach

import (
	"context"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

// never reports whether a message whose window opens at an instant, zero for never, cannot go until last, which is zero
// for no limit.
func never(opens, last time.Time) bool {
	return opens.IsZero() || !last.IsZero() && opens.After(last)
}

// neverOpen returns those of the zones whose window does not open any more in time for the batch.
func (h Hours) neverOpen(b campaign.Batch, of window.Set, now time.Time) (zones window.Set) {
	for _, z := range of.Zones() {
		if never(h.Opens(z, now), b.LastSend()) {
			zones = zones.With(z)
		}
	}
	return zones
}

// over reports whether a message to a zone ends because its window never opens: this was seen campaign.MaxNeverOpen ago,
// and the hours have not changed.
func (h Hours) over(b campaign.Batch, z window.Zone, now time.Time) bool {
	return b.NeverOpen.Over(z, now) && never(h.Opens(z, now), b.LastSend())
}

// zonesOver returns the zones whose messages end, see over.
func (h Hours) zonesOver(b campaign.Batch, now time.Time) (zones window.Set) {
	for _, z := range b.NeverOpen.Zones.Zones() {
		if h.over(b, z, now) {
			zones = zones.With(z)
		}
	}
	return zones
}

// NeverSent returns how many messages of a campaign that were not sent never will be by the hours of a tenant.
func NeverSent(ctx context.Context, templates Templates, p TenantHours, c campaign.Campaign, now time.Time) (messages int, err error) {
	o := newOpenings(entered{templates, p}, c.Tenant)
	for _, b := range c.Batches {
		if b.Cancelled() || b.Pending() <= 0 {
			continue
		}
		hours, err := o.hours(ctx, b.Batch)
		if err != nil {
			return 0, err
		}
		if hours.Limited() {
			messages += o.neverSent(hours, b, now)
		}
	}
	return messages, nil
}

// entered is a Store with hours that are not stored.
type entered struct {
	Templates

	policy TenantHours
}

func (e entered) TenantHours(context.Context, string) (TenantHours, error) { return e.policy, nil }

// neverSent returns how many messages of a batch that were not sent never will be.
func (o *openings) neverSent(h Hours, b campaign.BatchProgress, now time.Time) (messages int) {
	var closed window.Set
	unsent, due := unsentIn(b, now)
	all := zonesOf(b.Batch)
	for _, z := range all.Zones() {
		if never(o.waiting(h, openingKeyOf(b.Batch, z, due)).OpensAt, b.LastSend()) {
			closed = closed.With(z)
		}
	}
	if closed == all {
		return b.Pending()
	}
	for _, c := range unsent {
		if closed.Has(c.Zone) {
			messages += c.Messages
		}
	}
	return messages
}

// zonesOf returns the zones that messages of a batch can have.
func zonesOf(b campaign.Batch) window.Set {
	if len(b.Zones) > 0 {
		return b.ZoneSet()
	}
	return window.Everywhere()
}
