// Package insight counts what campaigns reached, for pages and reports. What it counts is stored, and nothing that sends
// messages reads it.
package insight

import (
	"time"

	"campaign-dispatch/internal/campaign"
)

// Results is what a campaign has reached at a time, as lists of campaigns show it.
type Results struct {
	At          time.Time // when the campaign was read
	Status      campaign.Status
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
	Lost      int // not delivered, and with a final outcome, see campaign.DayCounts
	Stopped   int // not sent, because they were cancelled before
	OptedOut  int // not sent, because the recipient had opted out
	// Suppressed messages were not sent, because their numbers are on lists.
	Suppressed    int
	ExpiredUnsent int // not sent, because NotAfter passed before, or no send window opened
	Tapped        int // messages with a tapped suggestion
	Clicked       int // messages with a clicked link
	Tappable      bool
	Clickable     bool
	Cost          campaign.Money // of the delivered messages with a price
	Unpriced      int            // delivered messages without a price

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
	ToGo    int       // messages that wait for their schedule, or for sending hours that begin
	Stalled bool      // the last sends of a batch failed

	InWaves

	// NeverGo is the number of messages that wait for a send window that never opens. The first of them end at EndsAt.
	NeverGo int
	EndsAt  time.Time
	// ExpiresAt is when the last batch expires. The results are not kept any longer.
	ExpiresAt time.Time
}

// InWaves is how far a campaign is with its waves. It is not stored with its results.
type InWaves struct {
	Waves   int // their number, 0 for a campaign that goes at once
	Holding int // the wave that waits for a person, 0 for none
	EndedIn int // the last wave that went, if the others are discarded; 0 if none is
}

// InWavesOf returns how far a campaign is with its waves.
func InWavesOf(t campaign.SubmissionTotals) InWaves {
	return InWaves{Waves: t.Cells.Waves(), Holding: t.Holding(), EndedIn: t.EndedIn()}
}

// ResultsOf returns the results of a campaign, which was read at now with its heads.
func ResultsOf(c campaign.Campaign, now time.Time) Results {
	r := Results{
		At: now, Status: shown(c, now), Batches: c.BatchCount, Moves: c.Move.Revision,
		CancelledAt: c.CancelledAt, PausedAt: c.PausedAt,
		NotAccepted: c.Submission.NotAccepted(), NeverAccepted: c.Submission.NeverAccepted(),
		InWaves: InWavesOf(c.Submission),
	}
	r.Unanswered, r.Until = unanswered(c, now)
	if len(c.Batches) == 0 && !c.CancelledAt.IsZero() { // it was cancelled before its first part
		r.ExpiresAt = c.CancelledAt.Add(campaign.Retention)
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

func (r *Results) add(b campaign.BatchProgress) {
	if r.First.IsZero() || b.Due.Before(r.First) {
		r.First = b.Due
	}
	r.Last = campaign.Later(r.Last, b.Due)
	r.ExpiresAt = campaign.Later(r.ExpiresAt, b.ExpiresAt())
	r.Tappable = r.Tappable || len(b.TapKey) > 0
	r.Clickable = r.Clickable || b.CountsClicks
	r.Accepted += b.Accepted
	r.addState(b)
	r.addNeverGo(b)
	r.Tapped += b.Head.Tapped
	r.Clicked += b.Head.Clicked
	r.addCounts(b.Head)
	if b.Prices.Set() {
		r.Cost += b.Prices.Cost(b.Billed())
	} else {
		r.Unpriced += b.Head.DayCounts().Delivered
	}
}

func (r *Results) addState(b campaign.BatchProgress) {
	r.Stalled = r.Stalled || b.State == campaign.BatchSending && !b.FailingTime.At.IsZero()
	if b.Cancelled() {
		return
	}
	messages, goes := b.Closed()-b.NeverGo(), b.Goes
	if b.State == campaign.BatchPending {
		messages, goes = b.Accepted-b.NeverGo(), b.FirstGoes()
	}
	r.ToGo += messages
	if messages > 0 && (r.Next.IsZero() || !goes.IsZero() && goes.Before(r.Next)) {
		r.Next = goes
	}
}

func (r *Results) addNeverGo(b campaign.BatchProgress) {
	n := b.NeverGo()
	if n == 0 {
		return
	}
	r.NeverGo += n
	if ends := b.EndsUnopened(); r.EndsAt.IsZero() || ends.Before(r.EndsAt) {
		r.EndsAt = ends
	}
}

func (r *Results) addCounts(head campaign.LedgerSummary) {
	n := head.DayCounts()
	r.Sent += n.Sent
	r.Delivered += n.Delivered
	r.Read += n.Read
	r.Lost += n.Failed
	r.Stopped += head.Counts[campaign.OutcomeStopped]
	r.OptedOut += head.OptedOut()
	r.Suppressed += head.Suppressed()
	r.ExpiredUnsent += head.ExpiredUnsent()
}

// unanswered returns how many sent messages of a campaign that waits for nothing else have no delivery
// status, and when they end at the latest.
func unanswered(c campaign.Campaign, now time.Time) (n int, until time.Time) {
	if c.Status() != campaign.StatusSending || c.Submission.ToCome() > 0 {
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
		n += b.Head.Counts[campaign.OutcomeSent]
		known = known && b.State == campaign.BatchSent && b.NextCheck.After(now)
		until = campaign.Later(until, b.NextCheck)
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
	return r.Stopped + r.NeverAccepted + r.OptedOut + r.Suppressed + r.ExpiredUnsent
}

// NeverWent reports whether the campaign was cancelled before its first message was sent.
func (r Results) NeverWent() bool {
	return !r.CancelledAt.IsZero() && r.Status == campaign.StatusCancelled && r.Sent+r.Lost == 0
}

// SmallCampaign is the maximum number of batches of a campaign that costs little to read.
const SmallCampaign = 5

// answersUntil is the age of a campaign after which few outcomes arrive.
const answersUntil = 8 * day

const day = 24 * time.Hour

// ShownFor returns how long results are shown after At. It depends on how many outcomes can
// have arrived since, and on what reading the campaign costs.
func (r Results) ShownFor() time.Duration {
	small := r.Batches <= SmallCampaign
	switch {
	case small && r.Status == campaign.StatusSending:
		return 10 * time.Second
	case r.Status == campaign.StatusSending, r.Status == campaign.StatusScheduled, r.Status == campaign.StatusPaused, r.Status == StatusAwaitsHours,
		r.Status == StatusHolding:
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
func (r Results) Current(s campaign.Summary, now time.Time) bool {
	due := r.Status == campaign.StatusScheduled && !now.Before(r.First)
	return now.Sub(r.At) < r.ShownFor() && !due && r.Holds(s, now)
}

// Holds reports whether the campaign, of which s is the summary, was not extended, moved, cancelled or completed since the
// results were read, and its time has not come since, at now.
func (r Results) Holds(s campaign.Summary, now time.Time) bool {
	switch {
	case !r.of(s):
		return false
	case r.Status == campaign.StatusScheduled && r.At.Before(r.First) && !now.Before(r.First):
		return false
	case r.Status == StatusAwaitsHours && !r.Next.IsZero() && !now.Before(r.Next):
		return false
	case r.Status == StatusHolding && s.Submission.Holding() == 0: // the rest was discarded
		return false
	}
	return s.Finished() == (r.Status == campaign.StatusCompleted)
}

// AwaitsHours reports whether the campaign waits for its sending hours at now, as far as older results show it:
// nobody has changed the campaign since. The hours can have changed.
func (r Results) AwaitsHours(s campaign.Summary, now time.Time) bool {
	return r.Status == StatusAwaitsHours && now.Before(r.Next) && r.of(s) && !s.Finished()
}

// of reports whether the campaign of the summary was not extended, moved, cancelled or paused since the results were read.
func (r Results) of(s campaign.Summary) bool {
	read := !r.At.IsZero() && r.Batches == s.Batches && r.Moves == s.Moves
	return read && r.CancelledAt.Equal(s.CancelledAt) && r.PausedAt.Equal(s.PausedAt)
}
