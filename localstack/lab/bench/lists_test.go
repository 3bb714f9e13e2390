package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/lookup"
)

const (
	listed = 10_000_000 // numbers on three lists
	// sendMemory is GOMEMLIMIT of the send function. Lists may take half of it: the rest is for opt-outs and frames.
	sendMemory = 409 << 20
)

// listRows has the rows and the segments of lists. Each read of a segment gets a new copy, as from S3.
type listRows struct {
	lists   []lists.List
	objects map[string][]byte
}

func (r *listRows) Lists(context.Context, string) ([]lists.List, error) { return r.lists, nil }

func (r *listRows) Get(_ context.Context, key string) ([]byte, error) {
	return io.ReadAll(bytes.NewReader(r.objects[key]))
}

// replace gives three lists new numbers, and returns some of them.
func (r *listRows) replace(random *mathrand.Rand, version string) (some []uint64) {
	r.lists, r.objects = nil, map[string][]byte{}
	for i := range 3 {
		numbers := numberset.New(mobiles(random, listed/3))
		id := version + strconv.Itoa(i)
		r.objects[id] = numbers.Pack()
		r.lists = append(r.lists, lists.List{
			Name: id, Number: i + 1, Segments: []lists.Segment{{ID: id, Numbers: len(numbers)}},
		})
		for range 1000 {
			some = append(some, numbers[random.IntN(len(numbers))])
		}
	}
	return some
}

// taken returns the memory of this process that counts for GOMEMLIMIT, in bytes.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// peak returns the most memory that the process takes during a call.
func peak(call func()) int64 {
	done, most := make(chan struct{}), taken()
	go func() {
		defer close(done)
		call()
	}()
	for {
		select {
		case <-done:
			return max(most, taken())
		case <-time.After(time.Millisecond):
			most = max(most, taken())
		}
	}
}

// BenchmarkLists loads 10 million numbers on three lists, replaces all of them, and decides about 100 messages, of
// which ten are on a list.
func BenchmarkLists(b *testing.B) {
	random, rows, now := newRandom(), &listRows{}, time.Now()
	rows.replace(random, "a")
	lookup := &lookup.Cache{Store: rows, Blobs: rows, Now: func() time.Time { return now }}
	var of func(phone e164.Number) int
	load := func() {
		var err error
		of, err = lookup.KeptBy(b.Context(), "acme", campaign.Promotion, now)
		check(b, err)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(sendMemory))
	debug.FreeOSMemory()
	before := taken()
	most := peak(load) - before
	debug.FreeOSMemory()
	held := taken() - before
	of = nil
	some := rows.replace(random, "b")
	debug.FreeOSMemory()
	now, before = now.Add(time.Hour), taken()-held
	most = max(most, peak(load)-before)
	const half = sendMemory / 2 >> 20
	method := fmt.Sprintf("10 million numbers on three lists; send's GOMEMLIMIT is %d MB", sendMemory>>20)
	record(b, measured("lists in memory", float64(held>>20), "MB", half, method))
	record(b, measured("lists while all are replaced", float64(most>>20), "MB", half, method+", so garbage counts too"))
	decide(b, random, rows, some, func(phone string) bool { return of(e164.FromText(phone)) != 0 })
}

// decide compares a decision for 100 messages with one by a Go map of the same numbers.
func decide(b *testing.B, random *mathrand.Rand, rows *listRows, some []uint64, on func(phone string) bool) {
	b.Helper()
	debug.SetMemoryLimit(math.MaxInt64)
	all := make(map[uint64]struct{}, listed)
	for _, packed := range rows.objects {
		numbers, err := numberset.Unpack(packed)
		check(b, err)
		for _, n := range numbers {
			all[n] = struct{}{}
		}
	}
	phones := texts(mobiles(random, 100_000), "+%d")
	for i := range phones {
		if i%10 == 0 {
			phones[i] = fmt.Sprintf("+%d", some[random.IntN(len(some))])
		}
	}
	each := func(has func(phone string) bool) func() {
		at := 0
		return func() {
			for range campaign.FrameSize {
				has(phones[at%len(phones)])
				at++
			}
		}
	}
	byMap := each(func(phone string) bool {
		n, _ := strconv.ParseUint(phone[1:], 10, 64)
		_, found := all[n]
		return found
	})
	record(b, compared("deciding about 100 messages by lists", compare(each(on), byMap, 2000, 2000), 5, "CPU against a Go map of the same numbers"))
}
