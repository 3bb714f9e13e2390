package campaigns

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
)

const batchesShown = 20 // on a page

type view struct {
	campaign.Campaign
	Status   campaign.Status
	Sum      insight.Results
	Rejected int
	Pending  int
	Funnel   []step
	Tables   []buttonTable
	// MoreTables reports whether the campaign has further versions whose taps are not shown.
	MoreTables bool
	Lost       []lost // without those that were not sent
	// Recovered is the number of messages in Lost that were delivered later, if their
	// reason is unknown.
	Recovered int
	bill
	Templates map[string]string // names by ID, "" for one that no longer exists
	Chart     chart
	Batches   []batchView    // one page
	Total     int            // of the batches
	Next      int            // ordinal before the next page, or 0
	Later     bool           // there is a previous page
	Self      string         // URL from which the page refreshes itself
	Every     string         // refresh interval, "" for a finished campaign
	changes   time.Duration  // the interval in which the page changes, 0 for a finished campaign
	Changed   bool           // the status is another one than in the last update
	Schedule  schedule       // of what waits
	Future    time.Time      // when the next of it goes, zero if none is to go later
	CanMove   bool           // all that waits can be rescheduled
	CanPause  bool           // some messages were not sent yet
	CanCancel bool           // or the undelivered messages can be revoked
	Details   bool           // the technical details are open
	Message   *message       // nil in updates
	Notes     []preview.Note // in updates, of the message that the page shows
	OnLists   []lost         // by lists
	ListNames map[int]string // by number
	Late      []lost         // not sent, because it was too late or no sending hours were left
	OptOuts   bool           // those since the campaign was sent can be counted
	Replied   bool           // replies since the campaign was sent can be counted
	Waves     *waves         // nil for a campaign that goes at once
	Times     reach.Times
}

// Opening returns when the messages go that wait for the sending hours, a line for each local clock.
func (v view) Opening(p *web.Page) []string {
	said := v.Sum.At // lines of that day have no date
	if v.Status == insight.StatusAwaitsHours || v.Status == campaign.StatusScheduled {
		said = v.Sum.Next
	}
	return p.Openings(reach.GroupsOf(v.Times.Waiting, reach.ReasonSendWindow), said, time.Time{})
}

// Withheld says who gets nothing of what waits, and how many of the file's people that were when it was checked.
func (v view) Withheld(p *web.Page) string {
	said := p.T("campaigns.withheld")
	if n := v.Submission.Withheld; n > 0 {
		said += " " + p.Count("campaigns.withheld_checked", n)
	}
	return said
}

// NeverGo returns the messages that wait for a send window that never opens.
func (v view) NeverGo() (n neverGo) {
	n.N, n.EndsAt = reach.NeverGoing(v.Times.Waiting)
	return n
}

// neverGo are messages that never go, and when the first of them end, zero if that is not known yet.
type neverGo struct {
	N      int
	EndsAt time.Time
}

// Paused returns the number of messages that wait for the end of a pause.
func (v view) Paused() (n int) {
	for _, g := range reach.GroupsOf(v.Times.Waiting, reach.ReasonPaused) {
		n += g.Messages
	}
	return n
}

type lost struct {
	campaign.Reason
	N int
}

// Changeable reports whether the campaign can be moved, paused, resumed or cancelled.
func (v view) Changeable() bool {
	return v.CanMove || v.CanPause || v.CanCancel || !v.PausedAt.IsZero()
}

// State returns the status of the campaign in words.
func (v view) State(p *web.Page) string { return stateOf(p, v.Status, v.Sum) }

// Withdraws reports whether the button of the cancellation only withdraws messages.
func (v view) Withdraws() bool { return withdraws(v.Campaign, v.Sum) }

type batchView struct {
	campaign.BatchProgress
	campaign.DayCounts
	Sum       insight.Results
	Status    campaign.Status
	ErrorFile string // the path of the file, while it is kept
	Movable   bool   // may be rescheduled
}

func (s *Pages) show(p *web.Page, c campaign.Campaign) error {
	return s.showWith(p, http.StatusOK, c, waveForm{})
}

// showWith shows a campaign with the form that opens its next wave.
func (s *Pages) showWith(p *web.Page, status int, c campaign.Campaign, form waveForm) error {
	after, err := strconv.Atoi(cmp.Or(p.Query("batches"), "0"))
	if err != nil || after < 0 {
		return campaign.ErrNotFound
	}
	c, times, err := reach.Timed(p.R.Context(), s.Store, c, s.Now())
	if err != nil {
		return fmt.Errorf("read when a campaign goes: %w", err)
	}
	v := newView(c, after, s.Now())
	v.Times = times
	if err := s.addWaves(p, &v, form); err != nil {
		return err
	}
	v.changes = v.changing(s.Now())
	v.Every = p.Every(v.changes)
	if err := s.complete(p, c, &v); err != nil {
		return err
	}
	p.Title = c.Name + " – " + v.State(p)
	if p.Partial() {
		return p.Fragment("campaigns_update.html", v)
	}
	if v.Message, err = s.message(p, c, v.Notes); err != nil {
		return err
	}
	v.Self = selfOf(p, v.state(), v.Message != nil && v.Message.Noted)
	if v.Every != "" && !v.Waves.asks() {
		p.RefreshEvery(max(v.changes, 2*web.Often))
	}
	if len(c.Batches) > insight.SmallCampaign { // for lists without a script
		s.reader().Keep(p.R.Context(), c.ID, insight.ResultsOf(c, s.Now().Add(-manyFor)))
	}
	return p.RenderStatus(status, "", "campaigns_show.html", v)
}

// complete adds what the rows of the campaign do not have.
func (s *Pages) complete(p *web.Page, c campaign.Campaign, v *view) (err error) {
	ctx, notes := p.R.Context(), !p.Partial() || p.Query(noted) != ""
	v.Self, v.Changed, v.Details = selfOf(p, v.state(), notes), p.Query("was") != v.state(), p.R.URL.Query().Has("batches")
	if err := s.nameTemplates(ctx, v); err != nil {
		return err
	}
	if err := s.nameLists(ctx, c.Tenant, v); err != nil {
		return err
	}
	if err = s.addButtons(p, v); err != nil || !notes {
		return err
	}
	v.Notes, err = s.notesOf(p, c)
	return err
}

// state returns the state of the campaign, with the wave that can be opened: the update of a page in another state replaces
// the form.
func (v view) state() string {
	key := stateKey(v.Status, v.Sum)
	switch {
	case !v.Waves.asks():
		return key
	case !v.Waves.Next.OpensFrom.IsZero():
		key += "_closed"
	}
	return key + strconv.Itoa(v.Waves.Next.Number)
}

// noted is the parameter of updates of a page whose phone shows notes.
const noted = "noted"

// selfOf returns the URL from which the page updates itself.
func selfOf(p *web.Page, state string, notes bool) string {
	q := p.R.URL.Query()
	q.Set("was", state)
	if q.Del(noted); notes {
		q.Set(noted, "1")
	}
	return p.UpdateFrom((&url.URL{Path: p.R.URL.Path, RawQuery: q.Encode()}).String())
}

func newView(c campaign.Campaign, after int, now time.Time) view {
	c.PausedAt = c.PausedSince()
	sum := insight.ResultsOf(c, now)
	v := view{Campaign: c, Status: sum.Status, Sum: sum, Total: len(c.Batches), Later: after > 0}
	reasons := map[campaign.Reason]int{}
	for _, b := range c.Batches {
		v.Rejected += b.Rejected
		v.Pending += b.Pending()
		v.addBatch(b)
		for reason, n := range b.Head.Reasons {
			reasons[reason] += n
		}
	}
	v.Funnel = funnel(v.Sum)
	v.addLosses(reasons)
	v.CanCancel = v.Status != campaign.StatusCompleted && (c.CancelledAt.IsZero() || !c.Revoke && revocable(c))
	v.Schedule, v.CanMove = scheduleOf(c), movable(c)
	if v.Schedule.First.After(now) {
		v.Future = v.Schedule.First
	}
	v.CanPause = c.CancelledAt.IsZero() && v.Pending+c.Submission.ToCome() > 0
	v.OptOuts, v.Replied = countsOptOuts(v.Sum, v.Sum.At), countsReplies(v.Sum)
	v.Chart = newChart(c.Batches, v.Sum, now)
	v.page(after, now)
	return v
}

// addLosses adds the messages that were not delivered, most frequent reason first: those that were sent, those that lists
// withheld, and those that expired before they were sent.
func (v *view) addLosses(reasons map[campaign.Reason]int) {
	var all []lost
	all, v.Recovered = losses(reasons)
	for _, l := range all {
		switch {
		case l.Code == campaign.CodeSuppressed:
			v.OnLists = append(v.OnLists, l)
		case !l.NotSent():
			v.Lost = append(v.Lost, l)
		case l.Outcome == campaign.OutcomeExpired:
			v.Late = append(v.Late, l)
		}
	}
}

func (s *Pages) nameLists(ctx context.Context, tenant string, v *view) (err error) {
	if len(v.OnLists) == 0 {
		return nil
	}
	v.ListNames, err = lists.Names(ctx, tenant, s.Store.Lists)
	return err
}

// losses returns the reasons why messages were not delivered, most frequent first.
// recovered is the number of messages delivered later whose reason is unknown; if an
// outcome has only one reason, they are subtracted from it.
func losses(reasons map[campaign.Reason]int) (all []lost, recovered int) {
	totals, codes := map[campaign.Outcome]int{}, map[campaign.Outcome]int{}
	for reason, n := range reasons {
		totals[reason.Outcome] += n
		if reason.Code != campaign.CodeSuperseded {
			codes[reason.Outcome]++
		}
	}
	for reason, n := range reasons {
		total := totals[reason.Outcome]
		switch {
		case total <= 0:
		case reason.Code == campaign.CodeSuperseded:
			if codes[reason.Outcome] > 1 {
				recovered -= n
			}
		case codes[reason.Outcome] == 1:
			all = append(all, lost{reason, total})
		default:
			all = append(all, lost{reason, min(n, total)})
		}
	}
	slices.SortFunc(all, func(a, b lost) int {
		return cmp.Or(b.N-a.N, cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code), cmp.Compare(a.List, b.List))
	})
	return all, recovered
}

func (v *view) page(after int, now time.Time) {
	for _, b := range v.Campaign.Batches {
		if b.Ordinal <= after {
			continue
		}
		if len(v.Batches) == batchesShown {
			v.Next = v.Batches[batchesShown-1].Ordinal
			return
		}
		v.Batches = append(v.Batches, newBatchView(b, now))
	}
}

// nameTemplates sets the names of the templates of the batches on the page.
func (s *Pages) nameTemplates(ctx context.Context, v *view) error {
	v.Templates = map[string]string{}
	for _, b := range v.Batches {
		if _, known := v.Templates[b.TemplateID]; known {
			continue
		}
		t, err := s.template(ctx, v.Tenant, b.TemplateID)
		if err != nil {
			return err
		}
		v.Templates[b.TemplateID] = t.Name
	}
	return nil
}

// SameTemplate reports whether all batches have the template of those on the page.
func (v view) SameTemplate() bool { return len(v.Batches) > 0 && sameTemplate(v.Campaign) }

func sameTemplate(c campaign.Campaign) bool {
	return !slices.ContainsFunc(c.Batches, func(b campaign.BatchProgress) bool {
		return b.TemplateID != c.Batches[0].TemplateID || b.TemplateVersion != c.Batches[0].TemplateVersion
	})
}

// State returns the status of the batch in words.
func (v batchView) State(p *web.Page) string { return stateOf(p, v.Status, v.Sum) }

func newBatchView(b campaign.BatchProgress, now time.Time) batchView {
	v := batchView{
		BatchProgress: b, DayCounts: b.Head.DayCounts(), Sum: insight.ResultsOf(campaign.Campaign{CancelledAt: b.CancelledAt, Batches: []campaign.BatchProgress{b}}, now),
		Status: b.Status(), Movable: b.State == campaign.BatchPending && !b.Cancelled(),
	}
	if v.Sum.Status == insight.StatusAwaitsHours {
		v.Status = v.Sum.Status
	}
	if b.ErrorFile != "" && now.Before(b.AcceptedAt.Add(campaign.ErrorFileLife)) {
		v.ErrorFile = "/api/v1/error-files/" + b.ErrorFile
	}
	return v
}

type bill struct {
	Classes   campaign.ClassCounts      // of accepted messages
	Billed    campaign.ClassCounts      // of delivered messages
	ClassesOf int                       // messages
	Priced    bool                      // some batches have prices
	Booked    map[string]campaign.Money // what open batches have reserved from the budget, by date
}

func (v *bill) addBatch(b campaign.BatchProgress) {
	v.ClassesOf += b.Accepted
	v.Classes.Add(b.ClassCounts())
	v.Billed.Add(b.Billed())
	v.Priced = v.Priced || b.Prices.Set()
	if b.Reserved > 0 {
		if v.Booked == nil {
			v.Booked = map[string]campaign.Money{}
		}
		v.Booked[b.ReservedOn] += b.Reserved
	}
}

// unanswered is the state of a campaign that only waits for delivery statuses, and cancelling that of a cancelled one some of
// whose messages have no outcome yet. The other states are its statuses.
const (
	unanswered  = "unanswered"
	cancelling  = "cancelling"
	holdingWave = "holding_wave" // that of one whose next wave waits for a person
	endedWave   = "ended_wave"   // that of a completed one whose other waves are discarded
)

// stateKey returns the state of a campaign, for the keys of texts.
func stateKey(status campaign.Status, r insight.Results) string {
	switch {
	case status == campaign.StatusSending && !r.CancelledAt.IsZero():
		return cancelling
	case status == insight.StatusAwaitsHours && !r.Next.IsZero() && r.Sent+r.Lost > 0:
		return string(status) + "_rest"
	case status == insight.StatusAwaitsHours && !r.Next.IsZero():
		return string(status) + "_until"
	case status == insight.StatusHolding && r.Holding > 0:
		return holdingWave
	case status == campaign.StatusCompleted && r.EndedIn > 0:
		return endedWave
	case status == insight.StatusHolding: // it was opened since
		return string(campaign.StatusSending)
	case status != campaign.StatusSending || r.Unanswered == 0:
		return string(status)
	case r.Until.IsZero():
		return unanswered
	}
	return unanswered + "_until"
}

// stateOf returns the status of a campaign in words, the same on every page.
func stateOf(p *web.Page, status campaign.Status, r insight.Results) string {
	return p.T("campaigns.status."+stateKey(status, r), p.Number(r.Unanswered), p.When(r.Until), p.Moment(r.Next), r.Holding, r.Waves, r.EndedIn)
}
