package dynamo_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
)

// Stored results are returned until they expire, and are replaced by newer ones only.
func TestResults(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	at := s.Tables().Now().UTC().Truncate(time.Millisecond)
	id := campaign.ID{Tenant: randomID(), CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"}
	r := insight.Results{
		At: at, Status: campaign.StatusCompleted, Batches: 3, Moves: 1, CancelledAt: at.Add(-time.Hour), First: at.Add(-3 * time.Hour), Last: at.Add(-2 * time.Hour),
		TemplateID: "t", Templates: 2, Accepted: 10, Sent: 9, Delivered: 8, Read: 7, Lost: 6, OptedOut: 5, ExpiredUnsent: 2, Unanswered: 1, Until: at.Add(time.Hour), Tapped: 4, Clicked: 3, Cost: 1_234_567_890, Unpriced: 1, Tappable: true, Clickable: true,
		Next: at.Add(time.Minute), ToGo: 2, Stalled: true, NeverGo: 4, EndsAt: at.Add(72 * time.Hour),
		ExpiresAt: at.Add(time.Hour).Truncate(time.Second),
	}
	newer, older, ended := r, r, r
	newer.At, newer.Read = at.Add(time.Second), 8
	older.At, older.Read = at.Add(-time.Second), 1
	ended.At, ended.ExpiresAt = at.Add(time.Minute), at.Add(-time.Second)
	for _, step := range []struct {
		keep insight.Results
		want map[string]insight.Results
	}{
		{insight.Results{At: at}, map[string]insight.Results{}},
		{r, map[string]insight.Results{id.CampaignID: r}},
		{older, map[string]insight.Results{id.CampaignID: r}},
		{newer, map[string]insight.Results{id.CampaignID: newer}},
		{ended, map[string]insight.Results{}},
	} {
		must(t, s.KeepResults(t.Context(), id, step.keep))
		got, err := s.Results(t.Context(), id.Tenant, []string{id.CampaignID, "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f11"})
		must(t, err)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		_, got, err = s.StandingsAndResults(t.Context(), id.Tenant, []string{id.CampaignID})
		must(t, err)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("results with summaries (-want +got):\n%s", diff)
		}
	}
}

// Opt-outs are added to stored results, and stay when newer results are stored. They create no row, which would not expire.
func TestResults_OptOuts(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	at := s.Tables().Now().UTC().Truncate(time.Millisecond)
	id := campaign.ID{Tenant: randomID(), CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"}
	r := insight.Results{At: at, Delivered: 8, Cost: 5, ExpiresAt: at.Add(time.Hour).Truncate(time.Second)}
	counted, newer := r, r
	counted.OptOuts, counted.OptOutsUntil = 3, at.Add(-time.Minute)
	newer.At, newer.Delivered = at.Add(time.Second), 9
	both := newer
	both.OptOuts, both.OptOutsUntil = counted.OptOuts, counted.OptOutsUntil
	stored := func(want map[string]insight.Results) {
		t.Helper()
		got, err := s.Results(t.Context(), id.Tenant, []string{id.CampaignID})
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	}
	must(t, s.KeepOptOutCount(t.Context(), id, counted))
	stored(map[string]insight.Results{})
	must(t, s.KeepResults(t.Context(), id, r))
	must(t, s.KeepOptOutCount(t.Context(), id, counted))
	stored(map[string]insight.Results{id.CampaignID: counted})
	must(t, s.KeepResults(t.Context(), id, newer))
	stored(map[string]insight.Results{id.CampaignID: both})
}
