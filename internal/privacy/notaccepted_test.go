package privacy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/privacy"
)

// People who are not accepted any more have no message. Their data is exported and erased all the same:
// from the parts that are left, also if the submission is deleted, and from exports of the campaign.
func TestErase_NotAccepted(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, bruno)
	key := submission.NotAcceptedKey(w.id, campaign.SubmissionTotals{Check: 2}, 3)
	w.put(key, submission.EncodePart([]submission.Message{
		{Line: 6, Phone: "61 98765-0001", UID: "a"}, {Line: 7, Phone: written(caio), UID: "c"},
	}, 2))
	w.startExport(export.Completed)
	w.startExport(export.Running)

	want := []privacy.Upload{{Lines: []string{`{"line":6,"phone":"61 98765-0001","uid":"a"}`}, CampaignID: w.id.CampaignID}}
	if diff := cmp.Diff(want, w.export(ana).Uploads); diff != "" {
		t.Errorf("the export (-want +got):\n%s", diff)
	}
	if done := w.erase(ana); done.Uploads != 1 || done.Exports != 2 || len(w.exportFiles()) != 0 {
		t.Errorf("erased %+v, files of exports %v", done, w.exportFiles())
	}
	body, err := w.blobs.Get(t.Context(), key)
	w.must(err)
	left, people, err := submission.DecodePart(body)
	if diff := cmp.Diff([]submission.Message{{Line: 7, Phone: written(caio), UID: "c"}}, left); err != nil || people != 2 || diff != "" {
		t.Errorf("a part of %d people, error %v (-want +got):\n%s", people, err, diff)
	}
	if x := w.export(ana); !x.Nothing() {
		t.Errorf("after the erasure: %+v", x)
	}
	if done := w.erase(ana); !done.Nothing() {
		t.Errorf("a repeated erasure erases %+v", done)
	}
}
