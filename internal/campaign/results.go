package campaign

import (
	"time"

	"campaign-dispatch/internal/campaign/localtime"
)

// Results is what a campaign has reached at a time, as lists of campaigns show it.
type Results struct {
	At          time.Time // when the campaign was read
	Status      Status
	Batches     int       // accepted when the campaign was read, expired ones included
	Moves       int       // revision of the campaign's last Move
	CancelledAt time.Time // zero if not cancelled
	PausedAt    time.Time // zero if not paused
	First, Last time.Time // when its first and its last batch go or went
	TemplateID  string    // of the first batch
	Templates   int       // different templates of its batches

	Accepted  int
	Sent      int // including the messages that were delivered
	Delivered int // including the messages that were read
	Read      int
	Lost      int // not delivered, and with a final outcome, see DayCounts.Failed
	Stopped   int // not sent, because they were cancelled before
	OptedOut  int // not sent, because the recipient had opted out
	// Suppressed messages were not sent, because their numbers are on lists.
	Suppressed int
	TooLate    int // not sent, because NotAfter passed before, or no send window opened
	Tapped     int // messages with a tapped suggestion
	Clicked    int // messages with a clicked link
	Tappable   bool
	Clickable  bool
	Cost       Money // of the delivered messages with a price
	Unpriced   int   // delivered messages without a price

	// OptOuts is the number of recipients who opted out themselves between the first message and OptOutsUntil, see
	// OptOutsKnown. To those of OptedOut, no message was sent.
	OptOuts      int
	OptOutsUntil time.Time // zero if they were not counted

	// NotAccepted is the number of people of the file who have no message, and NeverAccepted of them
	// those whose parts are not accepted any more.
	NotAccepted   int
	NeverAccepted int

	// Unanswered is the number of sent messages without a delivery status, if the campaign waits for
	// nothing else. They end at Until at the latest, zero if that is unknown.
	Unanswered int
	Until      time.Time

	Next    time.Time // when the next of the waiting messages goes, zero if none waits, or if that is unknown
	Waiting int       // messages that wait for their schedule, or for sending hours that begin
	Stalled bool      // the last sends of a batch failed

	// NeverGo is the number of messages that wait for a send window that never opens. The first of them end at EndsAt.
	NeverGo int
	EndsAt  time.Time
	// ExpiresAt is when the last batch expires. The results are not kept any longer.
	ExpiresAt time.Time
}

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

// TooLate returns the number of messages that were not sent because NotAfter passed before, or no send window opened.
func (h LedgerSummary) TooLate() int { return h.ended(neverSent, windowClosed) }

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

// Results returns the results of the campaign, which was read at now with its heads.
func (c Campaign) Results(now time.Time) Results {
	r := Results{
		At: now, Status: c.shown(now), Batches: c.BatchCount, Moves: c.Move.Revision,
		CancelledAt: c.CancelledAt, PausedAt: c.PausedAt,
		NotAccepted: c.Submission.NotAccepted(), NeverAccepted: c.Submission.NeverAccepted(),
	}
	r.Unanswered, r.Until = c.unanswered(now)
	if len(c.Batches) == 0 && !c.CancelledAt.IsZero() { // it was cancelled before its first part
		r.ExpiresAt = c.CancelledAt.Add(Retention)
	}
	templates := map[string]bool{}
	for _, b := range c.Batches {
		r.add(b)
		templates[b.TemplateID] = true
	}
	if r.Templates = len(templates); r.Templates > 0 {
		r.TemplateID = c.Batches[0].TemplateID
	}
	return r
}

func (r *Results) add(b BatchProgress) {
	if r.First.IsZero() || b.Due.Before(r.First) {
		r.First = b.Due
	}
	if b.Due.After(r.Last) {
		r.Last = b.Due
	}
	if end := b.ExpiresAt(); end.After(r.ExpiresAt) {
		r.ExpiresAt = end
	}
	r.Tappable = r.Tappable || len(b.TapKey) > 0
	r.Clickable = r.Clickable || b.CountsClicks
	r.Accepted += b.Accepted
	r.addState(b)
	r.addNeverGo(b)
	r.Tapped += b.Head.Tapped
	r.Clicked += b.Head.Clicked
	r.addCounts(b.Head)
	if b.Prices.Set() {
		r.Cost += b.Prices.Of(b.Billed())
	} else {
		r.Unpriced += b.Head.DayCounts().Delivered
	}
}

func (r *Results) addState(b BatchProgress) {
	r.Stalled = r.Stalled || b.State == BatchSending && !b.FailingTime.At.IsZero()
	if b.Cancelled() {
		return
	}
	messages, goes := b.closed()-b.NeverGo(), b.Goes
	if b.State == BatchPending {
		messages, goes = b.Accepted-b.NeverGo(), b.GoesAt()
	}
	r.Waiting += messages
	if messages > 0 && (r.Next.IsZero() || !goes.IsZero() && goes.Before(r.Next)) {
		r.Next = goes
	}
}

func (r *Results) addNeverGo(b BatchProgress) {
	n := b.NeverGo()
	if n == 0 {
		return
	}
	r.NeverGo += n
	if ends := b.EndsUnopened(); r.EndsAt.IsZero() || ends.Before(r.EndsAt) {
		r.EndsAt = ends
	}
}

func (r *Results) addCounts(head LedgerSummary) {
	n := head.DayCounts()
	r.Sent += n.Sent
	r.Delivered += n.Delivered
	r.Read += n.Read
	r.Lost += n.Failed
	r.Stopped += head.Counts[OutcomeStopped]
	r.OptedOut += head.OptedOut()
	r.Suppressed += head.Suppressed()
	r.TooLate += head.TooLate()
}

// unanswered returns how many sent messages of a campaign that waits for nothing else have no delivery
// status, and when they end at the latest.
func (c Campaign) unanswered(now time.Time) (n int, until time.Time) {
	if c.Status() != StatusSending || c.Submission.ToCome() > 0 {
		return 0, time.Time{}
	}
	known := true
	for _, b := range c.Batches {
		if b.Pending() > 0 {
			return 0, time.Time{}
		}
		if b.Done() {
			continue
		}
		n += b.Head.Counts[OutcomeSent]
		known = known && b.State == BatchSent && b.NextCheck.After(now)
		if b.NextCheck.After(until) {
			until = b.NextCheck
		}
	}
	if !known {
		return n, time.Time{}
	}
	return n, until
}

// People returns the number of people of the campaign: those with a message, and those of its file who have none.
func (r Results) People() int { return r.Accepted + r.NotAccepted }

// ToCome returns the number of people whose parts are still to be accepted.
func (r Results) ToCome() int { return r.NotAccepted - r.NeverAccepted }

// NotSent returns the number of people to whom nothing was sent, and will not be.
func (r Results) NotSent() int {
	return r.Stopped + r.NeverAccepted + r.OptedOut + r.Suppressed + r.TooLate
}

// NeverWent reports whether the campaign was cancelled before its first message was sent.
func (r Results) NeverWent() bool {
	return !r.CancelledAt.IsZero() && r.Status == StatusCancelled && r.Sent+r.Lost == 0
}

// SmallCampaign is the maximum number of batches of a campaign that costs little to read.
const SmallCampaign = 5

// answersUntil is the age of a campaign after which few outcomes arrive.
const answersUntil = 8 * day

// ShownFor returns how long results are shown after At. It depends on how many outcomes can
// have arrived since, and on what reading the campaign costs.
func (r Results) ShownFor() time.Duration {
	small := r.Batches <= SmallCampaign
	switch {
	case small && r.Status == StatusSending:
		return 10 * time.Second
	case r.Status == StatusSending, r.Status == StatusScheduled, r.Status == StatusPaused, r.Status == StatusAwaitsHours:
		return time.Minute
	case r.At.Sub(r.Last) >= answersUntil:
		return day
	case small:
		return time.Minute
	}
	return 15 * time.Minute
}

// Current reports whether the results can be shown at now: they are recent, and the campaign,
// of which s is the summary, was not extended, moved, cancelled or completed since.
func (r Results) Current(s Summary, now time.Time) bool {
	switch {
	case now.Sub(r.At) >= r.ShownFor(), !r.of(s):
		return false
	case r.Status == StatusScheduled && !now.Before(r.First):
		return false
	case r.Status == StatusAwaitsHours && !r.Next.IsZero() && !now.Before(r.Next):
		return false
	}
	return s.Finished() == (r.Status == StatusCompleted)
}

// AwaitsHours reports whether the campaign waits for its sending hours at now, as far as older results show it:
// nobody has changed the campaign since. The hours can have changed.
func (r Results) AwaitsHours(s Summary, now time.Time) bool {
	return r.Status == StatusAwaitsHours && now.Before(r.Next) && r.of(s) && !s.Finished()
}

// of reports whether the campaign of the summary was not extended, moved, cancelled or paused since the results were read.
func (r Results) of(s Summary) bool {
	read := !r.At.IsZero() && r.Batches == s.Batches && r.Moves == s.Moves
	return read && r.CancelledAt.Equal(s.CancelledAt) && r.PausedAt.Equal(s.PausedAt)
}

// DayCounts are the results of the messages whose batches went out on a day, and the
// opt-outs of that day. Test messages are not counted.
type DayCounts struct {
	Sent, Delivered, Read int // each includes the messages of the later ones
	Failed                int // messages that ended undelivered, without those that were not sent
	// NotSent is the number of messages that were not sent, see Reason.NotSent, and of people of a file
	// who are not accepted any more.
	NotSent  int
	OptedOut int
}

// Day is a day in São Paulo with its counts.
type Day struct {
	Date string // as 2026-11-30
	DayCounts
	Logged  int // those of OptedOut that were written to the log of opt-outs before they were counted
	Version int // of the row, 0 if there is none
}

// Plus returns the sums of the counts.
func (c DayCounts) Plus(o DayCounts) DayCounts {
	return DayCounts{
		c.Sent + o.Sent, c.Delivered + o.Delivered, c.Read + o.Read, c.Failed + o.Failed, c.NotSent + o.NotSent, c.OptedOut + o.OptedOut,
	}
}

// Minus returns the differences of the counts.
func (c DayCounts) Minus(o DayCounts) DayCounts {
	return DayCounts{
		c.Sent - o.Sent, c.Delivered - o.Delivered, c.Read - o.Read, c.Failed - o.Failed, c.NotSent - o.NotSent, c.OptedOut - o.OptedOut,
	}
}

// DayCounts returns the counts of the batch.
func (h LedgerSummary) DayCounts() DayCounts {
	n := h.Counts
	c := DayCounts{Read: n[OutcomeRead]}
	c.Delivered = c.Read + n[OutcomeDelivered]
	c.Sent = c.Delivered + n[OutcomeSent] + n[OutcomeRevoked] + n[OutcomeExpired] - h.TooLate()
	c.NotSent = n[OutcomeStopped] + h.OptedOut() + h.Suppressed() + h.TooLate()
	c.Failed = n[OutcomeFailed] + n[OutcomeExpired] + n[OutcomeRevoked] + n[OutcomeStopped] - c.NotSent
	return c
}

// DayCounts returns the counts of the campaign by day, without opt-outs. Messages count on the day of
// their batch, see Batch.Day. People who are not accepted any more count on the day of the first batch, or of the
// cancellation if there is none.
func (c Campaign) DayCounts() map[string]DayCounts {
	days, first := map[string]DayCounts{}, c.CreatedAt
	for n, b := range c.Batches {
		if n == 0 {
			first = b.wentAt()
		}
		date := b.Day()
		days[date] = days[date].Plus(b.Head.DayCounts())
	}
	if never := c.Submission.NeverAccepted(); never > 0 {
		date := localtime.Day(first)
		days[date] = days[date].Plus(DayCounts{NotSent: never})
	}
	return days
}
