package suppression_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy/suppression/book"
)

const (
	benchLists   = 3
	benchNumbers = 10_000_000 // on all lists
	frame        = 100        // messages of a decision
	// sendMemory is half of GOMEMLIMIT of the send function. The rest is for opt-outs, frames and garbage.
	sendMemory = 204 << 20
	// maxTimes is how many times as long a decision may take as looking the numbers up in a map.
	maxTimes = 5
)

// mobiles returns numbers of Brazil, in no order.
func mobiles(r *rand.Rand, n int) []uint64 {
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = 55_11_900000000 + r.Uint64N(88)*1_000_000_000 + r.Uint64N(100_000_000)
	}
	return numbers
}

// benchFrames returns frames of which every tenth number is on a list.
func benchFrames(r *rand.Rand, listed []uint64) [][]string {
	frames := make([][]string, 1000)
	for i := range frames {
		for k, n := range mobiles(r, frame) {
			if k%10 == 0 {
				n = listed[r.IntN(len(listed))]
			}
			frames[i] = append(frames[i], "+"+strconv.FormatUint(n, 10))
		}
	}
	return frames
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDecision decides about a frame with 10 million numbers on three lists, and fails if the lists exceed
// half of the memory of send, or take more than five times as long as a Go map.
func BenchmarkDecision(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 7))
	w := newWorld()
	var listed []uint64
	for i := range benchLists {
		numbers := mobiles(r, benchNumbers/benchLists)
		listed = append(listed, numbers[:1000]...)
		w.change(b, "list"+strconv.Itoa(i), book.Change{Settings: &settings, Add: numberset.New(numbers)})
	}
	w.copies = true
	before := heap()
	of := w.of(b)
	held := heap() - before
	if held > sendMemory {
		b.Errorf("the lists take %d MB, want %d at most", held>>20, sendMemory>>20)
	}
	frames, yardstick := benchFrames(r, listed), benchMap(b, w)
	var lists, set time.Duration
	for b.Loop() {
		lists = timed(frames, func(phone string) bool { return of(phone) != 0 })
		set = timed(frames, func(phone string) bool {
			n, _ := strconv.ParseUint(phone[1:], 10, 64)
			_, ok := yardstick[n]
			return ok
		})
	}
	if lists > maxTimes*set {
		b.Errorf("a frame takes %v, with a map %v", lists, set)
	}
	b.ReportMetric(float64(held>>20), "MB")
	b.ReportMetric(float64(lists)/float64(set), "maps")
	b.ReportMetric(float64(lists.Nanoseconds())/frame, "ns/message")
}

func benchMap(b *testing.B, w *world) map[uint64]struct{} {
	b.Helper()
	all := make(map[uint64]struct{}, benchNumbers)
	lists, err := w.book.Store.Lists(context.Background(), tenant)
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range lists {
		numbers, err := w.book.Numbers(context.Background(), l)
		if err != nil {
			b.Fatal(err)
		}
		for _, n := range numbers {
			all[n] = struct{}{}
		}
	}
	return all
}

// timed returns the shortest time of several rounds for a frame.
func timed(frames [][]string, has func(phone string) bool) time.Duration {
	best := time.Hour
	for range 5 {
		start := time.Now()
		for _, f := range frames {
			for _, phone := range f {
				has(phone)
			}
		}
		best = min(best, time.Since(start)/time.Duration(len(frames)))
	}
	return best
}
