package dynamo

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
)

func drawChanges(t *rapid.T) []campaign.Change {
	change := rapid.Custom(func(t *rapid.T) campaign.Change {
		return campaign.Change{
			Index:   rapid.IntRange(0, campaign.MaxMessages-1).Draw(t, "index"),
			Outcome: rapid.SampledFrom([]campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeFailed, campaign.OutcomeExpired}).Draw(t, "outcome"),
			Code:    rapid.SampledFrom([]string{"", "unreachable", "not_after_passed"}).Draw(t, "code"),
			At:      time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "at")).UTC(),
		}
	})
	return rapid.SliceOfN(change, 0, maxPage).Draw(t, "changes")
}

func TestLogPage_RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		changes := drawChanges(t)
		page := packChanges(changes)
		got, err := unpackChanges(page)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changes, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if len(page) > 4096 {
			t.Fatalf("the page has %d bytes", len(page))
		}
	})
}

// The changes of a frame and their keys must fit in 1 KB, which is one write unit, or two
// in a transaction.
func TestLogPage_Size(t *testing.T) {
	t.Parallel()
	at := time.Date(2037, 3, 1, 12, 0, 0, 0, time.UTC)
	var changes []campaign.Change
	for i := range campaign.FrameSize {
		at = at.Add(time.Duration(i%7) * 130 * time.Millisecond)
		c := campaign.Change{Index: 1900 + i, Outcome: campaign.OutcomeSent, At: at}
		if i%3 == 0 {
			c.Outcome, c.Code = campaign.OutcomeFailed, "unreachable"
		}
		changes = append(changes, c)
	}
	if got := len(packChanges(changes)); got > 600 {
		t.Errorf("a frame's changes take %d bytes, more than 6 each", got)
	}
}

func FuzzUnpackChanges(f *testing.F) {
	f.Add([]byte{})
	f.Add(packChanges([]campaign.Change{{Index: 7, Outcome: campaign.OutcomeFailed, Code: "unreachable", At: time.UnixMilli(5)}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, page []byte) {
		changes, err := unpackChanges(page)
		if err != nil {
			return
		}
		again, err := unpackChanges(packChanges(changes))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changes, again, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLogPage_Damaged(t *testing.T) {
	t.Parallel()
	page := packChanges([]campaign.Change{{Index: 1999, Outcome: campaign.OutcomeSent, At: time.UnixMilli(1 << 41)}})
	whole := map[int]bool{1 + 1 + len("sent "): true, len(page): true} // no changes, all of them
	for n := range len(page) + 1 {
		if _, err := unpackChanges(bytes.Clone(page[:n])); (err == nil) != whole[n] {
			t.Errorf("%d of %d bytes: error %v", n, len(page), err)
		}
	}
}
