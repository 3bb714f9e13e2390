package numberset

import "math/bits"

// filter is a Bloom filter with one hash function. It answers most searches for absent
// numbers with one memory access, where a binary search needs many dependent ones. It
// has at least bitsPerNumber bits per number. The zero filter is empty.
type filter struct {
	bits []uint64
	held int // added numbers
}

const bitsPerNumber = 8

// mayHold returns false if the number was not added.
func (f *filter) mayHold(n uint64) bool {
	if len(f.bits) == 0 {
		return false
	}
	word, bit := f.place(n)
	return f.bits[word]&bit != 0
}

// add adds numbers. It returns false if there is no room: the filter must then be
// rebuilt from all numbers.
func (f *filter) add(s Set) bool {
	if f.held += len(s); f.held*bitsPerNumber > len(f.bits)*64 {
		return false
	}
	for _, n := range s {
		word, bit := f.place(n)
		f.bits[word] |= bit
	}
	return true
}

// newFilter returns a filter of the sets, with room for as many numbers again.
func newFilter(sets ...Set) filter {
	held := 0
	for _, s := range sets {
		held += len(s)
	}
	words := 1 << bits.Len(uint(2*held*bitsPerNumber/64))
	f := filter{bits: make([]uint64, words)}
	for _, s := range sets {
		f.add(s)
	}
	return f
}

// place returns the bit of a number, by Fibonacci hashing.
func (f *filter) place(n uint64) (word int, bit uint64) {
	h := n * 0x9e3779b97f4a7c15 >> (64 - 6 - bits.TrailingZeros(uint(len(f.bits))))
	return int(h >> 6), 1 << (h & 63)
}
