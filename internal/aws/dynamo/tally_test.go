package dynamo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/campaign"
)

func TestTally_RoundTrip(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]campaign.LedgerSummary{
		"nothing": {},
		"counts":  {Counts: map[campaign.Outcome]int{campaign.OutcomeSent: 2000}},
		"everything": {
			Counts: map[campaign.Outcome]int{campaign.OutcomeRead: 1400, campaign.OutcomeFailed: 3, campaign.OutcomeStopped: 1},
			Reasons: map[campaign.Reason]int{
				{Outcome: campaign.OutcomeFailed, Code: "unreachable"}: 5, {Outcome: campaign.OutcomeFailed, Code: campaign.CodeSuperseded}: -2,
				{Outcome: campaign.OutcomeStopped, Code: "cancelled"}: 1,
			},
			Timeline: campaign.Timeline{Start: time.Date(2037, 11, 21, 12, 1, 0, 0, time.UTC), Slots: []campaign.Slot{
				{Number: 0, Net: map[campaign.Outcome]int{campaign.OutcomeSent: 1400, campaign.OutcomeFailed: 5}},
				{Number: 33, Net: map[campaign.Outcome]int{campaign.OutcomeSent: -1400, campaign.OutcomeFailed: -2, campaign.OutcomeRead: 1400, campaign.OutcomeStopped: 1}},
			}},
		},
	} {
		got, err := unpackTally(packTally(head))
		if diff := cmp.Diff(head, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: error %v, tally (-want +got):\n%s", name, err, diff)
		}
	}
}

// A tally is small compared with the states of 2,000 messages (750 bytes), so it adds
// little to the cost of a head write.
func TestTally_Size(t *testing.T) {
	t.Parallel()
	head := campaign.LedgerSummary{
		Counts: map[campaign.Outcome]int{campaign.OutcomeSent: 100, campaign.OutcomeRead: 1400, campaign.OutcomeDelivered: 300, campaign.OutcomeFailed: 200},
		Reasons: map[campaign.Reason]int{
			{Outcome: campaign.OutcomeFailed, Code: "unreachable"}: 180, {Outcome: campaign.OutcomeFailed, Code: "opted_out"}: 20,
		},
		Timeline: campaign.Timeline{Start: time.Date(2037, 11, 21, 12, 1, 0, 0, time.UTC)},
	}
	for number := range 35 {
		head.Timeline.Slots = append(head.Timeline.Slots, campaign.Slot{Number: number, Net: map[campaign.Outcome]int{
			campaign.OutcomeSent: -40, campaign.OutcomeDelivered: 9, campaign.OutcomeRead: 40,
		}})
	}
	if size := len(packTally(head)); size > 240 {
		t.Errorf("the tally of a batch that took days has %d bytes, want 240 at most", size)
	}
	head.Timeline.Slots = head.Timeline.Slots[:8]
	if size := len(packTally(head)); size > 100 {
		t.Errorf("the tally of a batch that took an hour has %d bytes, want 100 at most", size)
	}
}

func FuzzUnpackTally(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 1, 4, 1, 'x', 2, 8, 0, 3, 2})
	f.Fuzz(func(t *testing.T, tally []byte) {
		head, err := unpackTally(tally)
		if err != nil {
			return
		}
		if again, err := unpackTally(packTally(head)); err != nil || !cmp.Equal(head.Counts, again.Counts) {
			t.Errorf("read %v, again %v, error %v", head.Counts, again.Counts, err)
		}
	})
}
