package reach

import (
	"cmp"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign/window"
)

// Group is what goes at the same time, by the same local clock.
type Group struct {
	OpensAt  time.Time     // zero for never
	Zones    []window.Zone // empty if they are not known
	Messages int
}

// clock is what the messages of a group have in common.
type clock struct {
	at     time.Time
	offset int // seconds from UTC
	known  bool
}

func clockOf(o Opening) clock {
	c := clock{at: o.OpensAt, known: o.Zone.Known()}
	if c.known && !c.at.IsZero() {
		_, c.offset = o.Zone.Local(c.at).Zone()
	}
	return c
}

// Groups returns the messages of a plan by their time and their clock, the first one first, and those that never go last.
func Groups(plan []Opening) []Group {
	of, groups := map[clock]int{}, []Group{}
	for _, o := range plan {
		c := clockOf(o)
		at, found := of[c]
		if !found {
			at = len(groups)
			of[c], groups = at, append(groups, Group{OpensAt: o.OpensAt})
		}
		g := &groups[at]
		if g.Messages += o.Messages; c.known && !slices.Contains(g.Zones, o.Zone) {
			g.Zones = append(g.Zones, o.Zone)
		}
	}
	for _, g := range groups {
		slices.Sort(g.Zones)
	}
	slices.SortFunc(groups, compareGroups)
	return groups
}

func compareGroups(a, b Group) int {
	if a.OpensAt.IsZero() != b.OpensAt.IsZero() {
		return -a.OpensAt.Compare(b.OpensAt)
	}
	return cmp.Or(a.OpensAt.Compare(b.OpensAt), slices.Compare(a.Zones, b.Zones))
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
