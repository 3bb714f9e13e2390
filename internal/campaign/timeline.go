package campaign

import (
	"maps"
	"slices"
	"time"
)

// Timeline counts a batch's outcomes over time. Its slots grow with the distance from the
// start, because most outcomes arrive early.
type Timeline struct {
	Start time.Time // of the first slot, in whole minutes; zero if there is none
	Slots []Slot    // slots with changes, in order
}

// Slot is a time span of a timeline.
type Slot struct {
	Number int // from 0
	// Net is the change of each outcome's count in the slot. The sum over all slots is the current count.
	Net map[Outcome]int
}

// Last reports whether the slot is the one without an end.
func (s Slot) Last() bool { return s.Number >= slotNumber(slotWidths[len(slotWidths)-1].until) }

// slotWidths are the slot widths by the age of the timeline. The slot after the last one is unbounded.
var slotWidths = []struct{ until, width time.Duration }{
	{5 * time.Minute, time.Minute},
	{30 * time.Minute, 5 * time.Minute},
	{3 * time.Hour, 30 * time.Minute},
	{24 * time.Hour, 3 * time.Hour},
	{96 * time.Hour, 6 * time.Hour},
}

// slotNumber returns the slot at the given age. A negative age counts as 0.
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

// End returns the end of a slot. The unbounded last slot counts as wide as the one before.
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

// Begin returns the start of a slot.
func (t Timeline) Begin(number int) time.Time {
	if number == 0 {
		return t.Start
	}
	return t.End(number - 1)
}

func (t Timeline) clone() Timeline {
	t.Slots = slices.Clone(t.Slots)
	for i := range t.Slots {
		t.Slots[i].Net = maps.Clone(t.Slots[i].Net)
	}
	return t
}

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
