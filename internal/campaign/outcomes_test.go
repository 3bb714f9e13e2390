package campaign_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

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

// For any repetition and order of changes: each message reaches its highest outcome, First
// changes apply only to messages without an outcome, and the head counts each message once.
func TestHeadAfter_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		batchLedger := campaign.Ledger{Frames: map[int]campaign.FrameState{}}
		for f := range 3 {
			batchLedger.Frames[f] = campaign.FrameState{Outcomes: map[int]campaign.Outcome{}}
		}
		want, steps := map[int]campaign.Outcome{}, 0
		for round := range rapid.IntRange(1, 5).Draw(t, "rounds") {
			var changes []campaign.Change
			for range rapid.IntRange(0, 30).Draw(t, "changes") {
				c := campaign.Change{
					Index:   rapid.IntRange(0, 299).Draw(t, "index"),
					Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"),
					First:   rapid.Bool().Draw(t, "first"),
				}
				changes = append(changes, c)
				if old := want[c.Index]; old == "" || !c.First && step(c.Outcome) > step(old) {
					want[c.Index] = c.Outcome
					steps++
				}
			}
			news := batchLedger.Effective(changes)
			batchLedger.Head = batchLedger.HeadAfter(news, 1)
			for _, c := range news {
				batchLedger.Frames[c.Index/campaign.FrameSize].Outcomes[c.Index] = c.Outcome
			}
			if batchLedger.Head.Ordinal != round+1 || batchLedger.Head.Sequence != steps || batchLedger.Head.Known() != len(want) {
				t.Fatalf("the head is %+v after %d changes of %d messages", batchLedger.Head, steps, len(want))
			}
			if again := batchLedger.Effective(changes); len(again) > 0 {
				t.Fatalf("%d changes are news twice", len(again))
			}
		}
		counts, got := map[campaign.Outcome]int{}, map[int]campaign.Outcome{}
		for i, o := range want {
			counts[o]++
			got[i] = batchLedger.Outcome(i)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		kept := maps.Clone(batchLedger.Head.Counts)
		maps.DeleteFunc(kept, func(_ campaign.Outcome, n int) bool { return n == 0 })
		if diff := cmp.Diff(counts, kept, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if settled := len(want) - counts[campaign.OutcomeSent]; batchLedger.Head.Final() != settled {
			t.Fatalf("%d are settled, want %d", batchLedger.Head.Final(), settled)
		}
	})
}
