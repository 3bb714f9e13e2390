package campaigns

import (
	"errors"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/intake/submission"
)

// waves are the waves of a campaign on its page.
type waves struct {
	Rows   []wave
	Others *wave // batches that are in no wave, nil if there are none
	Total  wave
	Next   *nextWave // what a person decides, nil for nothing
	// Stopped is the wave in which sending stopped, so that a person has to continue it, 0 for none.
	Stopped int
	// Accepting is the wave whose messages are being accepted, 0 for none. The waves after it can be opened or discarded then.
	Accepting   int
	DiscardedAt time.Time // zero if nobody has discarded the rest
}

// asks reports whether the page has a form that opens the next wave.
func (w *waves) asks() bool { return w != nil && w.Next != nil }

// wave is what became of a wave.
type wave struct {
	insight.Results // of its batches

	Number int
	Known  bool // its people are known. If not, those of Results are shown as the accepted ones.
	People int
	// LeftOut are people of its accepted parts who have no message, and NotAccepted those of other parts.
	LeftOut, NotAccepted int
	Opened               submission.Opened // zero for one that is not open, and if it is not known
	State                string            // key of a text
	DiscardedBy          string            // email address, "" if nobody has discarded it

	batches []campaign.BatchProgress
}

// Begun reports whether messages of the wave were accepted.
func (w wave) Begun() bool { return len(w.batches) > 0 }

// OpenedAt returns when the wave was opened, or when its first part was accepted if only that is known.
func (w wave) OpenedAt() time.Time {
	at := w.Opened.At
	for _, b := range w.batches {
		if w.Opened.At.IsZero() && (at.IsZero() || b.AcceptedAt.Before(at)) {
			at = b.AcceptedAt
		}
	}
	return at
}

func (w wave) pending() (n int) {
	for _, b := range w.batches {
		n += b.Pending()
	}
	return n
}

// addWaves adds the waves of a campaign that has any.
func (s *Pages) addWaves(p *web.Page, v *view, form waveForm) error {
	if v.Submission.Cells.Waves() == 0 {
		return nil
	}
	sub, err := s.submission(p, v.Campaign)
	if err != nil {
		return err
	}
	v.Waves = newWaves(v.Campaign, v.Sum, sub)
	if v.Waves.Next, err = s.nextWave(p, v, sub); err != nil || v.Waves.Next == nil {
		v.seeOpened(sub)
		return err
	}
	v.Waves.Next.waveForm = form
	return nil
}

// submission returns the submission of a campaign, nil if it was deleted.
func (s *Pages) submission(p *web.Page, c campaign.Campaign) (*submission.Submission, error) {
	sub, err := s.Waves.Submission(p.R.Context(), c.ID)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil, nil //nolint:nilnil // what is known without it is shown
	}
	return &sub, err
}

// seeOpened corrects the status of a campaign whose wave was opened, and has no accepted part yet.
func (v *view) seeOpened(sub *submission.Submission) {
	if sub == nil || v.Status != insight.StatusHolding || sub.State == submission.StateHolding {
		return
	}
	v.Status, v.Sum.Status = campaign.StatusSending, campaign.StatusSending
}

// newWaves returns the waves of a campaign. all are its results.
func newWaves(c campaign.Campaign, all insight.Results, sub *submission.Submission) *waves {
	cells := c.Submission.Cells
	w := &waves{Rows: make([]wave, cells.Waves()), Total: wave{Results: all}}
	var others wave
	for _, b := range c.Batches {
		of := &others
		if n := cells.WaveOfBatch(b.Batch); n > 0 {
			of = &w.Rows[n-1]
		}
		of.batches = append(of.batches, b)
	}
	for n := range w.Rows {
		w.Rows[n].Number = n + 1
		w.Rows[n].count(c, all.At)
	}
	w.addPeople(c.Submission, sub)
	if others.Begun() {
		others.count(c, all.At)
		others.Known, others.People = true, others.Accepted
		others.State = others.state(c, nil)
		w.Others = &others
	}
	w.Total.batches, w.Total.Known = c.Batches, true
	w.Total.People = c.Submission.People + others.Accepted
	w.Total.NotAccepted, w.Total.LeftOut = c.Submission.NotAccepted(), leftOut(c.Submission)
	for n := range w.Rows {
		w.Rows[n].State = w.Rows[n].state(c, sub)
	}
	if sub != nil {
		w.addSubmission(c.Submission, *sub)
	}
	return w
}

// addSubmission adds what only the submission knows: where it is, and who has discarded the rest.
func (w *waves) addSubmission(t campaign.SubmissionTotals, sub submission.Submission) {
	open := sub.Sending.Wave()
	switch {
	case sub.State == submission.StateInterrupted && t.PartsToCome > 0:
		w.Stopped = open
	case sub.State == submission.StateSending && open > 0 && open < len(w.Rows):
		w.Accepting = open
	}
	w.DiscardedAt = sub.DiscardedAt
	for n := range w.Rows {
		if of := &w.Rows[n]; of.State == waveDiscarded || of.State == waveCutShort {
			of.DiscardedBy = sub.DiscardedBy
		}
	}
}

// count sets the results of the wave's batches, as those of a campaign.
func (w *wave) count(c campaign.Campaign, now time.Time) {
	w.Results = insight.ResultsOf(campaign.Campaign{CancelledAt: c.CancelledAt, PausedAt: c.PausedAt, Batches: w.batches}, now)
}

// leftOut returns the number of people of accepted parts who have no message.
func leftOut(t campaign.SubmissionTotals) int { return t.People - t.NotAccepted() - t.Accepted }

// addPeople sets the people of each wave. Their sum is that of the file.
func (w *waves) addPeople(t campaign.SubmissionTotals, sub *submission.Submission) {
	left := leftOut(t)
	if sub == nil {
		w.addKnownPeople(t, left)
		return
	}
	for n := range w.Rows {
		row := &w.Rows[n]
		row.People, row.Known, row.Opened = sub.OfWave(row.Number).Accepted, true, openedOf(*sub, row.Number)
		switch first, last := t.Cells.LastPart(row.Number-1), t.Cells.LastPart(row.Number); {
		case t.PartsDone >= last:
			row.LeftOut = max(0, row.People-row.Accepted)
		case t.PartsDone > first:
			row.LeftOut = max(0, left)
			row.NotAccepted = max(0, row.People-row.Accepted-row.LeftOut)
		default:
			row.NotAccepted = row.People
		}
		left -= row.LeftOut
	}
}

// addKnownPeople sets the people of the waves as far as the campaign has them without its submission: it has only the sum of
// those who were left out.
func (w *waves) addKnownPeople(t campaign.SubmissionTotals, left int) {
	first := t.Cells.LastPart(1)
	for n := range w.Rows {
		row := &w.Rows[n]
		if row.Known = row.Begun() && t.Cells.LastPart(row.Number) <= t.PartsDone && (left == 0 || t.PartsDone == first); row.Known {
			row.People, row.LeftOut = row.Accepted+left, left
		}
	}
}

// openedOf returns how a wave was opened, zero for one that was not.
func openedOf(sub submission.Submission, wave int) (of submission.Opened) {
	if wave <= sub.Sending.Wave() {
		of = sub.Sending.Waves[wave-1]
	}
	return of
}

// The states of a wave. Those of its campaign are others.
const (
	waveSent      = "sent"
	waveSending   = "sending"
	waveHolding   = "holding" // a person can open it
	waveClosed    = "closed"  // other waves go before
	waveStopped   = "stopped"
	waveDiscarded = "discarded"
	waveCutShort  = "discarded_rest"
)

// state returns the state of the wave.
func (w wave) state(c campaign.Campaign, sub *submission.Submission) string {
	t := c.Submission
	last := t.Cells.LastPart(w.Number)
	accepted := last <= t.PartsDone
	switch {
	case !accepted && t.PartsToCome == 0 && w.Begun():
		return waveCutShort
	case !accepted && t.PartsToCome == 0:
		return waveDiscarded
	case !accepted && sub != nil && sub.Sending.Wave() >= w.Number && sub.State == submission.StateInterrupted:
		return waveStopped
	case !accepted && !w.Begun() && (sub == nil || sub.Sending.Wave() < w.Number):
		return w.closed(c)
	case accepted && w.pending() == 0 && w.Stopped == 0:
		return waveSent
	case w.Begun() && w.Status != campaign.StatusCompleted:
		return string(w.Status)
	}
	return waveSending
}

// closed returns the state of a wave that is not open.
func (w wave) closed(c campaign.Campaign) string {
	switch {
	case w.Number != c.Submission.Holding():
		return waveClosed
	case c.Paused():
		return string(campaign.StatusPaused)
	}
	return waveHolding
}
