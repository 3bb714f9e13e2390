package insight

import (
	"cmp"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// ReadTimes counts read messages by weekday and hour in São Paulo.
type ReadTimes [7][24]float64

// Add adds the read messages of a batch. Those of a slot are spread over its hours. The last slot has no end, and its
// messages are left out.
func (t *ReadTimes) Add(of campaign.Timeline) {
	for _, slot := range of.Slots {
		if n := slot.Net[campaign.OutcomeRead]; n > 0 && !slot.Last() {
			t.spread(float64(n), of.Begin(slot.Number), of.End(slot.Number))
		}
	}
}

func (t *ReadTimes) spread(n float64, from, to time.Time) {
	for at := from; at.Before(to); {
		end := at.Truncate(time.Hour).Add(time.Hour) // hours of São Paulo begin with those of UTC
		if end.After(to) {
			end = to
		}
		local := at.In(localtime.SaoPaulo())
		t[local.Weekday()][local.Hour()] += n * float64(end.Sub(at)) / float64(to.Sub(from))
		at = end
	}
}

// WeekHour is an hour of the week with the number of messages that were read in it.
type WeekHour struct {
	Day  time.Weekday
	Hour int
	N    float64
}

// Ranked returns the hours in which messages were read, that with the most first.
func (t *ReadTimes) Ranked() (ranked []WeekHour) {
	for day, hours := range t {
		for hour, n := range hours {
			if n > 0 {
				ranked = append(ranked, WeekHour{time.Weekday(day), hour, n})
			}
		}
	}
	slices.SortStableFunc(ranked, func(a, b WeekHour) int { return cmp.Compare(b.N, a.N) })
	return ranked
}

// Total returns the number of messages.
func (t *ReadTimes) Total() (n float64) {
	for _, hours := range t {
		for _, of := range hours {
			n += of
		}
	}
	return n
}

// Next returns when the hour begins first, from a time on.
func (h WeekHour) Next(from time.Time) time.Time {
	local := from.In(localtime.SaoPaulo())
	days := (int(h.Day) - int(local.Weekday()) + 7) % 7
	at := time.Date(local.Year(), local.Month(), local.Day()+days, h.Hour, 0, 0, 0, local.Location())
	if at.Before(from) {
		at = at.AddDate(0, 0, 7)
	}
	return at
}
