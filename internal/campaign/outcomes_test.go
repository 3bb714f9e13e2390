package campaign_test

import (
	"testing"

	"campaign-dispatch/internal/campaign"
)

var outcomes = []campaign.Outcome{
	campaign.OutcomeSent, campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped,
	campaign.OutcomeDelivered, campaign.OutcomeRead,
}

// step is the rank of an outcome.
func step(o campaign.Outcome) int {
	steps := map[campaign.Outcome]int{campaign.OutcomeSent: 1, campaign.OutcomeDelivered: 3, campaign.OutcomeRead: 4}
	if step, ok := steps[o]; ok {
		return step
	}
	return 2
}

func TestSupersedes(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes {
		if !o.Supersedes("") {
			t.Errorf("%s is no news of a message of which nothing is known", o)
		}
		for _, old := range outcomes {
			if got, want := o.Supersedes(old), step(o) > step(old); got != want {
				t.Errorf("%s after %s: %v, want %v", o, old, got, want)
			}
		}
		if got := o.Final(); got != (o != campaign.OutcomeSent) {
			t.Errorf("%s is settled: %v", o, got)
		}
	}
	if campaign.Outcome("unheard of").Supersedes("") {
		t.Error("an outcome that does not exist is news")
	}
}
