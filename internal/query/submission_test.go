package query_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

// The answer counts the people of a campaign's file, and is completed only with its last part.
func TestServeCampaign_Submission(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.totals = campaign.SubmissionTotals{
		Lines: 12, Invalid: 1, Faulty: 2, Repeated: 1, People: 8, Erased: 1, InOtherBatches: 1, Accepted: 3, PartsToCome: 2, Until: noon.AddDate(0, 0, 7),
	}
	part := d.accept(1, "1", 3, nil)
	d.record(part, campaign.OutcomeRead, "", 0, 2)
	want := object{
		"lines": 12., "invalid": 1., "faulty": 2., "repeated": 1., "erased": 1., "inOtherBatches": 1., "people": 8., "accepted": 3., "notAccepted": 3.,
	}
	check := func(status string) {
		t.Helper()
		code, got := d.get("")
		if code != http.StatusOK || got["status"] != status {
			t.Errorf("%d, %v, want %s", code, got["status"], status)
		}
		if diff := cmp.Diff(want, got["submission"]); diff != "" {
			t.Errorf("submission (-want +got):\n%s", diff)
		}
	}
	check("sending")
	_, err := d.store.EndParts(t.Context(), d.id)
	d.must(err)
	check("completed")
}
