package reach

import (
	"cmp"
	"context"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
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
	SendPolicy(ctx context.Context, tenant string) (Policy, error)
}

// WaitingOf returns the messages of a campaign that wait, the first opening first. It reads nothing if none do, and
// each template once, and looks for each opening once: a campaign can have thousands of batches.
func WaitingOf(ctx context.Context, store Store, c campaign.Campaign, now time.Time) ([]Waiting, error) {
	var p *Policy
	if !c.CancelledAt.IsZero() { // what is left is being stopped
		return nil, nil
	}
	templates, messages, known, ends := Remember(store), map[Waiting]int{}, map[held]Waiting{}, firsts{}
	paused := c.Paused() // then all of them wait, and those of unreleased batches for their time too
	for _, b := range c.Batches {
		if b.Pending() > 0 && (paused || b.Waits.Paused) {
			messages[Waiting{Reason: ReasonPaused}] += b.Pending()
			continue
		}
		if len(b.Held) == 0 {
			continue
		}
		if p == nil {
			read, err := store.SendPolicy(ctx, c.Tenant)
			if err != nil {
				return nil, err
			}
			p = &read
		}
		hours, err := Load(ctx, templates, *p, b.Batch)
		if err != nil {
			return nil, err
		}
		for _, h := range b.Held {
			key := heldIn(b.Batch, h.Zone)
			if _, found := known[key]; !found {
				known[key] = hours.waiting(h.Zone, now)
			}
			w := known[key]
			if w.Never = neverGoes(b.Batch, w); w.Never {
				ends.add(w, b.EndsUnopened())
			}
			messages[w] += h.Messages
		}
	}
	return sorted(messages, ends), nil
}

// neverGoes reports whether messages of a batch never go.
func neverGoes(b campaign.Batch, w Waiting) bool {
	if w.Zone.Known() {
		return never(w.OpensAt, b.LastSend())
	}
	return b.NeverOpens(w.Zone)
}

// firsts has the first time at which messages end.
type firsts map[Waiting]time.Time

func (f firsts) add(w Waiting, at time.Time) {
	if first := f[w]; first.IsZero() || !at.IsZero() && at.Before(first) {
		f[w] = at
	}
}

// held is what the opening of held messages depends on.
type held struct {
	template version
	asked    window.Week // zero for none
	zone     window.Zone
}

func heldIn(b campaign.Batch, z window.Zone) held {
	h := held{template: version{b.TemplateID, b.TemplateVersion}, zone: z}
	if b.SendWindow != nil {
		h.asked = *b.SendWindow
	}
	return h
}

// waiting returns a wait without its number of messages, and without Never.
func (h Hours) waiting(z window.Zone, now time.Time) (w Waiting) {
	w.Reason, w.Zone = ReasonSendWindow, z
	if z.Known() {
		w.OpensAt = h.Opens(z, now)
	}
	return w
}

func sorted(messages map[Waiting]int, ends firsts) []Waiting {
	all := make([]Waiting, 0, len(messages))
	for w, n := range messages {
		w.EndsAt, w.Messages = ends[w], n
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), a.OpensAt.Compare(b.OpensAt), cmp.Compare(a.Zone, b.Zone), a.EndsAt.Compare(b.EndsAt))
	})
	return all
}

// NeverGoing returns the messages that never go, and when the first of them end, zero if that is not known yet.
func NeverGoing(waiting []Waiting) (messages int, ends time.Time) {
	first := firsts{}
	for _, w := range waiting {
		if w.Never {
			messages += w.Messages
			first.add(Waiting{}, w.EndsAt)
		}
	}
	return messages, first[Waiting{}]
}

// GroupsOf returns the messages that wait for a reason, without those that never go, by the time at which they can go.
func GroupsOf(waiting []Waiting, reason Reason) []Group {
	var plan []Opening
	for _, w := range waiting {
		if w.Reason == reason && !w.Never {
			plan = append(plan, w.Opening)
		}
	}
	return Groups(plan)
}
