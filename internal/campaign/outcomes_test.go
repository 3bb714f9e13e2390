package campaign_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
)

var outcomes = []campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeFailed, campaign.OutcomeExpired}

func TestSupersedes(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes {
		if !o.Supersedes("") {
			t.Errorf("%s is no news of a message of which nothing is known", o)
		}
		for _, old := range append(outcomes, "unheard of") {
			if old != "unheard of" && o.Supersedes(old) {
				t.Errorf("%s replaces %s", o, old)
			}
		}
	}
	if campaign.Outcome("unheard of").Supersedes("") {
		t.Error("an outcome that does not exist is news")
	}
}

// However often and in whatever order changes come, each message keeps its
// first outcome, and the head counts each message once.
func TestBooksBalance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		books := campaign.Books{Frames: map[int]campaign.FrameState{}}
		for f := range 3 {
			books.Frames[f] = campaign.FrameState{Outcomes: map[int]campaign.Outcome{}}
		}
		want := map[int]campaign.Outcome{}
		for round := range rapid.IntRange(1, 5).Draw(t, "rounds") {
			var changes []campaign.Change
			for range rapid.IntRange(0, 30).Draw(t, "changes") {
				c := campaign.Change{Index: rapid.IntRange(0, 299).Draw(t, "index"), Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome")}
				changes = append(changes, c)
				if want[c.Index] == "" {
					want[c.Index] = c.Outcome
				}
			}
			news := books.News(changes)
			books.Head = books.HeadAfter(news, 1)
			for _, c := range news {
				books.Frames[c.Index/campaign.FrameSize].Outcomes[c.Index] = c.Outcome
			}
			if books.Head.Ordinal != round+1 || books.Head.Sequence != len(want) || books.Head.Settled() != len(want) {
				t.Fatalf("the head is %+v after %d messages", books.Head, len(want))
			}
			if again := books.News(changes); len(again) > 0 {
				t.Fatalf("%d changes are news twice", len(again))
			}
		}
		counts, got := map[campaign.Outcome]int{}, map[int]campaign.Outcome{}
		for i, o := range want {
			counts[o]++
			got[i] = books.Outcome(i)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(counts, books.Head.Counts, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}
