package dispatch

import (
	"strconv"
	"time"

	"campaign-dispatch/internal/localtime"
)

// times are the instants of a request.
type times struct {
	due      time.Time // now, where there is no schedule
	notAfter time.Time // zero, where there is none
}

// checkTimes reads schedule and notAfter and judges them at now.
func (q *request) checkTimes(now time.Time, lead time.Duration) (t times, wrong violations) {
	t.due = now
	if q.schedule.sent() {
		due, err := localtime.Parse(q.schedule.value)
		switch {
		case err != nil:
			wrong.add("/schedule", "invalid_schedule", "schedule "+err.Error())
		case due.Before(now.Add(lead)):
			wrong.add("/schedule", "schedule_too_soon", "schedule must be at least "+leadText(lead)+" in the future")
		case due.After(now.AddDate(1, 0, 0)):
			wrong.add("/schedule", "schedule_too_far", "schedule must be at most a year in the future")
		default:
			t.due = due
		}
	}
	if q.notAfter.sent() {
		until, err := localtime.Parse(q.notAfter.value)
		switch {
		case err != nil:
			wrong.add("/notAfter", "invalid_not_after", "notAfter "+err.Error())
		case !until.After(t.due):
			wrong.add("/notAfter", "invalid_not_after", "notAfter must be later than the time of sending")
		default:
			t.notAfter = until
		}
	}
	return t, wrong
}

func leadText(lead time.Duration) string {
	if lead%time.Minute == 0 {
		return strconv.Itoa(int(lead/time.Minute)) + " minutes"
	}
	return lead.String()
}
