package insight_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
)

// Taps and clicks are counted for each version of a template, on the messages that count them.
func TestCampaign_Reactions(t *testing.T) {
	t.Parallel()
	batch := func(template string, version, delivered int, tapped, clicked []int) campaign.BatchProgress {
		return campaign.BatchProgress{
			Batch: campaign.Batch{TemplateID: template, TemplateVersion: version, TapKey: []byte{1}},
			Head: campaign.LedgerSummary{
				Counts: map[campaign.Outcome]int{campaign.OutcomeRead: delivered}, TappedBy: tapped, ClickedBy: clicked, TouchedBy: tapped,
			},
		}
	}
	plain := batch("a", 1, 100, nil, nil)
	plain.TapKey = nil
	clicked := batch("a", 1, 20, []int{1, 4}, []int{0, 2})
	clicked.CountsClicks = true
	c := campaign.Campaign{Batches: []campaign.BatchProgress{
		plain, batch("a", 1, 10, []int{3}, nil), batch("a", 2, 5, []int{1}, nil), clicked,
	}}
	want := []insight.Reactions{
		{TemplateID: "a", TemplateVersion: 1, CountsClicks: true, Delivered: 30, TappedBy: []int{4, 4}, ClickedBy: []int{0, 2}, TouchedBy: []int{4, 4}},
		{TemplateID: "a", TemplateVersion: 2, Delivered: 5, TappedBy: []int{1}, TouchedBy: []int{1}},
	}
	got := insight.ReactionsOf(c)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3}, c.Batches[1].Head.TappedBy); diff != "" {
		t.Errorf("the batch changed (-want +got):\n%s", diff)
	}
	for suggestion, want := range map[int][2]insight.Rate{
		1: {{Step: insight.StepTapped, N: 4, Of: 30}, {Step: insight.StepClicked, N: 0, Of: 30}},
		2: {{Step: insight.StepTapped, N: 4, Of: 30}, {Step: insight.StepClicked, N: 2, Of: 30}},
		3: {{Step: insight.StepTapped, N: 0, Of: 30}, {Step: insight.StepClicked, N: 0, Of: 30}},
	} {
		if got := [2]insight.Rate{got[0].Rate(insight.StepTapped, suggestion), got[0].Rate(insight.StepClicked, suggestion)}; got != want {
			t.Errorf("suggestion %d: %v, want %v", suggestion, got, want)
		}
	}
}
