package campaign_test

import (
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
)

func TestUseOf(t *testing.T) {
	t.Parallel()
	sent := func(agent string, closedAt time.Time) campaign.Progress {
		return campaign.Progress{Batch: campaign.Batch{AgentID: agent, ClosedAt: closedAt}}
	}
	first, last := time.Unix(1, 0), time.Unix(2, 0)
	use := campaign.UseOf([]campaign.Progress{
		sent("a", last), sent("a", first), sent("a", time.Time{}), sent("b", time.Time{}), sent("b", time.Unix(3, 0)),
	}, "a")
	if want := (campaign.Use{Open: 1, ClosedAt: last}); use != want {
		t.Errorf("use %+v, want %+v", use, want)
	}
	if sum, want := use.Add(campaign.Use{Open: 2, ClosedAt: first}), (campaign.Use{Open: 3, ClosedAt: last}); sum != want {
		t.Errorf("sum %+v, want %+v", sum, want)
	}
}
