package optout

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
)

// repeatedFor is the period in which the provider may repeat an event: seven days, plus one as margin.
const repeatedFor = campaign.EventsRepeated

var errDamaged = errors.New("damaged opt-outs")

// shard holds opted-out numbers with their origins, and the times of recent changes.
type shard struct {
	out     numberset.Set
	origins []campaign.Origin // of out
	recent  map[uint64]int64  // milliseconds since 1970
}

type change struct {
	number uint64
	out    bool
	at     int64 // milliseconds since 1970
	origin campaign.Origin
}

func unpack(packed, recent, origins []byte) (s shard, err error) {
	if s.out, err = numberset.Unpack(packed); err != nil {
		return s, err
	}
	if s.origins, err = unpackOrigins(origins, len(s.out)); err != nil {
		return s, err
	}
	s.recent = map[uint64]int64{}
	return s, eachRecent(recent, func(number uint64, at int64) { s.recent[number] = at })
}

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
func (s *shard) pack(now time.Time) (p piece) {
	for _, number := range slices.Sorted(maps.Keys(s.recent)) {
		if at := s.recent[number]; now.Sub(time.UnixMilli(at)) < repeatedFor {
			p.recent = binary.AppendUvarint(p.recent, number)
			p.recent = binary.AppendVarint(p.recent, at)
		}
	}
	p.packed, p.origins = s.out.Pack(), packOrigins(s.origins)
	return p
}

func (s *shard) contains(number uint64) bool {
	_, out := slices.BinarySearch(s.out, number)
	return out
}

// apply applies the changes that have no later change of their number, and reports whether there were any.
func (s *shard) apply(changes ...change) bool {
	turned := map[uint64]change{}
	for _, c := range changes {
		if before, ok := s.recent[c.number]; ok && before >= c.at {
			continue
		}
		if s.recent == nil {
			s.recent = map[uint64]int64{}
		}
		s.recent[c.number], turned[c.number] = c.at, c
	}
	s.applyChanges(turned)
	return len(turned) > 0
}

// applyChanges opts numbers out or in. The origin of a number that is opted out already stays.
func (s *shard) applyChanges(changes map[uint64]change) {
	changes = maps.Clone(changes)
	maps.DeleteFunc(changes, func(number uint64, c change) bool { return s.contains(number) == c.out })
	if len(changes) == 0 {
		return
	}
	turned := shard{out: make(numberset.Set, 0, len(s.out)+len(changes)), origins: make([]campaign.Origin, 0, len(s.out)+len(changes))}
	rest, restOrigins := s.out, s.origins
	for _, number := range slices.Sorted(maps.Keys(changes)) {
		place, out := slices.BinarySearch(rest, number)
		turned.append(rest[:place], restOrigins[:place])
		rest, restOrigins = rest[place:], restOrigins[place:]
		if out {
			rest, restOrigins = rest[1:], restOrigins[1:]
		} else {
			turned.append(numberset.Set{number}, []campaign.Origin{changes[number].origin})
		}
	}
	turned.append(rest, restOrigins)
	s.out, s.origins = turned.out, turned.origins
}

func (s *shard) append(numbers numberset.Set, origins []campaign.Origin) {
	s.out, s.origins = append(s.out, numbers...), append(s.origins, origins...)
}

type piece struct {
	from                    uint64 // its lowest number, or a lower one
	packed, recent, origins []byte
}

func (p piece) size() int { return len(p.packed) + len(p.recent) + len(p.origins) }

// divide divides the shard, whose numbers begin at from, into pieces of at most limit
// bytes. It halves by count, so that no choice of numbers makes uneven pieces.
func (s *shard) divide(from uint64, now time.Time, limit int) []piece {
	p := s.pack(now)
	p.from = from
	numbers := s.numbers(now)
	if p.size() <= limit || len(numbers) < 2 {
		return []piece{p}
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

func (s *shard) cut(number uint64) (low, high shard) {
	place, _ := slices.BinarySearch(s.out, number)
	low = shard{out: s.out[:place], origins: s.origins[:place], recent: map[uint64]int64{}}
	high = shard{out: s.out[place:], origins: s.origins[place:], recent: map[uint64]int64{}}
	for n, at := range s.recent {
		if n < number {
			low.recent[n] = at
		} else {
			high.recent[n] = at
		}
	}
	return low, high
}

const (
	originBits   = 2 // size of a packed origin
	originsAByte = 8 / originBits
	originMask   = 1<<originBits - 1
)

func packOrigins(origins []campaign.Origin) []byte {
	packed := make([]byte, sizeOfOrigins(len(origins)))
	for i, o := range origins {
		packed[i/originsAByte] |= byte(o) << (i % originsAByte * originBits)
	}
	return packed
}

func unpackOrigins(packed []byte, n int) ([]campaign.Origin, error) {
	if len(packed) != sizeOfOrigins(n) {
		return nil, errDamaged
	}
	origins := make([]campaign.Origin, n)
	for i := range origins {
		origins[i] = campaign.Origin(packed[i/originsAByte] >> (i % originsAByte * originBits) & originMask)
	}
	return origins, nil
}

func sizeOfOrigins(n int) int { return (n + originsAByte - 1) / originsAByte }

// origin returns the origin of a number's opt-out, 0 for a number that is not opted out.
func (s *shard) origin(number uint64) campaign.Origin {
	if place, out := slices.BinarySearch(s.out, number); out {
		return s.origins[place]
	}
	return 0
}
