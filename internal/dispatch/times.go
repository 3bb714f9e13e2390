package dispatch

import (
	"time"

	"campaign-dispatch/internal/campaign/localtime"
)

// times are the instants of a request.
type times struct {
	due      time.Time // now if there is no schedule
	notAfter time.Time // zero if absent
}

// checkTimes parses schedule and notAfter and validates them at now.
func (q *request) checkTimes(now time.Time, lead time.Duration) (t times, found faults) {
	t.due = now
	if q.schedule.present() {
		due, fault := localtime.ParseSchedule(q.schedule.value, now, lead)
		if fault != nil {
			found.add("schedule", fault.Code, fault.Detail)
		} else {
			t.due = due
		}
	}
	if q.notAfter.present() {
		until, err := localtime.Parse(q.notAfter.value)
		switch {
		case err != nil:
			found.add("notAfter", "invalid_not_after", "notAfter "+err.Error())
		case !until.After(t.due):
			found.add("notAfter", "invalid_not_after", "notAfter must be later than the time of sending")
		default:
			t.notAfter = until
		}
	}
	return t, found
}
