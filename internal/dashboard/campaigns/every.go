package campaigns

import (
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
)

// The times after which a page slows down. A tab that is left open then makes at most 800 requests in 8 hours, whatever its
// campaign does: 180 in the first quarter of an hour, 180 in the rest of the first hour, and 60 in each other hour.
const (
	slowAfter    = 15 * time.Minute
	slowestAfter = time.Hour
)

const (
	fast    = 5 * time.Second
	slow    = 15 * time.Second
	slowest = time.Minute
)

// interval returns the interval in which the page of a campaign updates itself, "" for never.
func (v *view) interval(p *web.Page, now time.Time) string {
	return written(v.changing(now), p, now)
}

// changing returns the interval in which a campaign's page changes, 0 for a campaign that has ended.
func (v *view) changing(now time.Time) time.Duration {
	switch {
	case v.Status == campaign.StatusSending && v.Pending+v.Submission.ToCome() > 0:
		return fast
	case v.Status == campaign.StatusSending && sentBefore(v.Sum, now.Add(-slowestAfter)):
		return slowest
	case v.Status == campaign.StatusSending:
		return slow
	case v.Status == insight.StatusHolding && v.Pending == 0:
		return slowest
	case sendsLater(v.Status):
		return 2 * fast
	}
	return 0
}

// sentBefore reports whether the last message of a campaign that waits for delivery statuses was sent before a time. Its
// batch waits for them for a fixed time.
func sentBefore(r insight.Results, at time.Time) bool {
	return !r.Until.IsZero() && r.Until.Add(-campaign.MessageTTL-campaign.AnswerGrace).Before(at)
}

// opened is the parameter of updates with the time at which their page was opened, in seconds since 1970.
const opened = "opened"

// openedAt returns when the page was opened that a request updates: now if it is no update.
func openedAt(p *web.Page, now time.Time) time.Time {
	seconds, err := strconv.ParseInt(p.Query(opened), 10, 64)
	if at := time.Unix(seconds, 0); p.Partial() && err == nil && at.Before(now) {
		return at
	}
	return now
}

// written returns an interval of a page as htmx reads it, "" for 0. It is longer if the page is open for long.
func written(every time.Duration, p *web.Page, now time.Time) string {
	if every == 0 {
		return ""
	}
	switch age := now.Sub(openedAt(p, now)); {
	case age >= slowestAfter:
		every = max(every, slowest)
	case age >= slowAfter:
		every = max(every, slow)
	}
	return strconv.Itoa(int(every/time.Second)) + "s"
}
