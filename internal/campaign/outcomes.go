package campaign

import "maps"

// rank orders the outcomes: a message moves only to an outcome of a higher
// rank. Of those that share a rank the first one stays. A delivery is proof:
// whatever was said before, a message that was delivered was not stopped,
// revoked, expired or failed.
func (o Outcome) rank() int {
	switch o {
	case OutcomeSent:
		return 1
	case OutcomeFailed, OutcomeExpired, OutcomeRevoked, OutcomeStopped:
		return 2
	case OutcomeDelivered:
		return 3
	case OutcomeRead:
		return 4
	}
	return 0
}

// Settled reports whether nothing more has to come: a message that was sent may
// still be delivered, or expire.
func (o Outcome) Settled() bool { return o.rank() > OutcomeSent.rank() }

// Supersedes reports whether a message whose outcome is old moves on to o. The
// outcome of a message of which nothing is known is "".
func (o Outcome) Supersedes(old Outcome) bool { return o.rank() > old.rank() }

// LedgerSummary is the top of a batch's ledger.
type LedgerSummary struct {
	Ordinal  int             // of the last page of the log, 0 before the first
	Sequence int             // of the last change, which is the number of changes so far
	Counts   map[Outcome]int // messages by the outcome they have now
	Reasons  map[Reason]int  // messages by why they ended without being delivered
	Timeline Timeline
}

// Reason is why messages ended without being delivered, see Change.Why.
type Reason struct {
	Outcome Outcome
	Code    string
}

// CodeSuperseded takes back, as a negative number, what was counted for messages
// of an outcome that were delivered after all: which code they had had is not
// known any more. So the reasons of an outcome always add up to its count.
const CodeSuperseded = "superseded"

// Known returns how many messages have an outcome.
func (h LedgerSummary) Known() int {
	total := 0
	for _, n := range h.Counts {
		total += n
	}
	return total
}

// Settled returns how many messages have an outcome after which nothing has to
// come.
func (h LedgerSummary) Settled() int { return h.Known() - h.Counts[OutcomeSent] }

// FrameState is what the ledger says of one frame.
type FrameState struct {
	Outcomes map[int]Outcome // by index within the batch, where there is one
}

// Ledger are a batch's outcomes as read: the head, and the frames asked for.
type Ledger struct {
	Head   LedgerSummary
	Frames map[int]FrameState
	States []byte // the outcomes of all messages, as the store keeps them
}

// Outcome returns the outcome of the message at index, whose frame must have
// been asked for, or "".
func (b Ledger) Outcome(index int) Outcome { return b.Frames[index/FrameSize].Outcomes[index] }

// Effective returns those of the changes that move a message on, in their order.
func (b Ledger) Effective(changes []Change) []Change {
	var news []Change
	reached := map[int]Outcome{}
	for _, c := range changes {
		old, ok := reached[c.Index]
		if !ok {
			old = b.Outcome(c.Index)
		}
		if c.Outcome.Supersedes(old) && (old == "" || !c.First) {
			reached[c.Index] = c.Outcome
			news = append(news, c)
		}
	}
	return news
}

// HeadAfter returns the head once the news, which News returned, are entered as
// so many pages of the log.
func (b Ledger) HeadAfter(news []Change, pages int) LedgerSummary {
	head := LedgerSummary{
		Ordinal:  b.Head.Ordinal + pages,
		Sequence: b.Head.Sequence + len(news),
		Counts:   map[Outcome]int{},
		Reasons:  map[Reason]int{},
		Timeline: b.Head.Timeline.clone(),
	}
	maps.Copy(head.Counts, b.Head.Counts)
	maps.Copy(head.Reasons, b.Head.Reasons)
	reached := map[int]Outcome{}
	for _, c := range news {
		old, ok := reached[c.Index]
		if !ok {
			old = b.Outcome(c.Index)
		}
		reached[c.Index] = c.Outcome
		head.move(old, c)
	}
	return head
}

// move counts a message's change from an outcome, or from none.
func (h *LedgerSummary) move(old Outcome, c Change) {
	net := h.Timeline.net(c.At)
	if old != "" {
		h.Counts[old]--
		net[old]--
	}
	if old.rank() == OutcomeFailed.rank() {
		h.Reasons[Reason{old, CodeSuperseded}]--
	}
	h.Counts[c.Outcome]++
	net[c.Outcome]++
	if code, _ := c.Why(); code != "" {
		h.Reasons[Reason{c.Outcome, code}]++
	}
}

// PageSize is the number of changes that a page of a log holds at most.
const PageSize = 250

// MaxChanges is the number of changes that the log of a batch has at most: each moves a
// message to an outcome of one of four ranks, and upwards.
const MaxChanges = 4 * MaxMessages

// LogPage is one page of a batch's log of changes.
type LogPage struct {
	Ordinal int
	First   int // sequence of the first change, from 1
	Changes []Change
}
