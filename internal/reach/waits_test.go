package reach_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
)

// rowsRead has one template and policy, and counts the reads of the template.
type rowsRead struct {
	policy    reach.TenantHours
	templates int
}

func (r *rowsRead) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	r.templates++
	return campaign.Template{Traffic: campaign.Promotion}, nil
}

func (r *rowsRead) TenantHours(context.Context, string) (reach.TenantHours, error) {
	return r.policy, nil
}

func TestWaitingOf_ReadsATemplateOnce(t *testing.T) {
	t.Parallel()
	var c campaign.Campaign
	for range 100 {
		b := campaign.BatchProgress{Batch: campaign.Batch{TemplateID: "t", TemplateVersion: 3}}
		b.ClosedZones = []window.Count{{Zone: window.Manaus, Messages: 2}}
		c.Batches = append(c.Batches, b)
	}
	rows := &rowsRead{policy: usual()}
	waiting, err := reach.WaitingOf(t.Context(), rows, c, night)
	if err != nil || len(waiting) != 1 || waiting[0].Messages != 200 {
		t.Errorf("%+v waits (%v), want 200 messages", waiting, err)
	}
	if rows.templates != 1 {
		t.Errorf("%d reads of one template", rows.templates)
	}
}

// The largest campaigns have 10,000 batches, and an opening takes 0.1 ms to find. One for each batch and zone would take
// longer than a page has.
func TestWaitingOf_LargeCampaign(t *testing.T) {
	t.Parallel()
	rows := &rowsRead{policy: usual()}
	rows.policy.Holidays = slices.Repeat([]string{"2026-07-09"}, reach.MaxHolidays)
	b := campaign.BatchProgress{Batch: campaign.Batch{TemplateID: "t", TemplateVersion: 3}}
	for _, z := range window.All() {
		b.ClosedZones = append(b.ClosedZones, window.Count{Zone: z, Messages: 1})
	}
	narrowed := b
	narrowed.SendWindow = &window.Week{time.Tuesday: {From: 600, Until: 660}}
	c := campaign.Campaign{Batches: slices.Repeat([]campaign.BatchProgress{b, narrowed}, 5_000)}
	waiting, err := reach.WaitingOf(t.Context(), rows, c, night)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range waiting {
		if w.Messages != 5_000 {
			t.Errorf("%d messages wait for %v in %v, want 5000", w.Messages, w.OpensAt, w.Zone)
		}
	}
	if len(waiting) != 2*len(window.All()) {
		t.Errorf("%d waits", len(waiting))
	}
}

// All pending messages of a paused campaign wait for its end, also before a function has found the pause. Those of a cancelled
// campaign wait for nothing: they are stopped.
func TestWaitingOf_Paused(t *testing.T) {
	t.Parallel()
	sending := campaign.BatchProgress{
		Batch:       campaign.Batch{State: campaign.BatchSending, Accepted: 10, TemplateID: "t", TemplateVersion: 1},
		Head:        campaign.LedgerSummary{Counts: map[campaign.Outcome]int{campaign.OutcomeSent: 4}},
		ClosedZones: []window.Count{{Zone: window.Manaus, Messages: 2}},
	}
	unreleased := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchPending, Accepted: 5, Scheduled: true}}
	marked := sending
	marked.Waits.Paused = true
	paused := func(n int) []reach.Waiting {
		return []reach.Waiting{{Reason: reach.ReasonPaused, Opening: reach.Opening{Count: window.Count{Messages: n}}}}
	}
	for name, test := range map[string]struct {
		campaign campaign.Campaign
		want     []reach.Waiting
	}{
		"paused just now":       {campaign.Campaign{PausedAt: night, Batches: []campaign.BatchProgress{sending, unreleased}}, paused(11)},
		"paused by an operator": {campaign.Campaign{Batches: []campaign.BatchProgress{marked, unreleased}}, paused(6)},
		"cancelled":             {campaign.Campaign{CancelledAt: night, Batches: []campaign.BatchProgress{marked, sending}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := reach.WaitingOf(t.Context(), &rowsRead{policy: usual()}, test.campaign, night)
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v; waiting (-want +got):\n%s", err, diff)
			}
		})
	}
}
