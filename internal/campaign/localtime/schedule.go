package localtime

import (
	"strconv"
	"time"
)

// Fault says why a schedule is refused.
type Fault struct {
	Code   string // stable, for programs
	Detail string // a sentence that begins with schedule, for people
}

// ParseSchedule reads a schedule as Parse does and judges it at now: it lies lead
// ahead at least, and a year at most. The fault is nil for one that may be.
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
