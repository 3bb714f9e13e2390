package optout_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/optout"
)

// fact is the expected state of a number.
type fact struct {
	Out  bool
	At   time.Time
	Kept bool // the time of its last change is known
}

// drawn is the highest random number. The numbers fall into two shards.
const drawn = 60

func numbered(i int) string { return fmt.Sprint("+", 5511900000000+i*optout.Shards/2) }

// Shards in many small parts behave as one map.
func TestBook_EqualsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx, now := context.Background(), time.Now().Truncate(time.Millisecond)
		store := newTable()
		book := &optout.Book{Store: store, Now: func() time.Time { return now }, MaxRow: 60, MaxPart: 45}
		sender := &optout.Book{Store: store, Now: func() time.Time { return now }}
		facts := map[string]fact{}
		phone := rapid.Custom(func(t *rapid.T) string {
			return numbered(rapid.IntRange(0, drawn).Draw(t, "phone"))
		})
		for range rapid.IntRange(5, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				eraseOptIn(t, book, facts, phone.Draw(t, "erased"))
			case 1:
				now = now.Add(31 * time.Second)
				checkLookup(t, sender, facts)
			default:
				record(t, book, facts, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) campaign.OptChange {
					ago := time.Duration(rapid.IntRange(0, 1000).Draw(t, "ago")) * time.Second
					return campaign.OptChange{Phone: phone.Draw(t, "phone"), Out: rapid.IntRange(0, 3).Draw(t, "out") > 0, At: now.Add(-ago)}
				}), 0, 60).Draw(t, "changes"))
			}
		}
		for phone, want := range facts {
			out, since, err := book.Since(ctx, "tenant", phone)
			if err != nil || out != want.Out || out && want.Kept != since.Equal(want.At) {
				t.Fatalf("%s: out %v since %s, %v; want %+v", phone, out, since, err, want)
			}
		}
		now = now.Add(31 * time.Second)
		checkLookup(t, sender, facts)
	})
}

func record(t *rapid.T, book *optout.Book, facts map[string]fact, changes []campaign.OptChange) {
	if err := book.Record(context.Background(), "tenant", changes); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if before := facts[c.Phone]; !before.Kept || c.At.After(before.At) {
			facts[c.Phone] = fact{Out: c.Out, At: c.At, Kept: true}
		}
	}
}

func eraseOptIn(t *rapid.T, book *optout.Book, facts map[string]fact, phone string) {
	before := facts[phone]
	want := before.Kept && !before.Out
	if erased, err := book.EraseOptIn(context.Background(), "tenant", phone); err != nil || erased != want {
		t.Fatalf("erased %v, %v; want %v", erased, err, want)
	}
	if want {
		delete(facts, phone)
	}
}

func checkLookup(t *rapid.T, sender *optout.Book, facts map[string]fact) {
	optedOut, err := sender.OptedOut(context.Background(), "tenant", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range drawn + 1 {
		phone := numbered(i)
		if optedOut(e164.FromText(phone)) != facts[phone].Out {
			t.Fatalf("%s is looked up as %v", phone, !facts[phone].Out)
		}
	}
}

// A reader with an outdated list of parts finds one missing and reads again.
func TestBook_PartDividedWhileItIsRead(t *testing.T) {
	t.Parallel()
	store := newTable()
	book := &optout.Book{Store: store, Now: time.Now, MaxRow: 100, MaxPart: 100}
	write := func(from, to int) {
		t.Helper()
		if err := book.Record(t.Context(), "tenant", inOneShard(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 20)
	sender := &optout.Book{Store: store, Now: time.Now}
	store.beforeParts = func() { write(20, 60) }
	optedOut, err := sender.OptedOut(t.Context(), "tenant", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range inOneShard(0, 60) {
		if !optedOut(e164.FromText(c.Phone)) {
			t.Errorf("%s is missing", c.Phone)
		}
	}
	store.beforeParts = func() { write(60, 100) }
	if out, _, err := book.Since(t.Context(), "tenant", inOneShard(0, 1)[0].Phone); err != nil || !out {
		t.Errorf("a number of a divided part: %v, %v", out, err)
	}
}

// inOneShard returns opt-outs of numbers in one shard.
func inOneShard(from, to int) (changes []campaign.OptChange) {
	for i := from; i < to; i++ {
		changes = append(changes, campaign.OptChange{Phone: fmt.Sprint("+", 5511900000000+i*optout.Shards), Out: true, At: time.Now()})
	}
	return changes
}

func TestBook_DamagedParts(t *testing.T) {
	t.Parallel()
	one := numberset.New([]uint64{1}).Pack()
	for name, parts := range map[string][]campaign.OptOutPart{
		"the first begins late": {{ID: "a", From: 5}},
		"not in order":          {{ID: "a"}, {ID: "b", From: 9}, {ID: "c", From: 9}},
		"one is gone":           {{ID: "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				book, store := newBook()
				store.shards[0] = campaign.OptOuts{Version: 1, Parts: parts}
				for _, id := range []string{"a", "b", "c"} {
					store.parts[id] = campaign.OptOutPart{ID: id, Version: 1, Packed: one, Origins: []byte{byte(campaign.OriginHand)}}
				}
				if _, err := book.OptedOut(t.Context(), "tenant", time.Time{}); err == nil {
					t.Error("damaged opt-outs were read as none")
				}
				if _, _, err := book.Since(t.Context(), "tenant", "+16"); err == nil {
					t.Error("a number of damaged opt-outs was read as not opted out")
				}
			})
		})
	}
}

// After a change, only the changed part is read.
func TestBook_ReadsOnlyPartsThatChanged(t *testing.T) {
	t.Parallel()
	store, now := newTable(), time.Now()
	clock := func() time.Time { return now }
	book := &optout.Book{Store: store, Now: clock, MaxRow: 1000, MaxPart: 1000}
	if err := book.Record(t.Context(), "tenant", inOneShard(0, 2000)); err != nil {
		t.Fatal(err)
	}
	sender := &optout.Book{Store: store, Now: clock}
	if _, err := sender.OptedOut(t.Context(), "tenant", time.Time{}); err != nil {
		t.Fatal(err)
	}
	all := store.loaded
	change := campaign.OptChange{Phone: inOneShard(700, 701)[0].Phone, At: now.Add(time.Hour)}
	if err := book.Record(t.Context(), "tenant", []campaign.OptChange{change}); err != nil {
		t.Fatal(err)
	}
	store.loaded, now = 0, now.Add(30*time.Second)
	optedOut, err := sender.OptedOut(t.Context(), "tenant", time.Time{})
	if err != nil || optedOut(e164.FromText(change.Phone)) {
		t.Errorf("the opt-in is not known, %v", err)
	}
	if store.loaded == 0 || store.loaded > 1000 {
		t.Errorf("%d bytes of %d were read again, want one part", store.loaded, all)
	}
}

// Five million opt-outs, the last of them recent, stay within DynamoDB's limits, which
// the table enforces.
func TestBook_FiveMillionNumbers(t *testing.T) {
	t.Parallel()
	store, err := fiveMillion()
	if err != nil {
		t.Fatal(err)
	}
	part, row, most := 0, 0, 0
	for _, p := range store.parts {
		part = max(part, len(p.Packed)+len(p.Recent))
	}
	for _, s := range store.shards {
		row, most = max(row, len(s.Packed)+len(s.Recent)), max(most, len(s.Parts))
	}
	t.Logf("%d parts, %d in a shard at most; %d bytes in a part at most, %d in another row", len(store.parts), most, part, row)
	if len(store.shards) != optout.Shards || part > 64_000 || row > 300_000 || most > 99 {
		t.Errorf("%d shards", len(store.shards))
	}
	optedOut, err := (&optout.Book{Store: store, Now: time.Now}).OptedOut(t.Context(), "tenant", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	numbers := mobiles(recorded)
	for i, n := range numbers {
		if i%50 == 0 && !optedOut(e164.Number(n)) {
			t.Fatalf("an opted-out number is not among the %d", len(numbers))
		}
	}
	for _, n := range []uint64{numbers[0] + 1<<40, 5511000000000, 0} {
		if optedOut(e164.Number(n)) {
			t.Error("a number is wrongly opted out")
		}
	}
}

// mobiles returns random Brazilian mobile numbers.
func mobiles(n int) []uint64 {
	random := rand.New(rand.NewPCG(1, 2))
	numbers := make([]uint64, n)
	for i := range numbers {
		area := 11 + random.Uint64N(67)
		numbers[i] = 5500900000000 + area*1e9 + random.Uint64N(1e8)
	}
	return numbers
}

// fiveMillion is a table with five million opt-outs, one in twenty of them recent.
var fiveMillion = sync.OnceValues(func() (*table, error) {
	store := newTable()
	book := &optout.Book{Store: store, Now: time.Now}
	now := time.Now()
	changes := make([]campaign.OptChange, 0, 200_000)
	for chunk := range slices.Chunk(mobiles(recorded), cap(changes)) {
		changes = changes[:0]
		for i, n := range chunk {
			at := now.Add(-30 * 24 * time.Hour)
			if i%20 == 0 {
				at = now.Add(-time.Hour)
			}
			changes = append(changes, campaign.OptChange{Phone: strconv.FormatUint(n, 10), Out: true, At: at})
		}
		if err := book.Record(context.Background(), "tenant", changes); err != nil {
			return nil, err
		}
	}
	return store, nil
})
