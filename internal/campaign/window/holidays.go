package window

import (
	"slices"
	"time"
)

// yearDay is the form of a day of each year.
const yearDay = "01-02"

// national are the national holidays with a fixed date: laws 662/1949, 6.802/1980, 10.607/2002 and 14.759/2023.
var national = []string{"01-01", "04-21", "05-01", "09-07", "10-12", "11-02", "11-15", "11-20", "12-25"}

// Holiday is a day on which a window is closed.
type Holiday struct {
	Date time.Time // midnight in UTC
	// National identifies a national holiday: its day of each year, GoodFriday or EasterSunday. It is "" for one of the
	// window's own, which can have a Name.
	National string
	Name     string
}

// The national holidays without a fixed date.
const (
	GoodFriday   = "good_friday"
	EasterSunday = "easter"
)

// holiday returns the holiday of a date: a national one, or one of the window's. ok is false for other days.
func (w Window) holiday(date time.Time) (h Holiday, ok bool) {
	h.Date = time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, time.UTC)
	day := date.Format(yearDay)
	if slices.Contains(national, day) {
		h.National = day
		return h, true
	}
	if h.National = aroundEaster(date); h.National != "" {
		return h, true
	}
	for _, own := range [...]string{date.Format(time.DateOnly), day} {
		if slices.Contains(w.Holidays, own) {
			h.Name = w.Names[own]
			return h, true
		}
	}
	return h, false
}

// Skipped returns the holidays from an instant until another on which the window would be open in a zone otherwise.
func (w Window) Skipped(z Zone, from, until time.Time) (skipped []Holiday) {
	if !w.OffHolidays {
		return nil
	}
	local := z.Local(from)
	for day := 0; ; day++ {
		date := clock(local.AddDate(0, 0, day), 0)
		if !date.Before(until) {
			return skipped
		}
		h := w.Week[date.Weekday()]
		if h.Closed() || !clock(date, h.Until).After(from) {
			continue
		}
		if off, is := w.holiday(date); is {
			skipped = append(skipped, off)
		}
	}
}

// aroundEaster returns GoodFriday or EasterSunday for its date, and "" for other days.
func aroundEaster(date time.Time) string {
	switch easter := Easter(date.Year()); {
	case sameDay(date, easter):
		return EasterSunday
	case sameDay(date, easter.AddDate(0, 0, -2)):
		return GoodFriday
	}
	return ""
}

func sameDay(a, b time.Time) bool { return a.Month() == b.Month() && a.Day() == b.Day() }

// Easter returns the date of Easter Sunday in a year of the Gregorian calendar, by the anonymous Gregorian
// algorithm (Nature, 20 April 1876).
func Easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	month, day := (h+l-7*m+114)/31, (h+l-7*m+114)%31+1
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}
