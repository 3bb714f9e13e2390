package campaigns

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

// waiting is what a campaign waits for after its last message was sent.
type waiting struct {
	N     int       // sent messages without a delivery status
	Until time.Time // when they end at the latest, zero if unknown
}

// waitingOf returns what a sending campaign waits for. It is zero while messages wait to
// be sent or to be accepted.
func waitingOf(v view, now time.Time) waiting {
	if v.Status != campaign.StatusSending || v.Pending > 0 || v.Submission.ToCome() > 0 {
		return waiting{}
	}
	w := waiting{N: v.Counts[campaign.OutcomeSent]}
	for _, b := range v.Campaign.Batches {
		switch {
		case b.Done():
		case b.State != campaign.BatchSent || !b.NextCheck.After(now):
			return waiting{N: w.N}
		case b.NextCheck.After(w.Until):
			w.Until = b.NextCheck
		}
	}
	return w
}
