package optout_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

// ownTable returns a store with a table of its own.
func ownTable(t *testing.T) *dynamotest.Store {
	t.Helper()
	env := stackenv.Load(t)
	return dynamotest.New(dynamo.Tables{Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), Now: time.Now})
}

// full returns a shard near DynamoDB's limit.
func full(t *testing.T) (o campaign.OptOuts, numbers []uint64) {
	t.Helper()
	for _, n := range mobiles(2_600_000) {
		if n%optout.Shards == 3 {
			numbers = append(numbers, n)
		}
	}
	for {
		set := numberset.New(numbers)
		o = campaign.OptOuts{Shard: 3, Version: 7, Packed: set.Pack()}
		o.Origins = bytes.Repeat([]byte{0x55}, (len(set)+3)/4) // two bits each: OriginMessage
		if len(o.Packed)+len(o.Origins) < 400<<10-200 {
			return o, numbers
		}
		numbers = numbers[:len(numbers)-500]
	}
}

func change(n uint64, out bool) campaign.OptChange {
	return campaign.OptChange{Phone: fmt.Sprint("+", n), Out: out, At: time.Now()}
}

func TestRecord_FullShard(t *testing.T) {
	t.Parallel()
	store, ctx := ownTable(t), t.Context()
	shard, numbers := full(t)
	if kept, err := store.KeepOptOuts(ctx, "acme", shard); err != nil || !kept {
		t.Fatal(kept, err)
	}
	book := &optout.Book{Store: store, Now: time.Now}
	var more []campaign.OptChange
	for i := range uint64(6000) {
		more = append(more, change(5511000000003+i*optout.Shards, true))
	}
	back := change(numbers[len(numbers)/2], false)
	for _, changes := range [][]campaign.OptChange{more[:1], more, {back}} {
		if err := book.Record(ctx, "acme", changes); err != nil {
			t.Fatal(err)
		}
	}
	sender := &optout.Book{Store: store, Now: time.Now}
	optedOut, err := sender.OptedOut(ctx, "acme", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range more {
		if !optedOut(e164.FromText(c.Phone)) {
			t.Fatalf("%s is not known", c.Phone)
		}
	}
	for _, n := range numbers {
		if phone := e164.Number(n); optedOut(phone) != (phone.String() != back.Phone) {
			t.Fatalf("%s is looked up as %v", phone, optedOut(phone))
		}
	}
	read, err := store.OptOutShard(ctx, "acme", 3)
	if err != nil || len(read.Parts) < 8 {
		t.Errorf("the shard has %d parts, %v", len(read.Parts), err)
	}
}

// A writer that read a shard before it was divided does not overwrite the division.
func TestRecord_StaleWriterOfDividedShard(t *testing.T) {
	t.Parallel()
	store, ctx := ownTable(t), t.Context()
	book := &optout.Book{Store: store, Now: time.Now, MaxRow: 500, MaxPart: 200}
	record := func(from, to int) {
		t.Helper()
		if err := book.Record(ctx, "acme", inOneShard(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	record(0, 10)
	stale, err := store.OptOutShard(ctx, "acme", int(5511900000000%optout.Shards))
	if err != nil {
		t.Fatal(err)
	}
	record(10, 100)
	if swapped, err := store.SwapOptOuts(ctx, "acme", stale); err != nil || swapped {
		t.Errorf("a writer with the undivided shard overwrote it: %v, %v", swapped, err)
	}
}

// Many functions record concurrently while shards and parts are divided.
func TestRecord_ConcurrentDivisions(t *testing.T) {
	t.Parallel()
	store, ctx := ownTable(t), t.Context()
	const writers, each = 12, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			book := &optout.Book{Store: store, Now: time.Now, MaxRow: 600, MaxPart: 300}
			for i := range each {
				n := uint64(5511900000000 + (i*writers+w)*optout.Shards/4*7)
				if err := book.Record(ctx, "acme", []campaign.OptChange{change(n, true)}); err != nil {
					t.Error(err)
				}
				if i%5 == 4 {
					if err := book.Record(ctx, "acme", []campaign.OptChange{change(n, false)}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	reader := &optout.Book{Store: store, Now: func() time.Time { return time.Now().Add(time.Hour) }}
	for range 5 {
		if _, err := reader.OptedOut(ctx, "acme", time.Time{}); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	optedOut, err := (&optout.Book{Store: store, Now: time.Now}).OptedOut(ctx, "acme", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range writers * each {
		n := uint64(5511900000000 + i*optout.Shards/4*7)
		if want := i/writers%5 != 4; optedOut(e164.Number(n)) != want {
			t.Errorf("number %d is looked up as %v", i, !want)
		}
	}
	shards, err := store.OptOuts(ctx, "acme")
	if err != nil || len(shards) != 4 {
		t.Fatalf("%d shards, %v; want 4", len(shards), err)
	}
	for _, s := range shards {
		if len(s.Parts) < 3 {
			t.Errorf("shard %d was divided into %d parts", s.Shard, len(s.Parts))
		}
	}
}

// The send function has 512 MB of memory, and its heap is kept below 200 MB. The test
// does not run in parallel, because it measures memory.
func TestOf_FiveMillionNumbers(t *testing.T) { //nolint:paralleltest // see above
	store, ctx := ownTable(t), t.Context()
	numbers, err := copyFiveMillion(t, store)
	if err != nil {
		t.Fatal(err)
	}
	before, done := heap(), make(chan struct{})
	highest := uint64(0)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				highest = max(highest, m.HeapAlloc)
			}
		}
	})
	sender := &optout.Book{Store: store, Now: time.Now}
	began := time.Now()
	optedOut, err := sender.OptedOut(ctx, "tenant", time.Time{})
	took := time.Since(began)
	close(done)
	watching.Wait()
	if err != nil {
		t.Fatal(err)
	}
	kept := heap() - before
	t.Logf("read in %s, %d MB of heap at most, %d MB kept", took, (highest-before)>>20, kept>>20)
	if highest-before > 150<<20 || kept > 25<<20 {
		t.Errorf("%d MB of heap at most, %d MB kept", (highest-before)>>20, kept>>20)
	}
	for _, n := range numbers {
		if !optedOut(e164.Number(n)) {
			t.Fatal("an opted-out number is not found")
		}
	}
	runtime.KeepAlive(sender)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// copyFiveMillion writes five million opt-outs to a table, and returns some of them.
func copyFiveMillion(t *testing.T, store *dynamotest.Store) (some []uint64, err error) {
	t.Helper()
	from, err := fiveMillion()
	if err != nil {
		return nil, err
	}
	for _, shard := range from.shards {
		for i, part := range shard.Parts {
			content := from.parts[part.ID]
			content.From = part.From
			shard.Parts[i] = content
		}
		if kept, err := store.KeepOptOuts(t.Context(), "tenant", shard); err != nil || !kept {
			return nil, fmt.Errorf("kept %v: %w", kept, err)
		}
	}
	for i, n := range mobiles(recorded) {
		if i%100 == 0 {
			some = append(some, n)
		}
	}
	return some, nil
}
