package campaign

import (
	"maps"
	"slices"
	"time"
)

// Timeline tells when a batch's outcomes came about, in slots that grow with
// their distance from the first one: what happens first happens fast.
type Timeline struct {
	Start time.Time // of the first slot, a whole minute; zero before anything is known
	Slots []Slot    // those in which something changed, in their order
}

// Slot is a span of time of a timeline.
type Slot struct {
	Number int // from 0
	// Net says by how many more messages have an outcome after the slot than
	// before it. Over all slots that is how many have it now.
	Net map[Outcome]int
}

// slotWidths are the widths of the slots up to an age of the timeline. The slot
// after the last one has no end.
var slotWidths = []struct{ until, width time.Duration }{
	{5 * time.Minute, time.Minute},
	{30 * time.Minute, 5 * time.Minute},
	{3 * time.Hour, 30 * time.Minute},
	{24 * time.Hour, 3 * time.Hour},
	{96 * time.Hour, 6 * time.Hour},
}

// slotNumber returns the slot that an instant of this age lies in; what happened
// before the start counts as webhook event at it.
func slotNumber(age time.Duration) int {
	number, from := 0, time.Duration(0)
	age = max(age, 0)
	for _, w := range slotWidths {
		if age < w.until {
			return number + int((age-from)/w.width)
		}
		number += int((w.until - from) / w.width)
		from = w.until
	}
	return number
}

// End returns the instant at which the slot of that number ends; the last one,
// which has no end, is taken for as wide as the one before.
func (t Timeline) End(number int) time.Time {
	from, width := time.Duration(0), time.Duration(0)
	for _, w := range slotWidths {
		width = w.width
		slots := int((w.until - from) / width)
		if number < slots {
			return t.Start.Add(from + time.Duration(number+1)*width)
		}
		number -= slots
		from = w.until
	}
	return t.Start.Add(from + width)
}

func (t Timeline) clone() Timeline {
	t.Slots = slices.Clone(t.Slots)
	for i := range t.Slots {
		t.Slots[i].Net = maps.Clone(t.Slots[i].Net)
	}
	return t
}

// net returns the changes of the slot that an instant lies in, to be added to.
func (t *Timeline) net(at time.Time) map[Outcome]int {
	if t.Start.IsZero() {
		t.Start = at.UTC().Truncate(time.Minute)
	}
	number := slotNumber(at.Sub(t.Start))
	i, ok := slices.BinarySearchFunc(t.Slots, number, func(s Slot, n int) int { return s.Number - n })
	if !ok {
		t.Slots = slices.Insert(t.Slots, i, Slot{Number: number, Net: map[Outcome]int{}})
	}
	return t.Slots[i].Net
}
