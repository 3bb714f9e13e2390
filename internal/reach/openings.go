package reach

import (
	"cmp"
	"context"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

// openings finds when messages of a tenant go, and counts those that wait. It reads the hours and each template once,
// and looks for each opening once. It is not for concurrent use.
type openings struct {
	store     Store
	templates Templates
	tenant    string
	policy    *TenantHours // nil until it is read
	known     map[openingKey]Waiting
	messages  map[Waiting]int
	ends      map[Waiting]time.Time // when the first of the messages end that never go
	holidays  holidays
}

func newOpenings(store Store, tenant string) *openings {
	return &openings{
		store: store, templates: Remember(store), tenant: tenant,
		known: map[openingKey]Waiting{}, messages: map[Waiting]int{}, ends: map[Waiting]time.Time{}, holidays: holidays{},
	}
}

// openingKey is what the opening of messages depends on.
type openingKey struct {
	template campaign.VersionKey
	test     bool
	asked    window.Week // zero for none
	zone     window.Zone
	due      time.Time
}

func openingKeyOf(b campaign.Batch, z window.Zone, due time.Time) openingKey {
	k := openingKey{template: b.VersionKey(), test: b.Test, zone: z, due: due.UTC()}
	if b.SendWindow != nil {
		k.asked = *b.SendWindow
	}
	return k
}

// waits returns what messages of a batch wait for that are due at an instant. It reads nothing without messages.
func (o *openings) waits(ctx context.Context, b campaign.Batch, messages []window.Count, due time.Time) ([]Waiting, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	hours, err := o.hours(ctx, b)
	if err != nil {
		return nil, err
	}
	waits := make([]Waiting, 0, len(messages))
	for _, c := range messages {
		w := o.waiting(hours, openingKeyOf(b, c.Zone, due))
		w.Messages = c.Messages
		if w.Never = neverGoes(b, w); w.Never {
			w.EndsAt = endOf(b, due)
		}
		waits = append(waits, w)
	}
	return waits, nil
}

// endOf returns when messages end that never go, zero if that is not known yet: before it was seen, a notAfter that is far
// away is not their end.
func endOf(b campaign.Batch, due time.Time) time.Time {
	ends := b.EndsUnopened()
	if b.NeverOpen.Since.IsZero() && ends.Sub(due) > campaign.MaxNeverOpen {
		return time.Time{}
	}
	return ends
}

func (o *openings) hours(ctx context.Context, b campaign.Batch) (Hours, error) {
	if o.policy == nil {
		p, err := o.store.TenantHours(ctx, o.tenant)
		if err != nil {
			return Hours{}, err
		}
		o.policy = &p
	}
	return Load(ctx, o.templates, *o.policy, b)
}

// neverGoes reports whether messages of a batch never go.
func neverGoes(b campaign.Batch, w Waiting) bool {
	if w.Zone.Known() {
		return never(w.OpensAt, b.LastSend())
	}
	return b.NeverOpens(w.Zone)
}

// waiting returns a wait without its number of messages, and without Never.
func (o *openings) waiting(hours Hours, k openingKey) Waiting {
	if w, found := o.known[k]; found {
		return w
	}
	w := Waiting{Reason: ReasonSendWindow}
	if w.Zone = k.zone; k.zone.Known() {
		w.OpensAt = hours.Opens(k.zone, k.due)
		o.holidays.add(hours, w.Opening, k.due)
	}
	o.known[k] = w
	return w
}

// addPaused counts the messages of a batch that wait for the end of a pause. It returns false for other batches. While the
// campaign is paused, all of them wait, and those of unreleased batches for their time too.
func (o *openings) addPaused(b campaign.BatchProgress, paused bool) bool {
	if b.Pending() <= 0 || !waitsForPause(b.Batch, paused) {
		return false
	}
	o.messages[Waiting{Reason: ReasonPaused}] += b.Pending()
	return true
}

// waitsForPause reports whether the unsent messages of a batch wait for the end of a pause: of their campaign, or one that a
// function has found.
func waitsForPause(b campaign.Batch, paused bool) bool { return paused || b.Waits.Paused }

// add counts messages that wait.
func (o *openings) add(waits ...Waiting) {
	for _, w := range waits {
		of := w
		of.Messages, of.EndsAt = 0, time.Time{}
		o.messages[of] += w.Messages
		o.ends[of] = first(o.ends[of], w.EndsAt)
	}
}

// sorted returns the messages that wait, the first opening first.
func (o *openings) sorted() []Waiting {
	all := make([]Waiting, 0, len(o.messages))
	for w, n := range o.messages {
		w.EndsAt, w.Messages = o.ends[w], n
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), a.OpensAt.Compare(b.OpensAt), cmp.Compare(a.Zone, b.Zone), a.EndsAt.Compare(b.EndsAt))
	})
	return all
}
