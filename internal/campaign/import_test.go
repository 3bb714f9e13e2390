package campaign_test

import (
	"testing"

	"campaign-dispatch/internal/campaign"
)

// A part is the same only in the same check of the same file of the same campaign.
func TestImport_PartID(t *testing.T) {
	t.Parallel()
	i := campaign.Import{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, Tag: "e", Checks: 1}
	other := map[string]string{"the next part": i.PartID(2)}
	for name, change := range map[string]func(i *campaign.Import){
		"another campaign": func(i *campaign.Import) { i.CampaignID = "d" },
		"another file":     func(i *campaign.Import) { i.Tag = "f" },
		"another check":    func(i *campaign.Import) { i.Checks = 11 },
	} {
		next := i
		change(&next)
		other[name] = next.PartID(1)
	}
	moved := i
	moved.Schedule, moved.Late, moved.Sent = "2037-11-22T12:00", true, 1
	if moved.PartID(1) != i.PartID(1) {
		t.Error("another time makes it another part")
	}
	for name, id := range other {
		if id == i.PartID(1) {
			t.Errorf("%s has the same identity", name)
		}
	}
}
