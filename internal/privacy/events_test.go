package privacy

import (
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

func TestConcerns(t *testing.T) {
	t.Parallel()
	a := &person{tenant: campaign.Tenant{ID: "a"}, agents: []string{"shared"}}
	b := &person{tenant: campaign.Tenant{ID: "b"}, agents: []string{"shared"}}
	moved := &person{tenant: campaign.Tenant{ID: "moved"}, agents: []string{"new"}}
	const event, untold = "events/shared/2037/one", "events/shared/2037/two"
	const former = "events/old/2037/three"
	keys := []string{event, a.happens(event, delivery.KindReplied), untold, former, moved.happens(former, delivery.KindOptedOut)}
	kept := keptEvents{keys: map[string]bool{}, told: map[string]bool{}}
	for _, key := range keys {
		kept.add(campaign.Blob{Key: key})
	}
	for name, test := range map[string]struct {
		of   *person
		want []bool
	}{
		"told of one":                   {a, []bool{true, true, true, false, false}},
		"who shares the agent":          {b, []bool{false, false, true, false, false}},
		"who had another agent then":    {moved, []bool{false, false, false, true, true}},
		"who gave the agent up":         {&person{tenant: campaign.Tenant{ID: "d"}, agents: []string{"shared", "new"}}, []bool{false, false, true, false, false}},
		"who has nothing to do with it": {&person{tenant: campaign.Tenant{ID: "c"}, agents: []string{"own"}}, make([]bool, 5)},
	} {
		for i, key := range keys {
			if got := test.of.concerns(key, kept); got != test.want[i] {
				t.Errorf("%s: key %d concerns it: %v", name, i, got)
			}
		}
	}
}
