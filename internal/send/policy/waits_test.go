package policy_test

import (
	"context"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/send/policy"
)

// rowsRead has one template, and counts the reads of it.
type rowsRead struct{ templates int }

func (r *rowsRead) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	r.templates++
	return campaign.Template{Traffic: campaign.Promotion}, nil
}

func (*rowsRead) SendPolicy(context.Context, string) (policy.Policy, error) { return usual(), nil }

func TestWaitingOf_ReadsATemplateOnce(t *testing.T) {
	t.Parallel()
	var c campaign.Campaign
	for range 100 {
		b := campaign.BatchProgress{Batch: campaign.Batch{TemplateID: "t", TemplateVersion: 3}}
		b.Held = []window.Count{{Zone: window.Manaus, Messages: 2}}
		c.Batches = append(c.Batches, b)
	}
	rows := &rowsRead{}
	waiting, err := policy.WaitingOf(t.Context(), rows, c, night)
	if err != nil || len(waiting) != 1 || waiting[0].Messages != 200 {
		t.Errorf("%+v waits (%v), want 200 messages", waiting, err)
	}
	if rows.templates != 1 {
		t.Errorf("%d reads of one template", rows.templates)
	}
}
