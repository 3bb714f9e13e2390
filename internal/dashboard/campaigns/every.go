package campaigns

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
)

// changing returns the interval in which a campaign's page changes, 0 for a campaign that has ended.
func (v *view) changing(now time.Time) time.Duration {
	switch {
	case v.Status == campaign.StatusSending && v.Pending+v.Submission.ToCome() > 0:
		return web.Often
	case v.Status == campaign.StatusSending && sentBefore(v.Sum, now.Add(-web.SeldomAfter)):
		return web.Seldom
	case v.Status == campaign.StatusSending:
		return web.Slow
	case v.Status == insight.StatusHolding && v.Pending == 0:
		return web.Seldom
	case sendsLater(v.Status):
		return 2 * web.Often
	}
	return 0
}

// sentBefore reports whether the last message of a campaign that waits for delivery statuses was sent before a time. Its
// batch waits for them for a fixed time.
func sentBefore(r insight.Results, at time.Time) bool {
	return !r.Until.IsZero() && r.Until.Add(-campaign.MessageTTL-campaign.AnswerGrace).Before(at)
}
