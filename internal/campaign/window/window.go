// Package window has the times at which messages may go: hours of each weekday in the recipient's time zone,
// and holidays.
package window

import (
	"fmt"
	"slices"
	"time"
)

// Day is the length of a day in minutes.
const Day = 24 * 60

// Hours are the hours of a weekday, in minutes since midnight. Until is not included. The zero Hours are none.
type Hours struct {
	From  int `json:"from"`
	Until int `json:"until"`
}

// ParseClock returns the minute of the day of a time from 00:00 to 24:00, and false for any other text.
func ParseClock(clock string) (minute int, ok bool) {
	if clock == "24:00" {
		return Day, true
	}
	at, err := time.Parse("15:04", clock)
	return at.Hour()*60 + at.Minute(), err == nil && len(clock) == len("15:04")
}

// Clock returns a minute of the day as 09:00.
func Clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

// Closed reports whether the hours have no minute.
func (h Hours) Closed() bool { return h.Until <= h.From }

// Within returns the hours that both have.
func (h Hours) Within(other Hours) Hours {
	common := Hours{max(h.From, other.From), min(h.Until, other.Until)}
	if common.Closed() {
		return Hours{}
	}
	return common
}

// Week has the hours of each weekday, by time.Weekday.
type Week [7]Hours

// Closed reports whether no day of the week has hours.
func (w Week) Closed() bool {
	return !slices.ContainsFunc(w[:], func(h Hours) bool { return !h.Closed() })
}

// Within returns the hours that both weeks have.
func (w Week) Within(other Week) Week {
	for day := range w {
		w[day] = w[day].Within(other[day])
	}
	return w
}

// Window is when messages may go. The clock is that of the recipient's zone.
type Window struct {
	Week Week
	// OffHolidays closes the window on national holidays and on the days of Holidays.
	OffHolidays bool
	// Holidays are dates, as 2026-07-09, and days of each year, as 07-09.
	Holidays []string
	Names    map[string]string // of Holidays; not all have one
}

// Open reports whether the window is open at an instant in a zone.
func (w Window) Open(z Zone, at time.Time) bool {
	for _, location := range z.locations() {
		local := at.In(location)
		h := w.hours(local)
		if minute := local.Hour()*60 + local.Minute(); minute < h.From || minute >= h.Until {
			return false
		}
	}
	return true
}

// searched is the number of days in which an opening is looked for. No window has a gap of a year.
const searched = 370

// Opens returns the first instant from at on at which the window is open in a zone, and the zero time if
// there is none within a year.
func (w Window) Opens(z Zone, at time.Time) time.Time {
	if w.Open(z, at) {
		return at
	}
	var first time.Time
	if w.Week.Closed() {
		return first
	}
	for _, location := range z.locations() {
		for day := range searched {
			opens := w.begin(at.In(location).AddDate(0, 0, day))
			if opens.After(at) && w.Open(z, opens) {
				if first.IsZero() || opens.Before(first) {
					first = opens
				}
				break
			}
		}
	}
	return first
}

// Closes returns when the window that is open at an instant in a zone closes, and the instant itself if it is closed.
// A window that does not close within a day counts as closed a day later.
func (w Window) Closes(z Zone, at time.Time) time.Time {
	if !w.Open(z, at) {
		return at
	}
	closes := at.Add(24 * time.Hour)
	for _, location := range z.locations() {
		for day := range 2 {
			local := at.In(location).AddDate(0, 0, day)
			end := clock(local, w.hours(local).Until)
			if end.After(at) && end.Before(closes) && !w.Open(z, end) {
				closes = end
			}
		}
	}
	return closes
}

// hours returns the hours of a day in its zone.
func (w Window) hours(local time.Time) Hours {
	if w.OffHolidays {
		if _, off := w.holiday(local); off {
			return Hours{}
		}
	}
	return w.Week[local.Weekday()]
}

// begin returns when the window opens on a day, and the zero time if it does not.
func (w Window) begin(local time.Time) time.Time {
	h := w.hours(local)
	if h.Closed() {
		return time.Time{}
	}
	return clock(local, h.From)
}

// clock returns the instant of a minute of the day.
func clock(local time.Time, minute int) time.Time {
	return time.Date(local.Year(), local.Month(), local.Day(), 0, minute, 0, 0, local.Location())
}
