package campaign

import "campaign-dispatch/internal/campaign/localtime"

// DayCounts are the results of the messages whose batches went out on a day, and the
// opt-outs of that day. Test messages are not counted.
type DayCounts struct {
	Sent, Delivered, Read int // each includes the messages of the later ones
	Failed                int // messages that ended undelivered, without those that were not sent
	// NotSent is the number of messages that were not sent, see Reason.NotSent, and of people of a file
	// who are not accepted any more.
	NotSent  int
	OptedOut int
}

// Day is a day in São Paulo with its counts.
type Day struct {
	Date string // as 2026-11-30
	DayCounts
	Logged  int // those of OptedOut that were written to the log of opt-outs before they were counted
	Version int // of the row, 0 if there is none
}

// Plus returns the sums of the counts.
func (c DayCounts) Plus(o DayCounts) DayCounts {
	return DayCounts{
		c.Sent + o.Sent, c.Delivered + o.Delivered, c.Read + o.Read, c.Failed + o.Failed, c.NotSent + o.NotSent, c.OptedOut + o.OptedOut,
	}
}

// Minus returns the differences of the counts.
func (c DayCounts) Minus(o DayCounts) DayCounts {
	return DayCounts{
		c.Sent - o.Sent, c.Delivered - o.Delivered, c.Read - o.Read, c.Failed - o.Failed, c.NotSent - o.NotSent, c.OptedOut - o.OptedOut,
	}
}

// DayCounts returns the counts of the batch.
func (h LedgerSummary) DayCounts() DayCounts {
	n := h.Counts
	c := DayCounts{Read: n[OutcomeRead]}
	c.Delivered = c.Read + n[OutcomeDelivered]
	c.Sent = c.Delivered + n[OutcomeSent] + n[OutcomeRevoked] + n[OutcomeExpired] - h.ExpiredUnsent()
	c.NotSent = n[OutcomeStopped] + h.OptedOut() + h.Suppressed() + h.ExpiredUnsent()
	c.Failed = n[OutcomeFailed] + n[OutcomeExpired] + n[OutcomeRevoked] + n[OutcomeStopped] - c.NotSent
	return c
}

// DayCounts returns the counts of the campaign by day, without opt-outs. Messages count on the day of
// their batch, see Batch.Day. People who are not accepted any more count on the day of the first batch, or of the
// cancellation if there is none.
func (c Campaign) DayCounts() map[string]DayCounts {
	days, first := map[string]DayCounts{}, c.CreatedAt
	for n, b := range c.Batches {
		if n == 0 {
			first = b.wentAt()
		}
		date := b.Day()
		days[date] = days[date].Plus(b.Head.DayCounts())
	}
	if never := c.Submission.NeverAccepted(); never > 0 {
		date := localtime.Day(first)
		days[date] = days[date].Plus(DayCounts{NotSent: never})
	}
	return days
}
