package campaign_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

// The sums of an outcome's reasons and of its changes over all slots equal its count, for
// any order of changes.
func TestSummary_TallyMatchesCounts(t *testing.T) {
	t.Parallel()
	outcomes := []campaign.Outcome{
		campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead, campaign.OutcomeFailed,
		campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped,
	}
	codes := []string{"", "unreachable", "no_answer"}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		batchLedger := newBatchLedger()
		for range 40 {
			var changes []campaign.Change
			for range random.IntN(30) {
				changes = append(changes, campaign.Change{
					Index: random.IntN(60), Outcome: outcomes[random.IntN(len(outcomes))], Code: codes[random.IntN(len(codes))],
					At: at.Add(time.Duration(random.ExpFloat64() * float64(time.Hour))),
				})
			}
			batchLedger.enter(changes)
		}
		for _, outcome := range outcomes {
			checkTally(t, batchLedger.head, outcome)
		}
	}
}

var at = time.Date(2026, 11, 21, 12, 0, 30, 0, time.UTC)

// batchLedger is the summary of a batch with the outcomes of its messages.
type batchLedger struct {
	head     campaign.LedgerSummary
	outcomes map[int]campaign.Outcome
}

func newBatchLedger() *batchLedger { return &batchLedger{outcomes: map[int]campaign.Outcome{}} }

func (b *batchLedger) outcome(index int) campaign.Outcome { return b.outcomes[index] }

// enter applies the changes that supersede the current outcomes.
func (b *batchLedger) enter(changes []campaign.Change) {
	for _, c := range changes {
		if c.Outcome.Supersedes(b.outcomes[c.Index]) {
			b.head = b.head.After([]campaign.Change{c}, b.outcome)
			b.outcomes[c.Index] = c.Outcome
		}
	}
}

func checkTally(t *testing.T, head campaign.LedgerSummary, outcome campaign.Outcome) {
	t.Helper()
	over, why := 0, 0
	for _, slot := range head.Timeline.Slots {
		over += slot.Net[outcome]
	}
	for reason, n := range head.Reasons {
		if reason.Outcome == outcome {
			why += n
		}
	}
	ended := outcome.Final() && outcome != campaign.OutcomeDelivered && outcome != campaign.OutcomeRead
	if count := head.Counts[outcome]; over != count || ended && why != count {
		t.Errorf("%d messages are %s: %d by the timeline, %d by the reasons", count, outcome, over, why)
	}
}

func TestSummary_AfterDoesNotModifyReceiver(t *testing.T) {
	t.Parallel()
	first := []campaign.Change{{Index: 1, Outcome: campaign.OutcomeFailed, At: at}}
	again := []campaign.Change{{Index: 1, Outcome: campaign.OutcomeRead, At: at}}
	read, want := newBatchLedger(), newBatchLedger()
	read.enter(first)
	want.enter(first)
	_ = read.head.After(again, read.outcome)
	if diff := cmp.Diff(want.head, read.head); diff != "" {
		t.Errorf("the head that was read has changed (-want +got):\n%s", diff)
	}
}

func TestTimeline_Slots(t *testing.T) {
	t.Parallel()
	start := at.Truncate(time.Minute)
	for name, test := range map[string]struct {
		after time.Duration
		slot  int
		end   time.Duration
	}{
		"before the start":         {-time.Hour, 0, time.Minute},
		"in the first minute":      {20 * time.Second, 0, time.Minute},
		"in the fifth minute":      {4 * time.Minute, 4, 5 * time.Minute},
		"after five minutes":       {5 * time.Minute, 5, 10 * time.Minute},
		"before half an hour":      {30*time.Minute - 1, 9, 30 * time.Minute},
		"after half an hour":       {30 * time.Minute, 10, time.Hour},
		"in the third hour":        {170 * time.Minute, 14, 3 * time.Hour},
		"in the morning after":     {23 * time.Hour, 21, 24 * time.Hour},
		"on the second day":        {25 * time.Hour, 22, 30 * time.Hour},
		"at the end of the fourth": {96*time.Hour - 1, 33, 96 * time.Hour},
		"a year later":             {365 * 24 * time.Hour, 34, 102 * time.Hour},
	} {
		batchLedger := newBatchLedger()
		batchLedger.enter([]campaign.Change{
			{Index: 1, Outcome: campaign.OutcomeSent, At: start}, {Index: 1, Outcome: campaign.OutcomeRead, At: start.Add(test.after)},
		})
		slots := batchLedger.head.Timeline.Slots
		last := slots[len(slots)-1]
		if end := batchLedger.head.Timeline.End(last.Number).Sub(start); last.Number != test.slot || end != test.end {
			t.Errorf("%s: slot %d, which ends after %v, want %d and %v", name, last.Number, end, test.slot, test.end)
		}
	}
}
