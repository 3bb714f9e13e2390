// Package ledger encodes the outcomes of a batch. A HEAD row, below 1 KB for 2,000
// messages, contains the states of all messages, the reasons, the timeline and the newest
// log entries (the tail). LOG rows contain older entries. Entries move from the tail to LOG
// rows, so they are identified by their sequence alone. The package does not access a
// database.
package ledger

import (
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

const (
	unit     = 1024 // row size that costs one write unit
	overhead = 92   // size of a HEAD row without its three packed values, see Head.Size
	// minTail is the minimum room for the tail in bytes, about 5 entries. A head that
	// leaves less room takes another unit.
	minTail = 32
	// MaxPage is the maximum number of entries in a tail or a LOG row.
	MaxPage = 250
	maxRow  = unit - overhead // maximum size of a LOG row's entries, so that the row costs one unit
)

// Head is the content of a batch's HEAD row. The zero Head means no outcomes.
type Head struct {
	Sequence int    // of the last entry, 0 if there is none
	States   []byte // by message, see packed.Outcomes
	Reasons  map[campaign.Reason]int
	Timeline campaign.Timeline
	// Tail contains the newest changes, in order. The last one has the sequence Sequence.
	Tail []campaign.Change
}

// First returns the sequence of the tail's first entry.
func (h Head) First() int { return h.Sequence - len(h.Tail) + 1 }

// Drop returns the head without the n oldest entries of its tail.
func (h Head) Drop(n int) Head {
	h.Tail = h.Tail[min(n, len(h.Tail)):]
	return h
}

// Outcome returns the outcome of the message at index, or "".
func (h Head) Outcome(index int) campaign.Outcome {
	if index >= len(h.States) {
		return ""
	}
	return packed.Outcomes[h.States[index]]
}

// Complete reports whether all messages of a batch's frame have an outcome.
func (h Head) Complete(b campaign.Batch, frame int) bool {
	for i := range b.FrameLen(frame) {
		if h.Outcome(frame*campaign.FrameSize+i) == "" {
			return false
		}
	}
	return true
}

// Summary returns the head as a campaign.LedgerSummary.
func (h Head) Summary() campaign.LedgerSummary {
	var byState [len(packed.Outcomes)]int
	for _, s := range h.States {
		byState[s]++
	}
	counts := map[campaign.Outcome]int{}
	for state, n := range byState {
		if state > 0 && n > 0 {
			counts[packed.Outcomes[state]] = n
		}
	}
	return campaign.LedgerSummary{Sequence: h.Sequence, Counts: counts, Reasons: h.Reasons, Timeline: h.Timeline}
}

// NewChanges returns the changes that supersede the current outcomes, in order.
func (h Head) NewChanges(changes []campaign.Change) (fresh []campaign.Change) {
	reached := map[int]campaign.Outcome{}
	for _, c := range changes {
		old, ok := reached[c.Index]
		if !ok {
			old = h.Outcome(c.Index)
		}
		if c.Outcome.Supersedes(old) && (old == "" || !c.First) {
			reached[c.Index] = c.Outcome
			fresh = append(fresh, c)
		}
	}
	return fresh
}

// After returns the head after changes (see NewChanges) are appended, for a batch of the
// given number of messages. The tail contains all of them, even if it becomes too large.
func (h Head) After(messages int, changes []campaign.Change) Head {
	sum := h.Summary().After(changes, h.Outcome)
	next := Head{
		Sequence: sum.Sequence, Reasons: sum.Reasons, Timeline: sum.Timeline,
		States: make([]byte, max(messages, len(h.States))),
		Tail:   slices.Concat(h.Tail, changes),
	}
	copy(next.States, h.States)
	for _, c := range changes {
		next.States[c.Index] = packed.Number(c.Outcome)
	}
	return next
}

// Packed contains the encoded values of a HEAD row.
type Packed struct{ States, Tally, Tail []byte }

// Pack encodes the head.
func (h Head) Pack() Packed {
	return Packed{packStates(h.States), packTally(h.Reasons, h.Timeline), Pack(h.Tail)}
}

// Size returns the row's size in bytes, rounded up.
func (p Packed) Size() int { return overhead + len(p.States) + len(p.Tally) + len(p.Tail) }

// Head decodes a head. sequence is the sequence of its last entry.
func (p Packed) Head(sequence int) (h Head, err error) {
	h.Sequence = sequence
	if h.States, err = unpackStates(p.States); err != nil {
		return h, err
	}
	if h.Reasons, h.Timeline, err = unpackTally(p.Tally); err != nil {
		return h, err
	}
	h.Tail, err = Unpack(p.Tail)
	if len(h.Tail) > sequence {
		err = packed.ErrDamaged
	}
	return h, err
}

// limit is the row size above which the tail is moved to a LOG row: whole units with room for minTail.
func (p Packed) limit() int {
	fixed := p.Size() - len(p.Tail)
	return (fixed + minTail + unit - 1) / unit * unit
}

// Write is a planned write.
type Write struct {
	NewAfter int  // sequence after which the entries are new
	Head     Head // new head
	Packed   Packed
	// Move reports that nothing can be written yet. Move the tail to a LOG row first, then plan again.
	Move bool
	// Pages contains the changes, split into LOG rows, if they exceed the tail. Write them in
	// the same transaction as the head.
	Pages [][]campaign.Change
}

// Plan returns the write that appends changes (see NewChanges), for a batch of the given number of messages.
func (h Head) Plan(messages int, changes []campaign.Change) Write {
	w := Write{NewAfter: h.Sequence, Head: h.After(messages, changes)}
	w.Packed = w.Head.Pack()
	switch {
	case len(w.Head.Tail) <= MaxPage && w.Packed.Size() <= w.Packed.limit():
	case len(h.Tail) > 0:
		w.Move = true
	default:
		w.Pages = pagesOf(changes)
		w.Head.Tail, w.Packed.Tail = nil, nil
	}
	return w
}

func pagesOf(changes []campaign.Change) (pages [][]campaign.Change) {
	start, size, at := 0, 0, int64(0)
	for i, c := range changes {
		var packed []byte
		packed, at = packChange(nil, c, at)
		if i > start && (size+len(packed) > maxRow || i-start == MaxPage) {
			pages = append(pages, changes[start:i])
			start, size = i, 0
			packed, _ = packChange(nil, c, 0)
		}
		size += len(packed)
	}
	return append(pages, changes[start:])
}
