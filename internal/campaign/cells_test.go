package campaign_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

// inThree are cells of a campaign in three waves. One cell has no parts.
var inThree = campaign.Cells{{50, 2, 1}, {58, 0, 1}, {1000, 3, 2}, {10_000, 4, 3}}

func TestParseCells(t *testing.T) {
	t.Parallel()
	for _, cells := range []campaign.Cells{nil, inThree, {{10_000, 1, 0}}} {
		if diff := cmp.Diff(cells, campaign.ParseCells(cells.String())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", cells, diff)
		}
	}
	for _, text := range []string{"x", "1:2", "1:2:x", "1:2:3:4"} {
		if cells := campaign.ParseCells(text); cells != nil {
			t.Errorf("%q: %v", text, cells)
		}
	}
}

func TestCells_Parts(t *testing.T) {
	t.Parallel()
	type place struct{ cell, number, wave int }
	want := []place{{0, 1, 1}, {0, 2, 1}, {2, 1, 2}, {2, 2, 2}, {2, 3, 2}, {3, 1, 3}, {3, 2, 3}, {3, 3, 3}, {3, 4, 3}}
	for n, w := range want {
		cell, number, ok := inThree.Place(n + 1)
		if got := (place{cell, number, inThree.WaveOf(n + 1)}); !ok || got != w {
			t.Errorf("part %d: %v, want %v", n+1, got, w)
		}
	}
	for _, part := range []int{0, -1, len(want) + 1} {
		if _, _, ok := inThree.Place(part); ok || inThree.WaveOf(part) != 0 {
			t.Errorf("there is a part %d", part)
		}
	}
	for wave, last := range map[int]int{0: 0, 1: 2, 2: 5, 3: 9, 4: 0} {
		if got := inThree.LastPart(wave); got != last {
			t.Errorf("wave %d ends with part %d, want %d", wave, got, last)
		}
	}
	for wave, buckets := range map[int][2]int{1: {0, 58}, 2: {58, 1000}, 3: {1000, 10_000}} {
		if from, until := inThree.Buckets(wave); from != buckets[0] || until != buckets[1] {
			t.Errorf("wave %d has the buckets %d to %d, want %v", wave, from, until, buckets)
		}
	}
}

func TestSubmissionTotals_Holding(t *testing.T) {
	t.Parallel()
	for done, wave := range map[int]int{0: 0, 1: 0, 2: 2, 3: 0, 4: 0, 5: 3, 6: 0, 9: 0} {
		totals := campaign.SubmissionTotals{Lines: 9, Parts: 9, PartsDone: done, PartsToCome: 9 - done, Cells: inThree}
		if got := totals.Holding(); got != wave {
			t.Errorf("after part %d: wave %d waits, want %d", done, got, wave)
		}
		if totals.PartsToCome = 0; totals.Holding() != 0 {
			t.Errorf("after part %d and its end: a wave waits", done)
		}
		totals.PartsToCome, totals.Cells = 9-done, campaign.Cells{{10_000, 9, 0}}
		if totals.Holding() != 0 {
			t.Errorf("after part %d of a campaign that goes at once: a wave waits", done)
		}
	}
}
