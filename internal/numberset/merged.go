package numberset

import (
	"fmt"
	"slices"
	"unsafe"
)

// Merged is the union of many sets as one sorted array. The zero value is the
// empty union. It is not safe for concurrent use.
type Merged struct {
	numbers Set
}

// Add takes the numbers of packed sets in, all of them or, when one is
// corrupt, none. Many sets in one call cost far less than a call for each.
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

// Insert takes the numbers of one set in. It moves every larger number once, in
// place.
func (m *Merged) Insert(s Set) {
	if len(m.numbers) == 0 {
		m.numbers = append(m.numbers, s...)
		return
	}
	fresh, places := m.missing(s)
	end := len(m.numbers)
	m.numbers = slices.Grow(m.numbers, len(fresh))[:end+len(fresh)]
	for i, n := range slices.Backward(fresh) {
		at := places[i]
		copy(m.numbers[at+i+1:], m.numbers[at:end])
		m.numbers[at+i] = n
		end = at
	}
}

// missing returns the numbers of s that are not in the union, and where in it
// each belongs.
func (m *Merged) missing(s Set) (fresh Set, places []int) {
	fresh, places = make(Set, 0, len(s)), make([]int, 0, len(s))
	at := 0
	for _, n := range s {
		at += gallop(m.numbers[at:], n)
		if at == len(m.numbers) || m.numbers[at] != n {
			fresh, places = append(fresh, n), append(places, at)
		}
	}
	return fresh, places
}

// Intersect returns the numbers of s that are in the union, nil when none is.
func (m *Merged) Intersect(s Set) Set {
	var common Set
	rest := m.numbers
	for _, n := range s {
		rest = rest[gallop(rest, n):]
		if len(rest) > 0 && rest[0] == n {
			common = append(common, n)
		}
	}
	return common
}

// Len returns how many numbers there are.
func (m *Merged) Len() int { return len(m.numbers) }

// Bytes returns how much memory the numbers take, room to grow included.
func (m *Merged) Bytes() int { return cap(m.numbers) * int(unsafe.Sizeof(m.numbers[0])) }

// gallop returns the index of the first number that is not below n. It takes
// steps of doubling length, so near numbers are found at once.
func gallop(s Set, n uint64) int {
	end := 1
	for end <= len(s) && s[end-1] < n {
		end *= 2
	}
	start := end / 2
	at, _ := slices.BinarySearch(s[start:min(end, len(s))], n)
	return start + at
}
