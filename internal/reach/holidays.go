package reach

import (
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign/window"
)

// Skipped returns the holidays that keep the messages of a plan, which are due at an instant, from being sent before their
// openings, by date.
func (h Hours) Skipped(plan []Opening, due time.Time) []window.Holiday {
	all := holidays{}
	for _, o := range plan {
		all.add(h, o, due)
	}
	return all.byDate()
}

// holidays are those that keep messages from being sent.
type holidays map[window.Holiday]bool

// add adds the holidays from the due time of messages until their opening.
func (all holidays) add(h Hours, o Opening, due time.Time) {
	if h.window == nil {
		return
	}
	for _, off := range h.window.Skipped(o.Zone, due, o.OpensAt) {
		all[off] = true
	}
}

// byDate returns the holidays, the first one first.
func (all holidays) byDate() []window.Holiday {
	return slices.SortedFunc(maps.Keys(all), func(a, b window.Holiday) int { return a.Date.Compare(b.Date) })
}
