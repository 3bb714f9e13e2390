package optout

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/numberset"
)

// repeatedFor is how long after an event the provider may repeat it: seven days,
// and one to spare.
const repeatedFor = 8 * 24 * time.Hour

var errDamaged = errors.New("damaged opt-outs")

// shard is a part of the numbers that opted out, and when each of those that
// changed lately did.
type shard struct {
	out    numberset.Set
	recent map[uint64]int64 // milliseconds since 1970
}

func unpack(row campaign.OptOuts) (s shard, err error) {
	if s.out, err = numberset.Unpack(row.Packed); err != nil {
		return s, err
	}
	s.recent = map[uint64]int64{}
	for rest := row.Recent; len(rest) > 0; {
		number, n := binary.Uvarint(rest)
		at, m := binary.Varint(rest[max(n, 0):])
		if n <= 0 || m <= 0 {
			return s, errDamaged
		}
		s.recent[number] = at
		rest = rest[n+m:]
	}
	return s, nil
}

// pack writes the shard, without the times of changes that nothing can repeat.
func (s *shard) pack(now time.Time) (packed, recent []byte) {
	for _, number := range slices.Sorted(maps.Keys(s.recent)) {
		if at := s.recent[number]; now.Sub(time.UnixMilli(at)) < repeatedFor {
			recent = binary.AppendUvarint(recent, number)
			recent = binary.AppendVarint(recent, at)
		}
	}
	return s.out.Pack(), recent
}

// apply takes a change in unless a later one came before it, and tells whether
// the shard changed.
func (s *shard) apply(number uint64, c campaign.OptChange) bool {
	at := c.At.UnixMilli()
	if before, ok := s.recent[number]; ok && before >= at {
		return false
	}
	if s.recent == nil {
		s.recent = map[uint64]int64{}
	}
	s.recent[number] = at
	place, out := slices.BinarySearch(s.out, number)
	switch {
	case c.Out && !out:
		s.out = slices.Insert(s.out, place, number)
	case !c.Out && out:
		s.out = slices.Delete(s.out, place, place+1)
	}
	return true
}
