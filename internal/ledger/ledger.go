// Package ledger is how the outcomes of a batch are kept: one HEAD row, below a
// kilobyte for a batch of 2,000, which holds the states of all messages, why and when
// they changed, and the newest entries of the log (the tail), and LOG rows of the
// entries before. It knows no database. An entry is addressed by its sequence alone,
// since entries move from the tail into LOG rows.
package ledger

import (
	"slices"

	"campaign-dispatch/internal/campaign"
)

const (
	// unit is the size up to which a row costs one write unit.
	unit = 1024
	// overhead is the size of all of a HEAD row but its three packed values: keys,
	// names, two sequences and the end of its life, see Head.Size.
	overhead = 84
	// minTail is the room in bytes that a tail has at least, some 5 entries. A head
	// that leaves less of a kilobyte takes another one.
	minTail = 32
	// MaxPage is the number of entries that a tail or a LOG row holds at most.
	MaxPage = campaign.PageSize
	// maxRow is the size of the entries of a LOG row, which so costs one unit.
	maxRow = unit - overhead
)

// Head is what a batch's HEAD row holds. The zero Head is that of a batch of which
// nothing is known.
type Head struct {
	Sequence int    // of the last entry, 0 before the first
	States   []byte // of each message, see outcomes
	Reasons  map[campaign.Reason]int
	Timeline campaign.Timeline
	// Tail are the newest changes, in their order: the last one has the sequence
	// Sequence. What is older stands in LOG rows.
	Tail []campaign.Change
}

// First returns the sequence of the first entry of the tail.
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
	return outcomes[h.States[index]]
}

// Summary returns the head as the ledger of a batch have it.
func (h Head) Summary() campaign.LedgerSummary {
	var byState [len(outcomes)]int
	for _, s := range h.States {
		byState[s]++
	}
	counts := map[campaign.Outcome]int{}
	for state, n := range byState {
		if state > 0 && n > 0 {
			counts[outcomes[state]] = n
		}
	}
	return campaign.LedgerSummary{Sequence: h.Sequence, Counts: counts, Reasons: h.Reasons, Timeline: h.Timeline}
}

// Ledger returns the head as the ledger of a batch with those frames.
func (h Head) Ledger(frames []int) campaign.Ledger {
	b := campaign.Ledger{Head: h.Summary(), Frames: make(map[int]campaign.FrameState, len(frames))}
	for _, f := range frames {
		b.Frames[f] = campaign.FrameState{Outcomes: map[int]campaign.Outcome{}}
		for index := f * campaign.FrameSize; index < (f+1)*campaign.FrameSize; index++ {
			if outcome := h.Outcome(index); outcome != "" {
				b.Frames[f].Outcomes[index] = outcome
			}
		}
	}
	return b
}

// ledger returns what the rules of campaign.Ledger ask for to judge the changes.
func (h Head) batchLedger(changes []campaign.Change) campaign.Ledger {
	b := campaign.Ledger{Head: h.Summary(), Frames: map[int]campaign.FrameState{}}
	for _, c := range changes {
		frame := c.Index / campaign.FrameSize
		if b.Frames[frame].Outcomes == nil {
			b.Frames[frame] = campaign.FrameState{Outcomes: map[int]campaign.Outcome{}}
		}
		if outcome := h.Outcome(c.Index); outcome != "" {
			b.Frames[frame].Outcomes[c.Index] = outcome
		}
	}
	return b
}

// News returns those of the changes that move a message on, in their order.
func (h Head) News(changes []campaign.Change) []campaign.Change {
	return h.batchLedger(changes).Effective(changes)
}

// After returns the head of a batch of so many messages once the news, which News
// returned, are entered. They all stand in its tail, whether that has room for them
// or not.
func (h Head) After(messages int, news []campaign.Change) Head {
	sum := h.batchLedger(news).HeadAfter(news, 0)
	next := Head{
		Sequence: sum.Sequence, Reasons: sum.Reasons, Timeline: sum.Timeline,
		States: make([]byte, max(messages, len(h.States))),
		Tail:   slices.Concat(h.Tail, news),
	}
	copy(next.States, h.States)
	for _, c := range news {
		next.States[c.Index] = stateOf(c.Outcome)
	}
	return next
}

// Packed are the packed values of a HEAD row.
type Packed struct{ States, Tally, Tail []byte }

// Pack returns the packed values of the head's row.
func (h Head) Pack() Packed {
	return Packed{packStates(h.States), packTally(h.Reasons, h.Timeline), Pack(h.Tail)}
}

// Size is the size of the row in bytes, rounded up.
func (p Packed) Size() int { return overhead + len(p.States) + len(p.Tally) + len(p.Tail) }

// Head reads the head whose last entry has the sequence.
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
		err = errDamaged
	}
	return h, err
}

// limit is the size to which the row may grow before its tail moves: a kilobyte, or
// as many as it takes to hold a few entries.
func (p Packed) limit() int {
	fixed := p.Size() - len(p.Tail)
	return (fixed + minTail + unit - 1) / unit * unit
}

// Write is one write of news.
type Write struct {
	Was    int  // the sequence before
	Head   Head // as it is then
	Packed Packed
	// Move says that nothing can be written yet: the tail has to move into a LOG
	// row first, and then the write is planned again.
	Move bool
	// Pages are the news, in parts that fit a LOG row each, where they are more than
	// a tail holds. They are written together with the head, or not at all.
	Pages [][]campaign.Change
}

// Plan returns how the news, which News returned, are entered into the ledger of a
// batch of so many messages.
func (h Head) Plan(messages int, news []campaign.Change) Write {
	w := Write{Was: h.Sequence, Head: h.After(messages, news)}
	w.Packed = w.Head.Pack()
	switch {
	case len(w.Head.Tail) <= MaxPage && w.Packed.Size() <= w.Packed.limit():
	case len(h.Tail) > 0:
		w.Move = true
	default:
		w.Pages = pagesOf(news)
		w.Head.Tail, w.Packed.Tail = nil, nil
	}
	return w
}

// pagesOf divides changes into as few parts as fit a LOG row of one unit each.
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
