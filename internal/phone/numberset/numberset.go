// Package numberset implements sets of numbers: a batch's, packed for storage, and a
// campaign's, merged for searching.
package numberset

import "slices"

// Set is a sorted list of numbers without duplicates.
type Set []uint64

// New returns the set of the numbers, which may be unsorted and repeated. It does not
// keep numbers.
func New[N ~uint64](numbers []N) Set {
	s := make(Set, len(numbers))
	for i, n := range numbers {
		s[i] = uint64(n)
	}
	sortNumbers(s)
	return slices.Compact(s)
}
