package campaign_test

import (
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
)

func TestCampaign_Status(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	batch := func(state campaign.BatchState, outcome campaign.Outcome, known int) campaign.Progress {
		p := campaign.Progress{Batch: campaign.Batch{State: state, Accepted: 2}}
		p.Head.Counts = map[campaign.Outcome]int{outcome: known}
		return p
	}
	marked := func(p campaign.Progress) campaign.Progress {
		p.CancelledAt = noon
		return p
	}
	scheduled := batch(campaign.BatchPending, "", 0)
	scheduled.Scheduled = true
	waiting := batch(campaign.BatchPending, "", 0) // to be released at once
	half := batch(campaign.BatchSending, campaign.OutcomeRead, 1)
	sent := batch(campaign.BatchSent, campaign.OutcomeSent, 2)
	completed := batch(campaign.BatchCompleted, campaign.OutcomeRead, 2)
	stopped := marked(batch(campaign.BatchCancelled, campaign.OutcomeStopped, 2))
	type batches = []campaign.Progress
	tests := map[string]struct {
		batches   batches
		cancelled bool
		want      campaign.Status
	}{
		"scheduled":                            {batches{scheduled}, false, campaign.StatusScheduled},
		"to be released":                       {batches{waiting}, false, campaign.StatusSending},
		"half sent":                            {batches{half}, false, campaign.StatusSending},
		"sent, no answers":                     {batches{sent}, false, campaign.StatusSending},
		"completed":                            {batches{completed}, false, campaign.StatusCompleted},
		"completed, scheduled":                 {batches{completed, scheduled}, false, campaign.StatusScheduled},
		"completed, sending":                   {batches{completed, half}, false, campaign.StatusSending},
		"scheduled, sending":                   {batches{scheduled, half}, false, campaign.StatusSending},
		"scheduled, sent":                      {batches{scheduled, sent}, false, campaign.StatusSending},
		"cancelled":                            {batches{stopped}, true, campaign.StatusCancelled},
		"cancelled, not stopped yet":           {batches{marked(batch(campaign.BatchCancelled, "", 0))}, true, campaign.StatusCancelled},
		"cancelled, completed":                 {batches{completed, stopped}, true, campaign.StatusCancelled},
		"cancelled, pending of one being sent": {batches{marked(half), stopped}, true, campaign.StatusSending},
		"cancelled, with the provider":         {batches{marked(sent)}, true, campaign.StatusCancelled},
		"cancelled, a batch not marked yet":    {batches{scheduled}, true, campaign.StatusCancelled},
		"cancelled, all of it completed":       {batches{completed}, true, campaign.StatusCancelled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := campaign.Campaign{Batches: test.batches}
			if test.cancelled {
				c.CancelledAt = noon
			}
			if got := c.Status(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestTally_Ended(t *testing.T) {
	t.Parallel()
	for tally, want := range map[campaign.Tally]bool{
		{Completed: 1, Batches: 2}:                  false,
		{Completed: 2, Batches: 2}:                  true,
		{Completed: 2, Batches: 2, Cancelled: true}: false,
	} {
		if got := tally.IsCompleted(); got != want {
			t.Errorf("%+v: %v", tally, got)
		}
	}
}
