package optout_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach/optout"
)

// table imitates a DynamoDB table with the shards of one tenant, with DynamoDB's
// limits.
type table struct {
	mu     sync.Mutex
	shards map[int]campaign.OptOuts
	parts  map[string]campaign.OptOutPart
	reads  int // of all shards
	loaded int // bytes of parts that were read
	// beforeParts is called before parts are read, if not nil.
	beforeParts func()
}

func (t *table) OptOuts(context.Context, string) ([]campaign.OptOuts, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads++
	var shards []campaign.OptOuts
	for _, s := range t.shards {
		shards = append(shards, s)
	}
	return shards, nil
}

func (t *table) OptOutShard(_ context.Context, _ string, shard int) (campaign.OptOuts, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.shards[shard]
	o.Shard = shard
	return o, nil
}

func (t *table) OptOutParts(_ context.Context, _ string, _ int, ids []string) (map[string]campaign.OptOutPart, error) {
	t.mu.Lock()
	before := t.beforeParts
	t.beforeParts = nil
	t.mu.Unlock()
	if before != nil {
		before()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]campaign.OptOutPart{}
	for _, id := range ids {
		if part, ok := t.parts[id]; ok {
			found[id] = part
			t.loaded += len(part.Packed) + len(part.Recent)
		}
	}
	return found, nil
}

// DynamoDB's limits of an item and of a transaction, less the size of attribute names
// and keys.
const (
	maxItem        = 400<<10 - 1<<10
	maxTransaction = 4 << 20
	maxItems       = 100
)

var errTooLarge = errors.New("ValidationException: too large")

func (t *table) SwapOptOuts(_ context.Context, _ string, o campaign.OptOuts, gone ...string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shards[o.Shard].Version != o.Version {
		return false, nil
	}
	sizes := []int{len(o.Packed) + len(o.Recent) + 100*len(o.Parts)}
	for i, part := range o.Parts {
		if part.Packed != nil {
			sizes = append(sizes, len(part.Packed)+len(part.Recent))
			t.parts[part.ID] = part
			o.Parts[i].Packed, o.Parts[i].Recent = nil, nil
		}
	}
	all := 0
	for _, size := range sizes {
		if all += size; size > maxItem {
			return false, errTooLarge
		}
	}
	if all > maxTransaction || len(sizes)+len(gone) > maxItems {
		return false, errTooLarge
	}
	for _, id := range gone {
		delete(t.parts, id)
	}
	o.Version++
	t.shards[o.Shard] = o
	return true, nil
}

func newTable() *table {
	return &table{shards: map[int]campaign.OptOuts{}, parts: map[string]campaign.OptOutPart{}}
}

func newBook() (*optout.Book, *table) {
	t := newTable()
	return &optout.Book{Store: t, Now: time.Now}, t
}

// The latest change of a number takes effect, in whatever order and however often
// changes arrive.
func TestRecord_LatestChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		book, _ := newBook()
		now := time.Now()
		latest := map[string]campaign.OptChange{}
		for range rapid.IntRange(1, 5).Draw(t, "calls") {
			var changes []campaign.OptChange
			for range rapid.IntRange(0, 20).Draw(t, "changes") {
				c := campaign.OptChange{
					Phone: fmt.Sprint("+", 5511900000000+rapid.IntRange(0, 40).Draw(t, "phone")),
					Out:   rapid.Bool().Draw(t, "out"),
					At:    now.Add(-time.Duration(rapid.IntRange(0, 10000).Draw(t, "ago")) * time.Second).Truncate(time.Millisecond),
				}
				changes = append(changes, c)
				if c.At.After(latest[c.Phone].At) {
					latest[c.Phone] = c
				}
			}
			if err := book.Record(context.Background(), "tenant", changes); err != nil {
				t.Fatal(err)
			}
		}
		for phone, c := range latest {
			// A change to the current state has no effect; the opposite does.
			for _, out := range []bool{true, false} {
				later := campaign.OptChange{Phone: phone, Out: out, At: now.Add(time.Hour)}
				if news, err := book.WouldChange(context.Background(), "tenant", later); err != nil || news != (out != c.Out) {
					t.Fatalf("turns %v to %v: %v, error %v", c.Out, out, news, err)
				}
				earlier := campaign.OptChange{Phone: phone, Out: out, At: c.At.Add(-time.Millisecond)}
				if news, err := book.WouldChange(context.Background(), "tenant", earlier); err != nil || news {
					t.Fatalf("an earlier change to %v takes effect: %v, error %v", out, news, err)
				}
			}
		}
	})
}

func TestRecord_Concurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book, _ := newBook()
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				change := campaign.OptChange{Phone: fmt.Sprint("+", 5511900000000+i*optout.Shards), Out: true, At: time.Now()}
				if err := book.Record(t.Context(), "tenant", []campaign.OptChange{change}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		optedOut, err := book.OptedOut(t.Context(), "tenant", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			if !optedOut(e164.Number(5511900000000 + i*optout.Shards)) {
				t.Errorf("opt-out %d was lost", i)
			}
		}
	})
}

// A lookup since the release of a batch has the numbers that opted out before, and is read once.
func TestOf_Since(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book, table := newBook()
		other := &optout.Book{Store: table, Now: time.Now}
		if _, err := book.OptedOut(t.Context(), "tenant", time.Time{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		change := campaign.OptChange{Phone: "+5511900000001", Out: true, At: time.Now()}
		if err := other.Record(t.Context(), "tenant", []campaign.OptChange{change}); err != nil {
			t.Fatal(err)
		}
		released := time.Now()
		for range 2 {
			time.Sleep(time.Second)
			optedOut, err := book.OptedOut(t.Context(), "tenant", released)
			if err != nil || !optedOut(5511900000001) {
				t.Errorf("the number has not opted out (%v)", err)
			}
			change.Out, change.At = false, time.Now() // the copy is recent enough: it is not read again
			if err := other.Record(t.Context(), "tenant", []campaign.OptChange{change}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A number that opted out after the last read and before a release is in the lookup, although the clock of
// the reader is ahead of the clock of the release.
func TestOf_SinceOfAnotherClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book, table := newBook()
		book.Now = func() time.Time { return time.Now().Add(500 * time.Millisecond) }
		if _, err := book.OptedOut(t.Context(), "tenant", time.Time{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		change := campaign.OptChange{Phone: "+5511900000001", Out: true, At: time.Now()}
		other := &optout.Book{Store: table, Now: time.Now}
		if err := other.Record(t.Context(), "tenant", []campaign.OptChange{change}); err != nil {
			t.Fatal(err)
		}
		optedOut, err := book.OptedOut(t.Context(), "tenant", time.Now())
		if err != nil || !optedOut(e164.FromText(change.Phone)) {
			t.Errorf("the number has not opted out (%v)", err)
		}
	})
}

func TestOf_Cache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		book, table := newBook()
		other := &optout.Book{Store: table, Now: time.Now}
		has := func() bool {
			t.Helper()
			optedOut, err := book.OptedOut(t.Context(), "tenant", time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			return optedOut(5511900000001)
		}
		if has() {
			t.Error("an unknown number is opted out")
		}
		change := campaign.OptChange{Phone: "+5511900000001", Out: true, At: time.Now()}
		if err := other.Record(t.Context(), "tenant", []campaign.OptChange{change}); err != nil {
			t.Fatal(err)
		}
		reads := table.reads
		time.Sleep(29 * time.Second)
		if has() || table.reads != reads {
			t.Error("the opt-outs were read again too early")
		}
		time.Sleep(time.Second)
		if !has() {
			t.Error("the opt-out had no effect after 30 seconds")
		}
	})
}

// An error returns no number: a caller takes one for opted out.
func TestFirstOut_Error(t *testing.T) {
	t.Parallel()
	book, _ := newBook()
	if phone, since, err := book.FirstOut(t.Context(), "tenant", []string{"+5511900000001", "nobody"}); err == nil || phone != "" || !since.IsZero() {
		t.Errorf("%q is out since %s, error %v", phone, since, err)
	}
}

func TestBook_DamagedShard(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]campaign.OptOuts{
		"shard":   {Shard: optout.Shards, Packed: []byte{1, 0}},
		"numbers": {Packed: []byte{9}},
		"times":   {Packed: []byte{1, 0}, Recent: []byte{0x80}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book, table := newBook()
			table.shards[0] = row
			if _, err := book.OptedOut(t.Context(), "tenant", time.Time{}); err == nil {
				t.Error("damaged opt-outs were read as none")
			}
		})
	}
	book, _ := newBook()
	err := book.Record(t.Context(), "tenant", []campaign.OptChange{{Phone: "nobody", Out: true}})
	if err == nil || errors.Is(err, campaign.ErrLostRace) {
		t.Errorf("error %v for an invalid number", err)
	}
}
