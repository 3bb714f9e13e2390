package numberset

import (
	"fmt"
	"slices"
)

// Lookup searches a packed set without unpacking it. It uses about a tenth more memory
// than the packed set, which it keeps.
type Lookup struct {
	distances []byte
	width     byte
	blocks    []block
}

// block is the start of the distances of blockSize numbers. The first distance counts
// from least.
type block struct {
	least uint64
	start int
}

const blockSize = 64

// NewLookup returns a Lookup of a packed set, or an error if packed is corrupt.
func NewLookup(packed []byte) (Lookup, error) {
	count, width, distances, err := readHeader(packed)
	if err != nil {
		return Lookup{}, fmt.Errorf("look up in a packed set: %w", err)
	}
	l := Lookup{distances: distances, width: width, blocks: make([]block, 0, (count+blockSize-1)/blockSize)}
	next, start := uint64(0), 0
	for i := range count {
		if i%blockSize == 0 {
			l.blocks = append(l.blocks, block{next, start})
		}
		distance, size := readDistance(distances[start:], width)
		n := next + distance
		if size == 0 || n < next || i > 0 && next == 0 {
			return Lookup{}, fmt.Errorf("look up in a packed set: %w", errCorrupt)
		}
		start, next = start+size, n+1
	}
	if start < len(distances) {
		return Lookup{}, fmt.Errorf("look up in a packed set: %w", errCorrupt)
	}
	return l, nil
}

// Has reports whether a number is in the set.
func (l Lookup) Has(number uint64) bool {
	after, _ := slices.BinarySearchFunc(l.blocks, number, func(b block, number uint64) int {
		if b.least <= number {
			return -1
		}
		return 1
	})
	if after == 0 {
		return false
	}
	b := l.blocks[after-1]
	next, start := b.least, b.start
	for range blockSize {
		if start == len(l.distances) {
			return false
		}
		distance, size := readDistance(l.distances[start:], l.width)
		n := next + distance
		if n >= number {
			return n == number
		}
		start, next = start+size, n+1
	}
	return false
}

// Bytes returns the memory of the Lookup in bytes.
func (l Lookup) Bytes() int { return cap(l.distances) + 16*cap(l.blocks) }
