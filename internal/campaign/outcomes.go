package campaign

import (
	"cmp"
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

// Final reports whether the outcome is final. A sent message can still be delivered or expire.
func (o Outcome) Final() bool { return o.rank() > OutcomeSent.rank() }

// Supersedes reports whether a message changes from old to o. "" means no outcome.
func (o Outcome) Supersedes(old Outcome) bool { return o.rank() > old.rank() }

// LedgerSummary is the summary of a batch's ledger.
type LedgerSummary struct {
	Sequence int             // of the last change; equals the number of changes
	Counts   map[Outcome]int // messages by current outcome
	Reasons  map[Reason]int  // undelivered messages by reason
	Timeline Timeline
	Taps     int // tapped suggestions
	Tapped   int // messages with a tapped suggestion
	Clicks   int // clicked links
	Clicked  int // messages with a clicked link
	Touched  int // messages with a tapped suggestion or a clicked link
	// TappedBy, ClickedBy and TouchedBy are the messages with a tap, a click, or one of both on each suggestion, see
	// content.AllSuggestions. The first one is suggestion 1; the last one has some.
	TappedBy, ClickedBy, TouchedBy []int
}

// Reason is why messages ended undelivered, see Change.Why.
type Reason struct {
	Outcome Outcome
	Code    string
	List    int // number of the list, for CodeSuppressed
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

// After returns the summary after changes, each of which supersedes the outcome of its
// message. outcome returns the outcome of a message before them.
func (h LedgerSummary) After(changes []Change, outcome func(index int) Outcome) LedgerSummary {
	next := LedgerSummary{
		Sequence: h.Sequence + len(changes), Counts: map[Outcome]int{}, Reasons: map[Reason]int{}, Timeline: h.Timeline.clone(),
	}
	maps.Copy(next.Counts, h.Counts)
	maps.Copy(next.Reasons, h.Reasons)
	reached := map[int]Outcome{}
	for _, c := range changes {
		old, ok := reached[c.Index]
		if !ok {
			old = outcome(c.Index)
		}
		reached[c.Index] = c.Outcome
		next.move(old, c)
	}
	return next
}

// move counts a message's change from old, which can be "".
func (h *LedgerSummary) move(old Outcome, c Change) {
	net := h.Timeline.net(c.At)
	if old != "" {
		h.Counts[old]--
		net[old]--
	}
	if old.rank() == OutcomeFailed.rank() {
		h.Reasons[Reason{Outcome: old, Code: CodeSuperseded}]--
	}
	h.Counts[c.Outcome]++
	net[c.Outcome]++
	if code, _ := c.Why(); code != "" {
		h.Reasons[Reason{c.Outcome, code, c.List}]++
	}
}

// MaxChanges is the maximum number of changes in a batch's log. Each change raises a message to one of four ranks.
const MaxChanges = 4 * MaxMessages

// MaxTaps is the maximum number of taps in a batch's log of taps: one for each suggestion of each message.
const MaxTaps = MaxMessages * (content.MaxCards*content.MaxCardSuggestions + content.MaxSuggestions)

// MessagePending is the status of a message without an outcome.
const MessagePending = "pending"

// Status returns the status of a message with the latest change.
func (c Change) Status() string { return cmp.Or(string(c.Outcome), MessagePending) }

// MessageStatuses returns the statuses of messages.
func MessageStatuses() []string {
	return []string{
		MessagePending, string(OutcomeSent), string(OutcomeDelivered), string(OutcomeRead), string(OutcomeFailed), string(OutcomeExpired),
		string(OutcomeRevoked), string(OutcomeStopped),
	}
}

// Why returns the code and the reason, a sentence, of a message that ended undelivered.
// Both are empty for other outcomes. A change without a code gets the default code of its
// outcome.
func (c Change) Why() (code, reason string) {
	switch c.Outcome {
	case OutcomeSent, OutcomeDelivered, OutcomeRead, OutcomeTapped, OutcomeClicked:
		return "", ""
	case OutcomeRevoked:
		return CodeRevoked, reasonOf(CodeRevoked)
	case OutcomeStopped:
		code = CodeCancelled
	case OutcomeExpired:
		code = CodeTTLPassed
	case OutcomeFailed:
		code = CodeFailed
	}
	if c.Code != "" {
		code = c.Code
	}
	return code, reasonOf(code)
}

func reasonOf(code string) string {
	row, _ := DescribeCode(code)
	return row.Reason.English
}
