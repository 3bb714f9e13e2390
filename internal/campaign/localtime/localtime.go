// Package localtime parses dates and times written by clients. Times without an offset are
// São Paulo local time.
package localtime

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // a Lambda image has no time zones

	"campaign-dispatch/internal/campaign/pattern"
)

// SaoPaulo returns the time zone of times without an offset. It is read at its first use: no cold start waits for it.
var SaoPaulo = sync.OnceValue(func() *time.Location {
	location, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		panic(err) // the zones are embedded in the binary
	}
	return location
})

var (
	errTimeForm = errors.New("must be an ISO 8601 date and time, like 2026-12-24T18:30:00 (São Paulo time) or 2026-12-24T21:30:00Z")
	errNoSuch   = errors.New("names a date or time that does not exist")
)

// dateTime matches the extended form of ISO 8601: date and time, with optional seconds, fraction and offset.
var dateTime = pattern.AtFirstUse(
	`^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9})\d*)?)?(?:([Zz])|([+-])(\d\d):?(\d\d)?)?$`)

// Parse returns the instant in UTC. A time without an offset is São Paulo local time.
func Parse(text string) (time.Time, error) {
	m := dateTime().FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, errTimeForm
	}
	zone, err := zoneOf(m[8], m[9], m[10], m[11])
	if err != nil {
		return time.Time{}, err
	}
	year, month, day := toInt(m[1]), toInt(m[2]), toInt(m[3])
	hour, minute, second := toInt(m[4]), toInt(m[5]), toInt(m[6])
	nanos := toInt((m[7] + strings.Repeat("0", 9))[:9])
	if !exists(year, month, day) || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, errNoSuch
	}
	at := instantOf(time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC), zone)
	if at.Year() < 0 || at.Year() > 9999 { // in UTC: RFC 3339 cannot express it
		return time.Time{}, errNoSuch
	}
	return at, nil
}

// Day returns the date in São Paulo, as 2026-11-30.
func Day(at time.Time) string { return at.In(SaoPaulo()).Format(time.DateOnly) }

// Brazilian returns the date and time in São Paulo as Brazilian spreadsheets read them, as 30/11/2026 18:30:00.
func Brazilian(at time.Time) string { return at.In(SaoPaulo()).Format("02/01/2006 15:04:05") }

// instantOf returns the instant at which clocks in the zone show wall. A repeated local time
// means the first occurrence. A skipped local time uses the offset before the change.
func instantOf(wall time.Time, zone *time.Location) time.Time {
	at := func(day time.Duration) time.Time {
		_, offset := wall.Add(day).In(zone).Zone()
		return wall.Add(-time.Duration(offset) * time.Second)
	}
	before, after := at(-24*time.Hour), at(24*time.Hour)
	if shows(before, wall, zone) || !shows(after, wall, zone) {
		return before
	}
	return after
}

func shows(at, wall time.Time, zone *time.Location) bool {
	_, offset := at.In(zone).Zone()
	return at.Add(time.Duration(offset) * time.Second).Equal(wall)
}

func zoneOf(z, sign, hours, minutes string) (*time.Location, error) {
	if z != "" {
		return time.UTC, nil
	}
	if sign == "" {
		return SaoPaulo(), nil
	}
	if toInt(hours) > 23 || toInt(minutes) > 59 {
		return nil, errNoSuch
	}
	seconds := toInt(hours)*3600 + toInt(minutes)*60
	if sign == "-" {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), nil
}

func exists(year, month, day int) bool {
	d := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return month >= 1 && month <= 12 && d.Month() == time.Month(month) && d.Day() == day
}

// toInt converts digits matched by a regular expression. "" is 0.
func toInt(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// FormatUTC returns a time in UTC as RFC 3339.
func FormatUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Fault is the reason why a schedule is invalid.
type Fault struct {
	Code   string // stable
	Detail string // sentence for clients; starts with "schedule"
}

// ParseSchedule parses a schedule and checks that it is at least lead and at most a year
// after now. The fault is nil if the schedule is valid.
func ParseSchedule(text string, now time.Time, lead time.Duration) (time.Time, *Fault) {
	due, err := Parse(text)
	switch {
	case err != nil:
		return due, &Fault{"invalid_schedule", "schedule " + err.Error()}
	case due.Before(now.Add(lead)):
		return due, &Fault{"schedule_too_soon", "schedule must be at least " + leadText(lead) + " in the future"}
	case due.After(now.AddDate(1, 0, 0)):
		return due, &Fault{"schedule_too_far", "schedule must be at most a year in the future"}
	}
	return due, nil
}

func leadText(lead time.Duration) string {
	if lead%time.Minute == 0 {
		return strconv.Itoa(int(lead/time.Minute)) + " minutes"
	}
	return lead.String()
}
