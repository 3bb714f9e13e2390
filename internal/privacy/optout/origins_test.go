package optout_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/privacy/optout"
)

// The origin of a number is that of the change that opted it out, in whatever rows it is
// stored. Repetitions keep it, and a return ends it.
func TestRecord_Origins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.SampledFrom([]int{0, 20}).Draw(t, "row limit") // 20 divides the shards
		book := &optout.Book{Store: newTable(), Now: time.Now, MaxRow: small, MaxPart: small}
		at, want := time.Now().Add(-time.Hour), map[string]campaign.Origin{}
		for range rapid.IntRange(1, 30).Draw(t, "changes") {
			at = at.Add(time.Second)
			c := campaign.OptChange{
				Phone: fmt.Sprint("+", 5511900000000+optout.Shards*rapid.IntRange(0, 20).Draw(t, "phone")), At: at,
				Out: rapid.IntRange(0, 3).Draw(t, "out") > 0, Origin: campaign.Origin(rapid.IntRange(0, 3).Draw(t, "origin")),
			}
			if err := book.Record(context.Background(), "tenant", []campaign.OptChange{c}); err != nil {
				t.Fatal(err)
			}
			if _, out := want[c.Phone]; c.Out && !out {
				want[c.Phone] = c.Origin
			} else if !c.Out {
				delete(want, c.Phone)
			}
		}
		listed, _, err := book.List(context.Background(), "tenant", "", 100)
		if err != nil || len(listed) != len(want) {
			t.Fatalf("%d numbers are listed, want %d, error %v", len(listed), len(want), err)
		}
		for _, o := range listed {
			origin, err := book.Origin(context.Background(), "tenant", o.Phone)
			if err != nil || origin != want[o.Phone] || o.Origin != origin {
				t.Fatalf("%s is from %v, and listed from %v, want %v, error %v", o.Phone, origin, o.Origin, want[o.Phone], err)
			}
		}
	})
}

// A function version without origins writes rows without them. The numbers are then opted out
// with an unknown origin, and later ones have theirs.
func TestRecord_RowsWithoutOrigins(t *testing.T) {
	t.Parallel()
	book, table := newBook()
	out := func(number int, origin campaign.Origin) {
		change := campaign.OptChange{Phone: fmt.Sprint("+", 5511900000000+optout.Shards*number), Out: true, At: time.Now(), Origin: origin}
		if err := book.Record(t.Context(), "tenant", []campaign.OptChange{change}); err != nil {
			t.Fatal(err)
		}
	}
	for number := range 9 {
		out(number, campaign.OriginHand)
	}
	for number, row := range table.shards {
		row.Origins = nil
		table.shards[number] = row
	}
	out(20, campaign.OriginFile)
	listed, _, err := book.List(t.Context(), "tenant", "", 100)
	if err != nil || len(listed) != 10 {
		t.Fatalf("%d numbers are listed, error %v", len(listed), err)
	}
	for i, o := range listed {
		want := campaign.OriginUnknown
		if i == 9 {
			want = campaign.OriginFile
		}
		if o.Origin != want {
			t.Errorf("%s is from %v, want %v", o.Phone, o.Origin, want)
		}
	}
	recent, known, err := book.Recent(t.Context(), "tenant")
	if err != nil || !known || len(recent) != 10 {
		t.Fatalf("%d recent opt-outs, error %v", len(recent), err)
	}
	for _, c := range recent {
		if last := c.Phone == listed[9].Phone; last != (c.Origin == campaign.OriginFile) {
			t.Errorf("the recent opt-out %s is from %v", c.Phone, c.Origin)
		}
	}
}
