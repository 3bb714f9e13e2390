package submission_test

import (
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// A part is the same only in the same check of the same file of the same campaign.
func TestSubmission_PartID(t *testing.T) {
	t.Parallel()
	sub := submission.Submission{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, File: submission.File{Tag: "e"}, Check: submission.Check{Number: 1}}
	other := map[string]string{"the next part": sub.PartID(2)}
	for name, change := range map[string]func(sub *submission.Submission){
		"another campaign": func(sub *submission.Submission) { sub.CampaignID = "d" },
		"another file":     func(sub *submission.Submission) { sub.File.Tag = "f" },
		"another check":    func(sub *submission.Submission) { sub.Check.Number = 11 },
	} {
		next := sub
		change(&next)
		other[name] = next.PartID(1)
	}
	moved := sub
	moved.Schedule, moved.Sending.RestAtOnce, moved.Sending.Parts = "2037-11-22T12:00", true, 1
	if moved.PartID(1) != sub.PartID(1) {
		t.Error("another time makes it another part")
	}
	for name, id := range other {
		if id == sub.PartID(1) {
			t.Errorf("%s has the same identity", name)
		}
	}
}
