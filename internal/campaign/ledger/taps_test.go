package ledger_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

func tap(index, suggestion int, at time.Duration) campaign.Change {
	return campaign.Change{Index: index, Outcome: campaign.OutcomeTapped, Suggestion: suggestion, At: time.Unix(1_700_000_000, 0).UTC().Add(at)}
}

// Repeated, shuffled taps count once, and taps decode to what was encoded.
func TestTaps_Once(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		one := rapid.Custom(func(r *rapid.T) campaign.Change {
			return tap(rapid.IntRange(0, campaign.MaxMessages-1).Draw(r, "index"), rapid.IntRange(1, 51).Draw(r, "suggestion"),
				time.Duration(rapid.Int32().Draw(r, "ms"))*time.Millisecond)
		})
		distinct := map[[2]int]bool{}
		messages := map[int]bool{}
		var taps ledger.Taps
		for _, some := range rapid.SliceOf(rapid.SliceOf(one)).Draw(r, "events") {
			taps = taps.After(taps.NewTaps(append(some, some...)))
			for _, c := range some {
				distinct[[2]int{c.Index, c.Suggestion}], messages[c.Index] = true, true
			}
		}
		if taps.Sequence != len(distinct) || len(taps.Tail) != len(distinct) || taps.Messages() != len(messages) {
			r.Fatalf("%d taps, %d entries, %d messages, want %d taps of %d messages", taps.Sequence, len(taps.Tail), taps.Messages(), len(distinct), len(messages))
		}
		decoded, err := taps.Pack().Taps(taps.Sequence)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(taps.Tail, decoded.Tail); diff != "" {
			r.Fatalf("tail (-want +got):\n%s", diff)
		}
		by := decoded.BySuggestion()
		for key := range distinct {
			by[key[1]-1]--
			if !decoded.Has(tap(key[0], key[1], 0)) {
				r.Fatalf("tap %v is lost", key)
			}
		}
		if slices.ContainsFunc(by, func(n int) bool { return n != 0 }) {
			r.Fatalf("messages by suggestion without those that were tapped: %v", by)
		}
	})
}

// A message with an entry in both counts once, also for a suggestion.
func TestTaps_Or(t *testing.T) {
	t.Parallel()
	one := ledger.Taps{}.After([]campaign.Change{tap(0, 1, 0), tap(2, 2, 0), tap(5, 1, 0)})
	other := ledger.Taps{}.After([]campaign.Change{tap(0, 2, 0), tap(1, 1, 0), tap(2, 2, 0)})
	for name, both := range map[string]ledger.Taps{"": one.Or(other), "the other way round": other.Or(one)} {
		if diff := cmp.Diff([]int{3, 2}, both.BySuggestion()); diff != "" || both.Messages() != 4 {
			t.Errorf("%d messages with an entry in one or the other %s (-want +got):\n%s", both.Messages(), name, diff)
		}
	}
	if one.Messages() != 3 || other.Messages() != 3 {
		t.Errorf("%d and %d messages afterwards, want 3 each", one.Messages(), other.Messages())
	}
}

// A batch of 2,000 messages whose four suggestions are all tapped in random order keeps its
// row within two write units, and each page within the size of a row.
func TestTaps_LargeBatch(t *testing.T) {
	t.Parallel()
	var taps ledger.Taps
	largest, pages := 0, 0
	for n, i := range rand.Perm(4 * campaign.MaxMessages) {
		news := []campaign.Change{tap(i/4, 1+i%4, time.Duration(n)*time.Second)}
		if taps.Full(news) {
			taps, pages = taps.Drop(len(taps.Tail)), pages+1
		}
		taps = taps.After(news)
		packed := taps.Pack()
		largest = max(largest, len(packed.Tapped)+len(packed.Tail))
	}
	t.Logf("the row has at most %d bytes, and %d pages", largest, pages)
	if taps.Sequence != 4*campaign.MaxMessages || taps.Messages() != campaign.MaxMessages {
		t.Errorf("%d taps of %d messages", taps.Sequence, taps.Messages())
	}
	if largest > 2048 {
		t.Errorf("the row takes up to %d bytes, want 2048 at most", largest)
	}
}

func TestPackNewEntries_Tap(t *testing.T) {
	t.Parallel()
	entries := []ledger.Entry{{Sequence: 7, Change: tap(300, 2, 0)}}
	fresh, err := ledger.UnpackNewEntries(ledger.PackNewEntries([]ledger.NewEntries{{Entries: entries}}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entries, fresh[0].Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
