package ledger

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

// Taps is the content of a batch's TAPS row: which suggestions of which messages were
// tapped, and the newest entries of the log of taps (the tail). TAPS# rows contain older
// entries. The rows are separate from HEAD, so that a write of outcomes keeps them. The zero Taps
// means no taps. CLICKS rows contain the clicks on links in the same form.
type Taps struct {
	Sequence int      // of the last tap, 0 if there is none
	Tapped   []uint64 // by message; bit n is suggestion n
	Tail     []campaign.Change
}

// maxSuggestion is the maximum number of a suggestion.
const maxSuggestion = 63

// TapPage is the maximum number of taps per write.
const TapPage = 100

// First returns the sequence of the tail's first entry.
func (t Taps) First() int { return t.Sequence - len(t.Tail) + 1 }

// Drop returns the taps without the n oldest entries of the tail.
func (t Taps) Drop(n int) Taps {
	t.Tail = t.Tail[min(n, len(t.Tail)):]
	return t
}

// Has reports whether the tap is recorded.
func (t Taps) Has(c campaign.Change) bool {
	return c.Index < len(t.Tapped) && t.Tapped[c.Index]&(1<<c.Suggestion) != 0
}

// NewTaps returns the taps that are not recorded yet, each once, in order.
func (t Taps) NewTaps(taps []campaign.Change) (fresh []campaign.Change) {
	t.Tapped = slices.Clone(t.Tapped)
	for _, c := range taps {
		if c.Suggestion < 1 || c.Suggestion > maxSuggestion || t.Has(c) {
			continue
		}
		t.set(c)
		fresh = append(fresh, c)
	}
	return fresh
}

func (t *Taps) set(c campaign.Change) {
	if missing := c.Index + 1 - len(t.Tapped); missing > 0 {
		t.Tapped = append(t.Tapped, make([]uint64, missing)...)
	}
	t.Tapped[c.Index] |= 1 << c.Suggestion
}

// After returns the taps after new ones are appended, see NewTaps.
func (t Taps) After(fresh []campaign.Change) Taps {
	next := Taps{Sequence: t.Sequence + len(fresh), Tapped: slices.Clone(t.Tapped), Tail: slices.Concat(t.Tail, fresh)}
	for _, c := range fresh {
		next.set(c)
	}
	return next
}

// Messages returns the number of messages with a tapped suggestion.
func (t Taps) Messages() (n int) {
	for _, tapped := range t.Tapped {
		if tapped != 0 {
			n++
		}
	}
	return n
}

// Or returns what is in t or in other, without sequence and tail.
func (t Taps) Or(other Taps) Taps {
	long, short := t.Tapped, other.Tapped
	if len(long) < len(short) {
		long, short = short, long
	}
	both := slices.Clone(long)
	for i, tapped := range short {
		both[i] |= tapped
	}
	return Taps{Tapped: both}
}

// BySuggestion returns the number of messages on which each suggestion was tapped, from suggestion 1 to
// the last tapped one.
func (t Taps) BySuggestion() (messages []int) {
	for _, tapped := range t.Tapped {
		for ; tapped != 0; tapped &= tapped - 1 {
			suggestion := bits.TrailingZeros64(tapped)
			if missing := suggestion - len(messages); missing > 0 {
				messages = append(messages, make([]int, missing)...)
			}
			messages[suggestion-1]++
		}
	}
	return messages
}

// PackedTaps contains the encoded values of a TAPS row.
type PackedTaps struct{ Tapped, Tail []byte }

// Pack encodes the taps.
func (t Taps) Pack() PackedTaps { return PackedTaps{packTapped(t.Tapped), Pack(t.Tail)} }

// Taps decodes a TAPS row. sequence is the sequence of its last entry.
func (p PackedTaps) Taps(sequence int) (t Taps, err error) {
	t.Sequence = sequence
	if t.Tapped, err = unpackTapped(p.Tapped); err != nil {
		return t, err
	}
	t.Tail, err = Unpack(p.Tail)
	if len(t.Tail) > sequence {
		err = packed.ErrDamaged
	}
	return t, err
}

// Full reports whether the tail must be moved to a TAPS# row before fresh taps are appended. The
// row then takes as few write units as possible.
func (t Taps) Full(fresh []campaign.Change) bool {
	p := t.After(fresh).Pack()
	head := Packed{States: p.Tapped, Tail: p.Tail}
	return len(t.Tail) > 0 && (len(t.Tail)+len(fresh) > MaxPage || head.Size() > head.limit())
}

// packTapped encodes the numbers of messages and suggestions, then a bit for each
// suggestion of each message, in the context of the suggestion. 2,000 messages of which 5%
// have a tap take about 80 bytes.
func packTapped(tapped []uint64) []byte {
	var all uint64
	for _, t := range tapped {
		all |= t
	}
	if all == 0 {
		return nil
	}
	var contexts [maxSuggestion + 1]bitCounts
	last := bits.Len64(all) - 1
	e := newEncoder(append(binary.AppendUvarint(nil, uint64(len(tapped))), byte(last))) //nolint:gosec // at most maxSuggestion
	for _, t := range tapped {
		for s := 1; s <= last; s++ {
			e.put(byte(t>>s&1), &contexts[s])
		}
	}
	return e.end()
}

func unpackTapped(value []byte) ([]uint64, error) {
	if len(value) == 0 {
		return nil, nil
	}
	r := newReader(value)
	n, last := r.Uvarint(), int(r.Byte())
	if r.Err != nil || n > campaign.MaxMessages || last > maxSuggestion {
		return nil, packed.ErrDamaged
	}
	var contexts [maxSuggestion + 1]bitCounts
	d := newDecoder(r.Rest)
	tapped := make([]uint64, n)
	for i := range tapped {
		for s := 1; s <= last; s++ {
			tapped[i] |= uint64(d.get(&contexts[s])) << s
		}
	}
	return tapped, nil
}

// clickedBit marks the suggestion of a click.
const clickedBit = 0x80

func (r *reader) suggestion() (campaign.Outcome, int) {
	outcome, n := campaign.OutcomeTapped, r.Byte()
	if n&clickedBit != 0 {
		outcome, n = campaign.OutcomeClicked, n&^clickedBit
	}
	if n < 1 || n > maxSuggestion {
		r.Fail()
	}
	return outcome, int(n)
}
