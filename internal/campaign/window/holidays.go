package window

import (
	"slices"
	"time"
)

// yearDay is the form of a day of each year.
const yearDay = "01-02"

// national are the national holidays with a fixed date: laws 662/1949, 6.802/1980, 10.607/2002 and 14.759/2023.
var national = []string{"01-01", "04-21", "05-01", "09-07", "10-12", "11-02", "11-15", "11-20", "12-25"}

// holiday reports whether a date is a national holiday, or one of the window's.
func (w Window) holiday(date time.Time) bool {
	day := date.Format(yearDay)
	return slices.Contains(national, day) || aroundEaster(date) ||
		slices.Contains(w.Holidays, day) || slices.Contains(w.Holidays, date.Format(time.DateOnly))
}

// aroundEaster reports whether a date is Good Friday or Easter Sunday.
func aroundEaster(date time.Time) bool {
	easter := Easter(date.Year())
	return sameDay(date, easter) || sameDay(date, easter.AddDate(0, 0, -2))
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
