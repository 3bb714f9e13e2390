package campaign

import (
	"maps"

	"campaign-dispatch/internal/campaign/content"
)

// rank orders the outcomes. A message changes only to an outcome of a higher rank. Among
// outcomes of equal rank, the first one stays. A delivery receipt overrides stopped,
// revoked, expired and failed.
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
	case OutcomeTapped, OutcomeClicked: // never the status of a message
	}
	return 0
}

// Final reports whether the outcome is final. A sent message can still be delivered or
// expire.
func (o Outcome) Final() bool { return o.rank() > OutcomeSent.rank() }

// Supersedes reports whether a message changes from old to o. "" means no outcome.
func (o Outcome) Supersedes(old Outcome) bool { return o.rank() > old.rank() }

// LedgerSummary is the summary of a batch's ledger.
type LedgerSummary struct {
	Ordinal  int             // of the last log page, 0 if there is none
	Sequence int             // of the last change; equals the number of changes
	Counts   map[Outcome]int // messages by current outcome
	Reasons  map[Reason]int  // undelivered messages by reason
	Timeline Timeline
	Taps     int // tapped suggestions
	Tapped   int // messages with a tapped suggestion
	Clicks   int // clicked links
	Clicked  int // messages with a clicked link
}

// Reason is why messages ended undelivered, see Change.Why.
type Reason struct {
	Outcome Outcome
	Code    string
}

// Known returns the number of messages with an outcome.
func (h LedgerSummary) Known() int {
	total := 0
	for _, n := range h.Counts {
		total += n
	}
	return total
}

// Final returns the number of messages with a final outcome.
func (h LedgerSummary) Final() int { return h.Known() - h.Counts[OutcomeSent] }

// FrameState contains the outcomes of one frame.
type FrameState struct {
	Outcomes map[int]Outcome // by index within the batch; absent without an outcome
}

// Ledger contains a batch's outcomes: its summary and the requested frames.
type Ledger struct {
	Head   LedgerSummary
	Frames map[int]FrameState
	States []byte // the outcomes of all messages, in the store's encoding
}

// Outcome returns the outcome of the message at index, or "". The message's frame must have
// been requested.
func (b Ledger) Outcome(index int) Outcome { return b.Frames[index/FrameSize].Outcomes[index] }

// Effective returns the changes that supersede the current outcome, in order.
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

// HeadAfter returns the summary after news (see Effective) are appended as the given number
// of log pages.
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

// move counts a message's change from old, which can be "".
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

// PageSize is the maximum number of changes on a log page.
const PageSize = 250

// MaxChanges is the maximum number of changes in a batch's log. Each change raises a
// message to one of four ranks.
const MaxChanges = 4 * MaxMessages

// MaxTaps is the maximum number of taps in a batch's log of taps: one for each suggestion of
// each message.
const MaxTaps = MaxMessages * (content.MaxCards*content.MaxCardSuggestions + content.MaxSuggestions)

// LogPage is one page of a batch's log of changes.
type LogPage struct {
	Ordinal int
	First   int // sequence of the first change, from 1
	Changes []Change
}
