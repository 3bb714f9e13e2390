package numberset

import "math/bits"

// filter says of most numbers that are not in a union that they are not, with
// one look into memory where a search takes many that wait for one another. It
// has a bit for each of the values of a hash, and at least bitsPerNumber bits
// for each number. The zero filter holds nothing.
type filter struct {
	bits []uint64
	held int // numbers that were added
}

const bitsPerNumber = 8

// mayHold is false where the number was not added.
func (f *filter) mayHold(n uint64) bool {
	if len(f.bits) == 0 {
		return false
	}
	word, bit := f.place(n)
	return f.bits[word]&bit != 0
}

// add takes numbers in, and reports whether there is room for them: where it is
// not, the filter has to be made again, of all numbers.
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

// newFilter returns a filter of the sets, with room for as many numbers more.
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

// place spreads the numbers over the bits by Fibonacci hashing.
func (f *filter) place(n uint64) (word int, bit uint64) {
	h := n * 0x9e3779b97f4a7c15 >> (64 - 6 - bits.TrailingZeros(uint(len(f.bits))))
	return int(h >> 6), 1 << (h & 63)
}
