package optout_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach/optout"
)

// A list in pages has every opted-out number once, in shards of one row and in parts.
func TestList_EveryNumberOnce(t *testing.T) {
	t.Parallel()
	for name, sizes := range map[string][2]int{"rows": {0, 0}, "parts": {60, 45}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, now := t.Context(), time.Now()
			book := &optout.Book{Store: newTable(), Now: func() time.Time { return now }, MaxRow: sizes[0], MaxPart: sizes[1]}
			want := map[string]bool{}
			var changes []campaign.OptChange
			for i := range 500 {
				phone := fmt.Sprint("+", 5511900000000+i*7)
				want[phone] = true
				changes = append(changes, campaign.OptChange{Phone: phone, Out: true, At: now})
			}
			if err := book.Record(ctx, "acme", changes); err != nil {
				t.Fatal(err)
			}
			pages := 0
			for cursor, more := "", true; more; more = cursor != "" {
				found, next, err := book.List(ctx, "acme", cursor, 30)
				if err != nil || len(found) > 30 {
					t.Fatal(len(found), err)
				}
				for _, o := range found {
					if !want[o.Phone] || o.Since.IsZero() {
						t.Errorf("%s, since %v, is listed twice, or without its time", o.Phone, o.Since)
					}
					delete(want, o.Phone)
				}
				cursor, pages = next, pages+1
			}
			if len(want) > 0 || pages != 17 {
				t.Errorf("%d numbers are missing in %d pages, want none in 17", len(want), pages)
			}
		})
	}
}

// The shards together have every number.
func TestListShard(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now()
	book := &optout.Book{Store: newTable(), Now: func() time.Time { return now }, MaxRow: 60, MaxPart: 45}
	var changes []campaign.OptChange
	for i := range 300 {
		changes = append(changes, campaign.OptChange{Phone: fmt.Sprint("+", 5511900000000+i), Out: true, At: now})
	}
	if err := book.Record(ctx, "acme", changes); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for shard := range optout.Shards {
		found, err := book.ListShard(ctx, "acme", shard, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range found {
			seen[o.Phone] = true
		}
	}
	if len(seen) != len(changes) {
		t.Errorf("the shards list %d numbers, want %d", len(seen), len(changes))
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	ctx, now := t.Context(), time.Now()
	for name, test := range map[string]struct {
		maxRow, want int
		exact        bool
	}{"rows": {0, 200, true}, "parts": {60, 0, false}} {
		book := &optout.Book{Store: newTable(), Now: func() time.Time { return now }, MaxRow: test.maxRow, MaxPart: 45}
		var changes []campaign.OptChange
		for i := range 200 {
			changes = append(changes, campaign.OptChange{Phone: fmt.Sprint("+", 5511900000000+i), Out: true, At: now})
		}
		if err := book.Record(ctx, "acme", changes); err != nil {
			t.Fatal(err)
		}
		if got, exact, err := book.Count(ctx, "acme"); got != test.want || exact != test.exact || err != nil {
			t.Errorf("%s: %d, exact %t, %v; want %d, %t", name, got, exact, err, test.want, test.exact)
		}
	}
}

func TestList_InvalidCursor(t *testing.T) {
	t.Parallel()
	book := &optout.Book{Store: newTable(), Now: time.Now}
	if _, _, err := book.List(t.Context(), "acme", "x", 10); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("an invalid cursor returns %v", err)
	}
}
