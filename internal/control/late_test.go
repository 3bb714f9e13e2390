package control_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/control"
)

// A cancellation says how much had been sent, and how much was stopped: nothing if it came too late.
func TestCancel_SaysWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sent  int // of the three messages of the first batch
		later bool
		want  campaign.Cancellation
		late  bool
	}{
		"nothing is sent": {0, true, campaign.Cancellation{Stopping: 8}, false},
		"half is sent":    {2, true, campaign.Cancellation{Sent: 2, Stopping: 6}, false},
		"all is sent":     {3, false, campaign.Cancellation{Sent: 3}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			b := d.accept(1, "", 3, campaign.BatchSending)
			d.record(b, campaign.OutcomeSent, 0, test.sent-1)
			if test.later {
				d.accept(2, "later", 5, campaign.BatchPending)
			}
			for range 2 { // the same again
				done, err := d.service.Cancel(t.Context(), d.id, false)
				d.must(err)
				if diff := cmp.Diff(control.Cancelled{Cancellation: test.want}, done); diff != "" || done.NothingToStop() != test.late {
					t.Errorf("too late: %t; found (-want +got):\n%s", done.NothingToStop(), diff)
				}
			}
			d.record(b, campaign.OutcomeStopped, test.sent, 2)
			d.work()
			want := campaign.Cancellation{Sent: test.want.Sent, Stopped: test.want.Stopping}
			if diff := cmp.Diff(want, d.campaign().Cancellation()); diff != "" {
				t.Errorf("in the end (-want +got):\n%s", diff)
			}
		})
	}
}
