package numberset_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/phone/numberset"
)

func TestLookup_EqualsTheSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.Uint64Range(5511900000000, 5511900002000)
		numbers := rapid.SliceOfN(rapid.OneOf(near, rapid.Uint64()), 0, 500).Draw(t, "numbers")
		set := numberset.New(numbers)
		lookup, err := numberset.NewLookup(set.Pack())
		if err != nil {
			t.Fatal(err)
		}
		asked := append([]uint64{0, math.MaxUint64}, rapid.SliceOfN(near, 0, 100).Draw(t, "others")...)
		for _, n := range slices.Concat(asked, set) {
			if _, want := slices.BinarySearch(set, n); lookup.Has(n) != want {
				t.Fatalf("Has(%d) is %v", n, !want)
			}
		}
	})
}

func TestLookup_RefusesWhatUnpackRefuses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		packed := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 30),
			rapid.Custom(func(t *rapid.T) []byte {
				packed := numberset.New(rapid.SliceOfN(rapid.Uint64(), 1, 20).Draw(t, "numbers")).Pack()
				packed[rapid.IntRange(0, len(packed)-1).Draw(t, "at")] ^= rapid.Byte().Draw(t, "by")
				return packed
			}),
		).Draw(t, "packed")
		_, unpacked := numberset.Unpack(packed)
		if _, err := numberset.NewLookup(packed); (err == nil) != (unpacked == nil) {
			t.Fatalf("%x: look-up %v, unpack %v", packed, err, unpacked)
		}
	})
}
