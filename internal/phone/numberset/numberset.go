// Package numberset holds sets of numbers: one batch's, packed to be stored,
// and all of a campaign's, merged to be searched.
package numberset

import "slices"

// Set is numbers in ascending order, each once.
type Set []uint64

// New returns the set of the given numbers, in any order and any number of
// times each. It does not keep them.
func New[N ~uint64](numbers []N) Set {
	s := make(Set, len(numbers))
	for i, n := range numbers {
		s[i] = uint64(n)
	}
	sortNumbers(s)
	return slices.Compact(s)
}
