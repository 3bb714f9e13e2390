// Package numberset implements sets of numbers: a batch's, packed for storage, and a
// campaign's, merged for searching.
package numberset

import "slices"

// Set is a sorted list of numbers without duplicates.
type Set []uint64

// New returns the set of the numbers, which may be unsorted and repeated. It does not keep numbers.
func New[N ~uint64](numbers []N) Set {
	s := make(Set, len(numbers))
	for i, n := range numbers {
		s[i] = uint64(n)
	}
	sortNumbers(s)
	return slices.Compact(s)
}

// sortNumbers is a radix sort by byte, lowest first, that skips bytes equal in all
// numbers. For 2,000 phone numbers it is several times as fast as a comparison sort.
func sortNumbers(numbers []uint64) {
	from, to := numbers, make([]uint64, len(numbers))
	varying := varyingBits(numbers)
	for shift := 0; varying>>shift > 0; shift += 8 {
		if varying>>shift&0xff > 0 {
			distribute(to, from, shift)
			from, to = to, from
		}
	}
	copy(numbers, from)
}

func varyingBits(numbers []uint64) uint64 {
	varying := uint64(0)
	for _, n := range numbers {
		varying |= n ^ numbers[0]
	}
	return varying
}

// distribute copies the numbers sorted by the byte at shift; the sort is stable.
func distribute(to, from []uint64, shift int) {
	var place [256]int
	for _, n := range from {
		place[n>>shift&0xff]++
	}
	next := 0
	for b, count := range &place {
		place[b] = next
		next += count
	}
	for _, n := range from {
		b := n >> shift & 0xff
		to[place[b]] = n
		place[b]++
	}
}
