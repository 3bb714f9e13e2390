package numberset_test

import (
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"campaign-dispatch/internal/phone/numberset"
)

// The sizes of the benchmarks: one full call, and 500 of them.
const benchBatch, benchCampaign = 2000, 1_000_000

func benchSet(seed uint64, n int) numberset.Set {
	return mobiles(rand.New(rand.NewPCG(seed, 99)), n)
}

// benchBatches returns batches to take in turn, so that no branch predictor
// learns one by heart.
func benchBatches() []numberset.Set {
	batches := make([]numberset.Set, 32)
	for i := range batches {
		batches[i] = benchSet(uint64(i), benchBatch)
	}
	return batches
}

func BenchmarkNew(b *testing.B) {
	batches := benchBatches()
	r := rand.New(rand.NewPCG(1, 1))
	for _, s := range batches {
		r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	}
	for i := 0; b.Loop(); i++ {
		numberset.New(batches[i%len(batches)])
	}
}

func BenchmarkPack(b *testing.B) {
	batch := benchSet(1, benchBatch)
	b.Run("numberset", func(b *testing.B) {
		size := 0
		for b.Loop() {
			size = len(batch.Pack())
		}
		b.ReportMetric(float64(size)/float64(len(batch)), "bytes/number")
	})
	b.Run("roaring64", func(b *testing.B) {
		size := uint64(0)
		for b.Loop() {
			size = roaringSize(b, roaring64.BitmapOf(batch...))
		}
		b.ReportMetric(float64(size)/float64(len(batch)), "bytes/number")
	})
}

func roaringSize(b *testing.B, bitmap *roaring64.Bitmap) uint64 {
	b.Helper()
	bitmap.RunOptimize()
	packed, err := bitmap.ToBytes()
	if err != nil {
		b.Fatal(err)
	}
	return uint64(len(packed))
}

func BenchmarkUnpack(b *testing.B) {
	packed := benchSet(1, benchBatch).Pack()
	for b.Loop() {
		if _, err := numberset.Unpack(packed); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIntersect looks a full call up in a campaign of 500 batches.
func BenchmarkIntersect(b *testing.B) {
	campaign, batches := benchSet(100, benchCampaign), benchBatches()
	b.Run("numberset", func(b *testing.B) {
		var merged numberset.Merged
		merged.Insert(campaign)
		for i := 0; b.Loop(); i++ {
			merged.Intersect(batches[i%len(batches)])
		}
	})
	b.Run("roaring64", func(b *testing.B) {
		merged := roaring64.BitmapOf(campaign...)
		for i := 0; b.Loop(); i++ {
			roaring64.And(merged, roaring64.BitmapOf(batches[i%len(batches)]...))
		}
	})
}

// BenchmarkAdd adds full calls to a campaign of 500 batches.
func BenchmarkAdd(b *testing.B) {
	campaign := benchSet(4, benchCampaign)
	b.Run("numberset", func(b *testing.B) {
		var merged numberset.Merged
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			if i%100 == 0 {
				merged = numberset.Merged{}
				merged.Insert(campaign)
			}
			packed := benchSet(uint64(i), benchBatch).Pack()
			b.StartTimer()
			if err := merged.Add(packed); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("roaring64", func(b *testing.B) {
		merged := roaring64.BitmapOf(campaign...)
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			batch := benchSet(uint64(i), benchBatch)
			b.StartTimer()
			merged.AddMany(batch)
		}
	})
}

// BenchmarkAddSingles builds a campaign of 10,000 calls of one number each.
func BenchmarkAddSingles(b *testing.B) {
	const calls = 10_000
	r := rand.New(rand.NewPCG(5, 5))
	packed := make([][]byte, calls)
	for i := range packed {
		packed[i] = mobiles(r, 1).Pack()
	}
	for b.Loop() {
		var merged numberset.Merged
		for _, p := range packed {
			if err := merged.Add(p); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkAddMany reads a campaign of 500 batches at once, as a cold function
// does.
func BenchmarkAddMany(b *testing.B) {
	packed := make([][]byte, benchCampaign/benchBatch)
	for i := range packed {
		packed[i] = benchSet(uint64(i), benchBatch).Pack()
	}
	for b.Loop() {
		var merged numberset.Merged
		if err := merged.Add(packed...); err != nil {
			b.Fatal(err)
		}
	}
}
