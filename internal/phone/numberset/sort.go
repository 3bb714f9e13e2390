package numberset

// sortNumbers sorts byte by byte, lowest first, leaving out the bytes in which
// all numbers agree, as the first ones of phone numbers do. On 2,000 numbers it
// is several times as fast as comparing them.
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

// varyingBits returns the bits in which the numbers are not all the same.
func varyingBits(numbers []uint64) uint64 {
	varying := uint64(0)
	for _, n := range numbers {
		varying |= n ^ numbers[0]
	}
	return varying
}

// distribute copies the numbers in the order of the byte at shift; equal ones
// keep their order.
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
