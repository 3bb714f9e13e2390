package campaign_test

import (
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

func TestCampaign_Status(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	batch := func(state campaign.BatchState, outcome campaign.Outcome, known int) campaign.BatchProgress {
		p := campaign.BatchProgress{Batch: campaign.Batch{State: state, Accepted: 2}}
		p.Head.Counts = map[campaign.Outcome]int{outcome: known}
		return p
	}
	marked := func(p campaign.BatchProgress) campaign.BatchProgress {
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
	type batches = []campaign.BatchProgress
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

// While parts of a file are to come, its campaign is not completed.
func TestCampaign_StatusWithPartsToCome(t *testing.T) {
	t.Parallel()
	completed := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchCompleted}}
	scheduled := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchPending, Scheduled: true, Accepted: 2}}
	for name, test := range map[string]struct {
		batches []campaign.BatchProgress
		toCome  int
		want    campaign.Status
	}{
		"completed so far": {[]campaign.BatchProgress{completed}, 1, campaign.StatusSending},
		"completed":        {[]campaign.BatchProgress{completed}, 0, campaign.StatusCompleted},
		"scheduled":        {[]campaign.BatchProgress{scheduled}, 1, campaign.StatusScheduled},
		"no batch yet":     {nil, 1, campaign.StatusSending},
	} {
		c := campaign.Campaign{Batches: test.batches, Submission: campaign.SubmissionTotals{Lines: 4, People: 4, PartsToCome: test.toCome}}
		if got := c.Status(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestTally_Ended(t *testing.T) {
	t.Parallel()
	for progress, want := range map[campaign.Progress]struct{ completed, awaits bool }{
		{Completed: 1, Batches: 2}:                                  {false, false},
		{Completed: 2, Batches: 2}:                                  {true, false},
		{Completed: 2, Batches: 2, Cancelled: true}:                 {false, false},
		{Completed: 2, Batches: 2, PartsToCome: 1}:                  {false, true},
		{Completed: 1, Batches: 2, PartsToCome: 1}:                  {false, false},
		{Completed: 2, Batches: 2, PartsToCome: 1, Cancelled: true}: {false, false},
	} {
		if progress.IsCompleted() != want.completed || progress.AwaitsParts() != want.awaits {
			t.Errorf("%+v: completed %t, awaits parts %t; want %+v", progress, progress.IsCompleted(), progress.AwaitsParts(), want)
		}
	}
}

// Further zones begin the 72 hours again, and fewer zones keep them.
func TestNeverOpen_Seen(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	one, two := window.Set(0).With(window.Manaus), window.Set(0).With(window.Manaus).With(window.Belem)
	var n campaign.NeverOpen
	for _, step := range []struct {
		zones window.Set
		at    time.Time
		since time.Time
	}{
		{one, noon, noon},
		{one, noon.Add(time.Hour), noon},
		{two, noon.Add(2 * time.Hour), noon.Add(2 * time.Hour)},
		{one, noon.Add(3 * time.Hour), noon.Add(2 * time.Hour)},
		{0, noon.Add(4 * time.Hour), time.Time{}},
		{one, noon.Add(5 * time.Hour), noon.Add(5 * time.Hour)},
	} {
		if n = n.Seen(step.zones, step.at); n.Zones != step.zones || !n.Since.Equal(step.since) {
			t.Errorf("at %v: %+v, want it since %v", step.at, n, step.since)
		}
	}
	ends := n.Since.Add(72 * time.Hour)
	if n.Over(window.Manaus, ends.Add(-1)) || !n.Over(window.Manaus, ends) || n.Over(window.Belem, ends) {
		t.Errorf("messages to the zones of %+v end at another time than %v", n, ends)
	}
}

// The messages end at their notAfter if that is earlier.
func TestBatch_EndsUnopened(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen := campaign.NeverOpen{Zones: window.Set(0).With(window.Manaus), Since: noon}
	for name, test := range map[string]struct {
		batch campaign.Batch
		want  time.Time
	}{
		"not seen":                {campaign.Batch{}, time.Time{}},
		"not seen, with notAfter": {campaign.Batch{NotAfter: noon}, noon},
		"seen":                    {campaign.Batch{NeverOpen: seen}, noon.Add(72 * time.Hour)},
		"seen, an early notAfter": {campaign.Batch{NeverOpen: seen, NotAfter: noon.Add(time.Hour)}, noon.Add(time.Hour)},
		"seen, a later notAfter":  {campaign.Batch{NeverOpen: seen, NotAfter: noon.Add(200 * time.Hour)}, noon.Add(72 * time.Hour)},
	} {
		if got := test.batch.EndsUnopened(); !got.Equal(test.want) {
			t.Errorf("%s: ends at %v, want %v", name, got, test.want)
		}
	}
}
