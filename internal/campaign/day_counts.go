package campaign

import (
	"time"

	"campaign-dispatch/internal/campaign/localtime"
)

// DayLife is how long the counts of a day are stored.
const DayLife = 400 * 24 * time.Hour

// DayCounts are the results of the messages whose batches went out on a day, and the
// opt-outs of that day. Test messages are not counted.
type DayCounts struct {
	Sent, Delivered, Read int // each includes the messages of the later ones
	Failed                int // messages that ended undelivered, and people of a file who are not accepted any more
	OptedOut              int
}

// Day is a day in São Paulo with its counts.
type Day struct {
	Date string // as 2026-11-30
	DayCounts
	Version int // of the row, 0 if there is none
}

// Plus returns the sums of the counts.
func (c DayCounts) Plus(o DayCounts) DayCounts {
	return DayCounts{c.Sent + o.Sent, c.Delivered + o.Delivered, c.Read + o.Read, c.Failed + o.Failed, c.OptedOut + o.OptedOut}
}

// Minus returns the differences of the counts.
func (c DayCounts) Minus(o DayCounts) DayCounts {
	return DayCounts{c.Sent - o.Sent, c.Delivered - o.Delivered, c.Read - o.Read, c.Failed - o.Failed, c.OptedOut - o.OptedOut}
}

// DayCounts returns the counts of the batch.
func (h LedgerSummary) DayCounts() DayCounts {
	n := h.Counts
	c := DayCounts{Read: n[OutcomeRead]}
	c.Delivered = c.Read + n[OutcomeDelivered]
	c.Sent = c.Delivered + n[OutcomeSent] + n[OutcomeRevoked] + n[OutcomeExpired] - h.Reasons[neverSent]
	c.Failed = n[OutcomeFailed] + n[OutcomeExpired] + n[OutcomeRevoked] + n[OutcomeStopped]
	return c
}

// DayCounts returns the counts of the campaign by day, without opt-outs. Messages count on the day of
// their batch. People who are not accepted any more count on the day of the first batch, or of the
// cancellation if there is none.
func (c Campaign) DayCounts() map[string]DayCounts {
	days, first := map[string]DayCounts{}, c.CreatedAt
	for n, b := range c.Batches {
		if n == 0 {
			first = b.SendAt()
		}
		date := localtime.Day(b.SendAt())
		days[date] = days[date].Plus(b.Head.DayCounts())
	}
	if never := c.Submission.NeverAccepted(); never > 0 {
		date := localtime.Day(first)
		days[date] = days[date].Plus(DayCounts{Failed: never})
	}
	return days
}
