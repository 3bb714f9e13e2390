package dynamo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

// What META has of a file is read as it was written. A row of an earlier release has no people in other batches.
func TestTotals_RoundTrip(t *testing.T) {
	t.Parallel()
	now := time.Date(2036, 11, 21, 12, 0, 0, 0, time.UTC)
	rows := &table{Tables{Now: func() time.Time { return now }}}
	want := campaign.SubmissionTotals{
		Lines: 100, Invalid: 1, Faulty: 2, Repeated: 3, People: 94, Withheld: 4, Erased: 5, InOtherBatches: 6, Accepted: 7,
		PartsToCome: 8, Check: 9, Parts: 10, PartsDone: 2, Until: now.AddDate(0, 0, 7),
	}
	row := totalsItem(want)
	if diff := cmp.Diff(want, rows.readTotals(row)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	delete(row, "inOtherBatches")
	want.InOtherBatches = 0
	if diff := cmp.Diff(want, rows.readTotals(row)); diff != "" {
		t.Errorf("totals of an earlier release (-want +got):\n%s", diff)
	}
}

// A batch keeps how many people its part goes without. Other batches have no attribute for it.
func TestBatchRow_InOtherBatches(t *testing.T) {
	t.Parallel()
	s := New(Tables{Now: time.Now})
	for _, others := range []int{0, 3} {
		b := campaign.Batch{BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, BatchID: "b"}, Part: "p", InOtherBatches: others}
		row := s.batchRow(b)
		got, err := readBatch(b.BatchRef, row)
		if _, has := row["inOtherBatches"]; err != nil || got.InOtherBatches != others || has != (others > 0) {
			t.Errorf("%d people in other batches, want %d; attribute: %t, %v", got.InOtherBatches, others, has, err)
		}
	}
}
