package optout

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/phone/numberset"
)

// repeatedFor is the period in which the provider may repeat an event: seven days, plus
// one as margin.
const repeatedFor = 8 * 24 * time.Hour

var errDamaged = errors.New("damaged opt-outs")

// shard holds opted-out numbers, and the times of recent changes.
type shard struct {
	out    numberset.Set
	recent map[uint64]int64 // milliseconds since 1970
}

// change is a campaign.OptChange with a parsed number.
type change struct {
	number uint64
	out    bool
	at     int64 // milliseconds since 1970
}

func unpack(packed, recent []byte) (s shard, err error) {
	if s.out, err = numberset.Unpack(packed); err != nil {
		return s, err
	}
	s.recent = map[uint64]int64{}
	return s, eachRecent(recent, func(number uint64, at int64) { s.recent[number] = at })
}

// eachRecent visits the packed times of changes.
func eachRecent(packed []byte, visit func(number uint64, at int64)) error {
	for len(packed) > 0 {
		number, n := binary.Uvarint(packed)
		at, m := binary.Varint(packed[max(n, 0):])
		if n <= 0 || m <= 0 {
			return errDamaged
		}
		visit(number, at)
		packed = packed[n+m:]
	}
	return nil
}

// pack encodes the shard, without the times of changes older than repeatedFor.
func (s *shard) pack(now time.Time) (packed, recent []byte) {
	for _, number := range slices.Sorted(maps.Keys(s.recent)) {
		if at := s.recent[number]; now.Sub(time.UnixMilli(at)) < repeatedFor {
			recent = binary.AppendUvarint(recent, number)
			recent = binary.AppendVarint(recent, at)
		}
	}
	return s.out.Pack(), recent
}

func (s *shard) has(number uint64) bool {
	_, out := slices.BinarySearch(s.out, number)
	return out
}

// apply applies the changes that have no later change of their number, and reports
// whether there were any.
func (s *shard) apply(changes ...change) bool {
	turned := map[uint64]bool{}
	for _, c := range changes {
		if before, ok := s.recent[c.number]; ok && before >= c.at {
			continue
		}
		if s.recent == nil {
			s.recent = map[uint64]int64{}
		}
		s.recent[c.number], turned[c.number] = c.at, c.out
	}
	s.turn(turned)
	return len(turned) > 0
}

// turn opts numbers out or in.
func (s *shard) turn(numbers map[uint64]bool) {
	numbers = maps.Clone(numbers)
	maps.DeleteFunc(numbers, func(number uint64, out bool) bool { return s.has(number) == out })
	if len(numbers) == 0 {
		return
	}
	turned := make(numberset.Set, 0, len(s.out)+len(numbers))
	rest := s.out
	for _, number := range slices.Sorted(maps.Keys(numbers)) {
		place, out := slices.BinarySearch(rest, number)
		turned, rest = append(turned, rest[:place]...), rest[place:]
		if out {
			rest = rest[1:]
		} else {
			turned = append(turned, number)
		}
	}
	turned = append(turned, rest...)
	s.out = turned
}

// piece is an encoded shard, or an encoded part of one.
type piece struct {
	from           uint64 // its lowest number, or a lower one
	packed, recent []byte
}

// divide divides the shard, whose numbers begin at from, into pieces of at most limit
// bytes. It halves by count, so that no choice of numbers makes uneven pieces.
func (s *shard) divide(from uint64, now time.Time, limit int) []piece {
	packed, recent := s.pack(now)
	if len(packed)+len(recent) <= limit {
		return []piece{{from, packed, recent}}
	}
	numbers := s.numbers(now)
	if len(numbers) < 2 {
		return []piece{{from, packed, recent}}
	}
	low, high := s.cut(numbers[len(numbers)/2])
	return append(low.divide(from, now, limit), high.divide(numbers[len(numbers)/2], now, limit)...)
}

// numbers returns all numbers that pack encodes, sorted.
func (s *shard) numbers(now time.Time) numberset.Set {
	all := slices.Clone(s.out)
	for number, at := range s.recent {
		if now.Sub(time.UnixMilli(at)) < repeatedFor {
			all = append(all, number)
		}
	}
	return numberset.New(all)
}

// cut returns the shard below a number, and from it on.
func (s *shard) cut(number uint64) (low, high shard) {
	place, _ := slices.BinarySearch(s.out, number)
	low = shard{out: s.out[:place], recent: map[uint64]int64{}}
	high = shard{out: s.out[place:], recent: map[uint64]int64{}}
	for n, at := range s.recent {
		if n < number {
			low.recent[n] = at
		} else {
			high.recent[n] = at
		}
	}
	return low, high
}
