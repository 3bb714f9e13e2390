package optout_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach/optout"
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
				Out: rapid.IntRange(0, 3).Draw(t, "out") > 0, Origin: campaign.Origin(rapid.IntRange(1, 3).Draw(t, "origin")),
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

// Origins that do not belong to the numbers of their row are an error. Senders need none.
func TestBook_DamagedOrigins(t *testing.T) {
	t.Parallel()
	for name, damaged := range map[string][]byte{"missing": nil, "short": {0x55}, "long": {0x55, 0x55, 0x55, 0x55}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book, table := newBook()
			var changes []campaign.OptChange
			for number := range 9 {
				phone := fmt.Sprint("+", 5511900000000+optout.Shards*number)
				changes = append(changes, campaign.OptChange{Phone: phone, Out: true, At: time.Now(), Origin: campaign.OriginHand})
			}
			if err := book.Record(t.Context(), "tenant", changes); err != nil {
				t.Fatal(err)
			}
			for number, row := range table.shards {
				row.Origins = damaged
				table.shards[number] = row
			}
			if origin, err := book.Origin(t.Context(), "tenant", changes[0].Phone); err == nil {
				t.Errorf("the origin is %q", origin)
			}
			if listed, _, err := book.List(t.Context(), "tenant", "", 100); err == nil {
				t.Errorf("%d numbers are listed", len(listed))
			}
			if out, err := book.OptedOut(t.Context(), "tenant", time.Time{}); err != nil || !out(e164.FromText(changes[0].Phone)) {
				t.Errorf("a sender does not know the opt-out: %v", err)
			}
		})
	}
}
