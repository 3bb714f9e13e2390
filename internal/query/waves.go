package query

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/rollout/bucket"
)

// waveState says whether messages of a campaign in waves are still to be accepted.
type waveState string

const (
	wavesSending waveState = "sending" // of the wave that was opened last
	wavesHolding waveState = "holding" // of the next wave, which a person has to open
	wavesEnded   waveState = "ended"   // none
)

// waves are those of a campaign's file.
type waves struct {
	Scope string    `json:"scope"`
	State waveState `json:"state"`
	Wave  int       `json:"wave"` // the last one of which a part was accepted, 0 for none
	Waves []wave    `json:"waves"`
}

type wave struct {
	Wave     int       `json:"wave"`
	From     int       `json:"from"`
	Until    int       `json:"until"`
	Accepted int       `json:"accepted"`
	OpenedAt time.Time `json:"openedAt,omitzero"`
}

// wavesOf returns the waves of a campaign, nil for one that goes at once.
func wavesOf(c campaign.Campaign) *waves {
	cells := c.Submission.Cells
	if cells.Waves() == 0 {
		return nil
	}
	all := make([]wave, cells.Waves())
	for n := range all {
		all[n].Wave = n + 1
		all[n].From, all[n].Until = cells.Buckets(n + 1)
	}
	for _, b := range c.Batches {
		if n := cells.WaveOfBatch(b.Batch); n > 0 {
			all[n-1].add(b)
		}
	}
	return &waves{bucket.Wave(c.CampaignID), waveStateOf(c.Submission), cells.WaveOf(c.Submission.PartsDone), all}
}

func (w *wave) add(b campaign.BatchProgress) {
	w.Accepted += b.Accepted
	if w.OpenedAt.IsZero() || b.AcceptedAt.Before(w.OpenedAt) {
		w.OpenedAt = b.AcceptedAt
	}
}

func waveStateOf(t campaign.SubmissionTotals) waveState {
	switch {
	case t.PartsToCome == 0:
		return wavesEnded
	case t.Holding() > 0:
		return wavesHolding
	}
	return wavesSending
}
