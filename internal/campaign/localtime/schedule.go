package localtime

import (
	"strconv"
	"time"
)

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
