package dispatch

import (
	"time"

	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// times are the instants of a call.
type times struct {
	due       time.Time // now if there is no schedule
	scheduled bool
	notAfter  time.Time // zero if absent
}

// setTimes sets the times of a call, with their faults. If meta is that of a rescheduled
// campaign, the call has its due time.
func (s *Service) setTimes(c *call, meta *acceptance.Meta) {
	var moved time.Time
	if meta != nil {
		moved = meta.Move.Due
	}
	c.times, c.timeFaults = c.req.checkTimes(c.now, s.Lead, moved)
}

// checkTimes parses schedule and notAfter and validates them at now. moved is the time that
// replaces the schedule, zero for none. A request without a schedule is due now, or at moved if
// that is later.
func (q *request) checkTimes(now time.Time, lead time.Duration, moved time.Time) (t times, found faults) {
	t.due, t.scheduled = now, q.schedule.present()
	if t.scheduled {
		schedule := q.schedule.value
		if !moved.IsZero() {
			schedule = moved.Format(time.RFC3339Nano)
		}
		due, fault := localtime.ParseSchedule(schedule, now, lead)
		if fault != nil {
			found.add("schedule", fault.Code, fault.Detail)
		} else {
			t.due = due
		}
	} else if moved.After(now) {
		t.due, t.scheduled = moved, true
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
