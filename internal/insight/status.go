package insight

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

// StatusAwaitsHours is the status in the dashboard of a campaign of which no message can go before its sending hours
// begin. In the API, it is still sending.
const StatusAwaitsHours campaign.Status = "awaits_hours"

// StatusHolding is the status in the dashboard of a campaign whose next wave a person has to open. In the API, it is still
// sending.
const StatusHolding campaign.Status = "holding"

// batchAwaitsHours reports whether no unsent message of the batch can go before its sending hours begin.
func batchAwaitsHours(b campaign.BatchProgress, now time.Time) bool {
	switch {
	case b.Cancelled(), b.Pending() <= 0:
		return false
	case b.State == campaign.BatchPending:
		return !b.Scheduled && b.Goes.After(now)
	}
	return b.Closed() >= b.Pending() && (b.Goes.IsZero() || b.Goes.After(now))
}

// awaitsHours reports whether messages of the campaign wait for the sending hours, and no message can go now.
func awaitsHours(c campaign.Campaign, now time.Time) (waits bool) {
	if !c.CancelledAt.IsZero() {
		return false
	}
	for _, b := range c.Batches {
		switch {
		case batchAwaitsHours(b, now):
			waits = true
		case b.Pending() > 0 && b.Status() == campaign.StatusSending:
			return false
		}
	}
	return waits
}

// shown returns the status of the campaign in the dashboard.
func shown(c campaign.Campaign, now time.Time) campaign.Status {
	if c.Paused() {
		return campaign.StatusPaused
	}
	status := c.Status()
	switch {
	case status == campaign.StatusSending && awaitsHours(c, now):
		return StatusAwaitsHours
	case status == campaign.StatusSending && c.Submission.Holding() > 0:
		return StatusHolding
	}
	return status
}
