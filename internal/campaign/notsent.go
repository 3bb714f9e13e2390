package campaign

// optedOut is the reason of messages that were not sent because their recipients had opted
// out. neverSent and windowClosed are the reasons of expired messages that were not sent.
var (
	optedOut     = Reason{Outcome: OutcomeFailed, Code: CodeOptedOut}
	neverSent    = Reason{Outcome: OutcomeExpired, Code: CodeNotAfterPassed}
	windowClosed = Reason{Outcome: OutcomeExpired, Code: CodeWindowClosed}
)

// OptedOut returns the number of messages that were not sent because their recipients had opted out.
func (h LedgerSummary) OptedOut() int { return h.ended(optedOut) }

// Suppressed returns the number of messages that were not sent because their numbers are on lists.
func (h LedgerSummary) Suppressed() (messages int) {
	for r, n := range h.Reasons {
		if r.Code == CodeSuppressed {
			messages += n
		}
	}
	return min(messages, h.Counts[OutcomeFailed])
}

// ExpiredUnsent returns the number of messages that were not sent because NotAfter passed before, or no send window opened.
func (h LedgerSummary) ExpiredUnsent() int { return h.ended(neverSent, windowClosed) }

// ended returns the number of messages that ended for reasons of one outcome. Their counts in Reasons include
// messages that were delivered later.
func (h LedgerSummary) ended(reasons ...Reason) (n int) {
	for _, r := range reasons {
		n += h.Reasons[r]
	}
	return min(n, h.Counts[reasons[0].Outcome])
}

// NotSent reports whether messages that ended for the reason were never sent.
func (r Reason) NotSent() bool {
	return r == optedOut || r == neverSent || r == windowClosed || r.Code == CodeSuppressed || r.Outcome == OutcomeStopped
}

// OptedOut reports whether a message was not sent because its recipient had opted out.
func (c Change) OptedOut() bool { return c.why() == optedOut }

// Suppressed reports whether a message was not sent because its number is on a list.
func (c Change) Suppressed() bool { return c.why().Code == CodeSuppressed }

// NotSent reports whether a message that ended was never sent, see Reason.NotSent.
func (c Change) NotSent() bool { return c.why().NotSent() }

func (c Change) why() Reason {
	code, _ := c.Why()
	return Reason{c.Outcome, code, c.List}
}
