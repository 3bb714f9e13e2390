package numberset

import (
	"fmt"
	"slices"
)

// Merged is the union of many sets, as two sorted arrays: a large one, and a small one
// with recent numbers, so that an insertion moves few numbers. The zero value is empty.
// It is not safe for concurrent use.
type Merged struct {
	large, recent Set    // a number may be in both
	filter        filter // of both
}

// Add adds the numbers of packed sets. If one is corrupt, nothing is added. One call
// with many sets costs far less than a call for each.
func (m *Merged) Add(packed ...[]byte) error {
	var all Set
	var err error
	for i, p := range packed {
		if all, err = appendUnpacked(all, p); err != nil {
			return fmt.Errorf("unpack set %d of %d: %w", i+1, len(packed), err)
		}
	}
	if len(packed) > 1 {
		sortNumbers(all)
		all = slices.Compact(all)
	}
	m.Insert(all)
	return nil
}

// Insert adds the numbers of one set.
func (m *Merged) Insert(s Set) {
	limit := max(minRecent, len(m.large)/recentShare)
	if len(s) > limit {
		insert(&m.large, s)
	} else {
		insert(&m.recent, s)
	}
	if len(m.recent) > limit {
		insert(&m.large, m.recent)
		m.recent = m.recent[:0]
	}
	if !m.filter.add(s) {
		m.filter = newFilter(m.large, m.recent)
	}
}

// The small array is merged into the large one when it has more numbers than minRecent,
// and more than one in recentShare of the large one's.
const (
	minRecent   = 1 << 9
	recentShare = 16
)

// insert inserts the numbers of s into t in place. It moves every larger number once.
func insert(t *Set, s Set) {
	fresh, places := missing(*t, s)
	end := len(*t)
	grown := slices.Grow(*t, len(fresh))[:end+len(fresh)]
	for i, n := range slices.Backward(fresh) {
		at := places[i]
		copy(grown[at+i+1:], grown[at:end])
		grown[at+i] = n
		end = at
	}
	*t = grown
}

// missing returns the numbers of s that are not in t, and their positions in t.
func missing(t, s Set) (fresh Set, places []int) {
	fresh, places = make(Set, 0, len(s)), make([]int, 0, len(s))
	at := 0
	for _, n := range s {
		at += gallop(t[at:], n)
		if at == len(t) || t[at] != n {
			fresh, places = append(fresh, n), append(places, at)
		}
	}
	return fresh, places
}

// Intersect returns the numbers of s that are in the union, or nil if there are none.
func (m *Merged) Intersect(s Set) Set {
	likely := make(Set, 0, len(s)/bitsPerNumber)
	for _, n := range s {
		if m.filter.mayHold(n) {
			likely = append(likely, n)
		}
	}
	common := append(intersect(m.large, likely), intersect(m.recent, likely)...)
	slices.Sort(common)
	return slices.Compact(common)
}

func intersect(t, s Set) (common Set) {
	for _, n := range s {
		t = t[gallop(t, n):]
		if len(t) > 0 && t[0] == n {
			common = append(common, n)
		}
	}
	return common
}

// Bytes returns the memory of the numbers in bytes, including spare capacity.
func (m *Merged) Bytes() int {
	return 8 * (cap(m.large) + cap(m.recent) + cap(m.filter.bits))
}

// gallop returns the index of the first number that is at least n. Its steps double, so near numbers are found quickly.
func gallop(s Set, n uint64) int {
	end := 1
	for end <= len(s) && s[end-1] < n {
		end *= 2
	}
	start := end / 2
	at, _ := slices.BinarySearch(s[start:min(end, len(s))], n)
	return start + at
}
