package numberset

// Union returns the numbers that are in s, in t, or in both.
func (s Set) Union(t Set) Set {
	all := make(Set, 0, len(s)+len(t))
	for len(s) > 0 && len(t) > 0 {
		n := min(s[0], t[0])
		all = append(all, n)
		s, t = after(s, n), after(t, n)
	}
	return append(append(all, s...), t...)
}

// Without returns the numbers of s that are not in t.
func (s Set) Without(t Set) Set {
	rest := make(Set, 0, len(s))
	for _, n := range s {
		t = t[gallop(t, n):]
		if len(t) == 0 || t[0] != n {
			rest = append(rest, n)
		}
	}
	return rest
}

// after returns s without n, its first number or a lower one.
func after(s Set, n uint64) Set {
	if s[0] == n {
		return s[1:]
	}
	return s
}
