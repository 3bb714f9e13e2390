package numberset_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/phone/numberset"
)

// sets draws sets dense and sparse, of numbers small and large.
func sets() *rapid.Generator[numberset.Set] {
	return rapid.Custom(func(t *rapid.T) numberset.Set {
		limit := rapid.SampledFrom([]uint64{5, 300, 1 << 20, 1 << 43, math.MaxUint64}).Draw(t, "limit")
		return numberset.New(rapid.SliceOf(rapid.Uint64Range(0, limit)).Draw(t, "numbers"))
	})
}

// mobiles returns the set of n random Brazilian mobile numbers.
func mobiles(r *rand.Rand, n int) numberset.Set {
	areaCodes := []uint64{
		11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 24, 27, 28, 31, 32, 33, 34, 35, 37, 38, 41, 42, 43, 44, 45, 46, 47, 48, 49,
		51, 53, 54, 55, 61, 62, 63, 64, 65, 66, 67, 68, 69, 71, 73, 74, 75, 77, 79,
		81, 82, 83, 84, 85, 86, 87, 88, 89, 91, 92, 93, 94, 95, 96, 97, 98, 99,
	}
	numbers := make([]uint64, n)
	for i := range numbers {
		areaCode := areaCodes[r.IntN(len(areaCodes))]
		numbers[i] = (5500+areaCode)*1_000_000_000 + 900_000_000 + r.Uint64N(100_000_000)
	}
	return numberset.New(numbers)
}

func TestNew(t *testing.T) {
	t.Parallel()
	type phone uint64
	given := []phone{3, 1, 3, 2, 1}
	if diff := cmp.Diff(numberset.Set{1, 2, 3}, numberset.New(given)); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]phone{3, 1, 3, 2, 1}, given); diff != "" {
		t.Errorf("the numbers given were changed (-want +got):\n%s", diff)
	}
}

func TestUnpack_Packed(t *testing.T) {
	t.Parallel()
	for _, s := range []numberset.Set{{}, {0}, {math.MaxUint64}, {0, math.MaxUint64}, {5511987654321}} {
		roundTrip(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { roundTrip(t, sets().Draw(t, "set")) })
}

func roundTrip(t interface {
	Helper()
	Errorf(format string, args ...any)
}, s numberset.Set,
) {
	t.Helper()
	got, err := numberset.Unpack(s.Pack())
	if err != nil {
		t.Errorf("unpack %v: %v", s, err)
	}
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("set (-packed +unpacked):\n%s", diff)
	}
}

func TestPackedSize(t *testing.T) {
	t.Parallel()
	const count, limit = 2000, 3.3
	for seed := range uint64(20) {
		s := mobiles(rand.New(rand.NewPCG(seed, 0)), count)
		if got := float64(len(s.Pack())) / float64(len(s)); got > limit {
			t.Errorf("%.3f bytes a number, want %v at most", got, limit)
		}
	}
}

func TestPack_SizeOfExtremes(t *testing.T) {
	t.Parallel()
	block := make(numberset.Set, 2000)
	for i := range block {
		block[i] = 5511900000000 + uint64(i)
	}
	tests := []struct {
		name string
		set  numberset.Set
		most int
	}{
		{"nothing", nil, 2},
		{"one number", block[:1], 8},
		{"a block of consecutive numbers", block, 2020},
	}
	for _, tt := range tests {
		if got := len(tt.set.Pack()); got > tt.most {
			t.Errorf("%s: %d bytes, want %d at most", tt.name, got, tt.most)
		}
	}
}

func TestUnpack_Corrupt(t *testing.T) {
	t.Parallel()
	packed := mobiles(rand.New(rand.NewPCG(1, 1)), 100).Pack()
	largest := append([]byte{0xff}, binary.AppendUvarint(nil, math.MaxUint64>>7)...)
	tests := []struct {
		name   string
		packed []byte
	}{
		{"nothing", nil},
		{"no count", []byte{1}},
		{"width 0", []byte{0, 0}},
		{"width 5", []byte{5, 0}},
		{"no numbers", []byte{1, 1}},
		{"something behind", append(slices.Clone(packed), 0)},
		{"endless count", []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"count without bytes", binary.AppendUvarint([]byte{1}, 1<<50)},
		{"rest cut off", []byte{1, 1, 0x80}},
		{"rest over 64 bits", append([]byte{1, 1, 0xff}, binary.AppendUvarint(nil, 1<<57)...)},
		{"sum over 64 bits", append([]byte{1, 2, 5}, largest...)},
		{"number behind the largest", append(append([]byte{1, 2}, largest...), 0)},
	}
	for i := range packed {
		if s, err := numberset.Unpack(packed[:i]); err == nil {
			t.Errorf("the first %d of %d bytes are the set %v", i, len(packed), s)
		}
	}
	for _, tt := range tests {
		if s, err := numberset.Unpack(tt.packed); err == nil {
			t.Errorf("%s: the set %v, want an error", tt.name, s)
		}
	}
}

// FuzzUnpack makes sure that whatever Unpack accepts is a set.
func FuzzUnpack(f *testing.F) {
	f.Add(mobiles(rand.New(rand.NewPCG(2, 2)), 20).Pack())
	f.Add(numberset.Set{0, 1, math.MaxUint64}.Pack())
	f.Add([]byte{4, 1, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, packed []byte) {
		s, err := numberset.Unpack(packed)
		if err != nil {
			return
		}
		if diff := cmp.Diff(numberset.New(s), s); diff != "" {
			t.Errorf("no set (-want +got):\n%s", diff)
		}
		roundTrip(t, s)
	})
}
