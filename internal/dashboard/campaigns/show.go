package campaigns

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

const batchesShown = 20 // on a page

type view struct {
	campaign.Campaign
	Status   campaign.Status
	Sum      campaign.Results
	Rejected int
	Pending  int
	Waiting  waiting
	Funnel   []step
	Lost     []lost
	Stopped  int // messages that were cancelled before sending, of a campaign with a file
	// Recovered is the number of messages in Lost that were delivered later, if their
	// reason is unknown.
	Recovered int
	bill
	CanRevoke bool      // messages can still be revoked
	Template  *sentWith // of all batches, nil if they differ
	Chart     chart
	Batches   []batchView // one page
	Total     int         // of the batches
	Next      int         // ordinal before the next page, or 0
	Later     bool        // there is a previous page
	Self      string      // URL from which the page refreshes itself
	Every     string      // refresh interval, "" for a finished campaign
	Changed   bool        // the status is another one than in the last update
	Schedule  schedule    // of what waits
	CanMove   bool        // all that waits can be rescheduled
	Details   bool        // the technical details are open
	Message   *message    // nil in updates
	OptOuts   bool        // those since the campaign was sent can be counted
	Replied   bool        // replies since the campaign was sent can be counted
}

// sentWith is the version of a template that a batch was sent with. The name is "" if
// the template no longer exists.
type sentWith struct {
	ID      string
	Version int
	Name    string
}

// step is a step of the funnel. It includes the messages of the next steps.
type step struct {
	Key     string
	N, Of   int
	PerMill int // of the people
}

func (s step) Width() string { return strconv.FormatFloat(float64(s.PerMill)/10, 'f', 1, 64) + "%" }

type lost struct {
	campaign.Reason
	N int
}

// NotSent returns the number of people of a campaign with a file to whom nothing was sent, because
// of a cancellation or because the rest of the file was discarded.
func (v view) NotSent() int { return v.Stopped + v.Submission.NeverAccepted() }

type batchView struct {
	campaign.Progress
	Status    campaign.Status
	Delivered int
	Read      int
	Lost      int
	Template  *sentWith
	ErrorFile string // the path of the file, while it is kept
	Movable   bool   // may be rescheduled
}

func (s *Pages) show(p *web.Page) error {
	c, err := readCampaign(p, s.overview)
	if err != nil {
		return err
	}
	after, err := strconv.Atoi(cmp.Or(p.Query("batches"), "0"))
	if err != nil || after < 0 {
		return campaign.ErrNotFound
	}
	v := newView(c, after, s.Now())
	if err := s.nameTemplates(p.R.Context(), &v); err != nil {
		return err
	}
	v.Self, v.Changed = p.With("was", string(v.Status)), p.Query("was") != string(v.Status)
	v.Details = p.R.URL.Query().Has("batches")
	p.Title = c.Name + " – " + p.T("campaigns.status."+string(v.Status))
	if v.Every != "" {
		p.Refresh = 10 // seconds, for browsers without scripts
	}
	if p.Partial() {
		return p.Fragment("campaigns_update.html", v)
	}
	if v.Message, err = s.message(p, c); err != nil {
		return err
	}
	if len(c.Batches) > campaign.SmallCampaign { // for lists without a script
		s.reader().Keep(p.R.Context(), c.ID, c.Results(s.Now().Add(-largeFor)))
	}
	return p.Render("", "campaigns_show.html", v)
}

func newView(c campaign.Campaign, after int, now time.Time) view {
	v := view{Campaign: c, Status: c.Status(), Sum: c.Results(now), Total: len(c.Batches), Later: after > 0}
	reasons := map[campaign.Reason]int{}
	for _, b := range c.Batches {
		v.Rejected += b.Rejected
		v.Pending += b.Pending()
		v.addBatch(b)
		for reason, n := range b.Head.Reasons {
			reasons[reason] += n
		}
	}
	v.Waiting = waitingOf(v, now)
	v.Every = map[campaign.Status]string{campaign.StatusSending: "2s", campaign.StatusScheduled: "10s"}[v.Status]
	v.Funnel = funnel(v.Sum)
	v.Lost, v.Recovered = losses(reasons)
	if c.Submission.Known() {
		v.Lost = slices.DeleteFunc(v.Lost, func(l lost) bool { return l.Outcome == campaign.OutcomeStopped })
		v.Stopped = v.Sum.Stopped
	}
	v.CanRevoke = !c.Revoke && revocable(c)
	v.Schedule, v.CanMove = scheduleOf(c), movable(c)
	v.OptOuts, v.Replied = countsOptOuts(v.Sum), countsReplies(v.Sum)
	v.Chart = newChart(c.Batches, reasons[neverSent], now)
	v.page(after, now)
	return v
}

// neverSent is the reason of expired messages that were never sent.
var neverSent = campaign.Reason{Outcome: campaign.OutcomeExpired, Code: campaign.CodeNotAfterPassed}

// funnel returns the steps of a message's progress, each including the messages of
// later steps, as shares of all people of the campaign.
func funnel(r campaign.Results) []step {
	steps := []step{
		{Key: "accepted", N: r.Accepted}, {Key: "sent", N: r.Sent}, {Key: "delivered", N: r.Delivered}, {Key: "read", N: r.Read},
	}
	if r.Tappable {
		steps = append(steps, step{Key: "tapped", N: r.Tapped})
	}
	if r.Clickable {
		steps = append(steps, step{Key: "clicked", N: r.Clicked})
	}
	people := r.People()
	for i := range steps {
		steps[i].Of = people
		if people > 0 {
			steps[i].PerMill = 1000 * steps[i].N / people
		}
	}
	return steps
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
		return cmp.Or(b.N-a.N, cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code))
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

// nameTemplates sets the templates of the campaign: one for all batches, or one for
// each batch on the page.
func (s *Pages) nameTemplates(ctx context.Context, v *view) error {
	named := map[string]string{}
	for i := range v.Batches {
		b := &v.Batches[i]
		if _, known := named[b.TemplateID]; !known {
			name, err := s.templateName(ctx, v.Tenant, b.TemplateID)
			if err != nil {
				return err
			}
			named[b.TemplateID] = name
		}
		b.Template = &sentWith{b.TemplateID, b.TemplateVersion, named[b.TemplateID]}
	}
	if len(v.Batches) > 0 && sameTemplate(v.Campaign) {
		v.Template = v.Batches[0].Template
	}
	return nil
}

func sameTemplate(c campaign.Campaign) bool {
	return !slices.ContainsFunc(c.Batches, func(b campaign.Progress) bool {
		return b.TemplateID != c.Batches[0].TemplateID || b.TemplateVersion != c.Batches[0].TemplateVersion
	})
}

func newBatchView(b campaign.Progress, now time.Time) batchView {
	n := b.Head.DayCounts()
	v := batchView{
		Progress: b, Status: b.Status(), Read: n.Read, Delivered: n.Delivered, Lost: n.Failed,
		Movable: b.State == campaign.BatchPending && !b.Cancelled(),
	}
	if b.ErrorFile != "" && now.Before(b.AcceptedAt.Add(campaign.ErrorFileLife)) {
		v.ErrorFile = "/api/v1/error-files/" + b.ErrorFile
	}
	return v
}

type bill struct {
	Classes   campaign.ClassCounts // of accepted messages
	Billed    campaign.ClassCounts // of delivered messages
	ClassesOf int                  // messages
	Priced    bool                 // some batches have prices
	Cost      campaign.Money       // of delivered messages, in batches with prices
	Unpriced  int                  // delivered messages in batches without prices
}

func (v *bill) addBatch(b campaign.Progress) {
	v.ClassesOf += b.Accepted
	v.Classes.Add(b.ClassCounts())
	v.Billed.Add(b.Billed())
	if b.Prices.Set() {
		v.Priced = true
		v.Cost += b.Prices.Of(b.Billed())
	} else {
		v.Unpriced += b.Head.DayCounts().Delivered
	}
}

// waiting is what a campaign waits for after its last message was sent.
type waiting struct {
	N     int       // sent messages without a delivery status
	Until time.Time // when they end at the latest, zero if unknown
}

// waitingOf returns what a sending campaign waits for. It is zero while messages wait to
// be sent or to be accepted.
func waitingOf(v view, now time.Time) waiting {
	if v.Status != campaign.StatusSending || v.Pending > 0 || v.Submission.ToCome() > 0 {
		return waiting{}
	}
	var w waiting
	known := true
	for _, b := range v.Campaign.Batches {
		w.N += b.Head.Counts[campaign.OutcomeSent]
		if b.Done() {
			continue
		}
		known = known && b.State == campaign.BatchSent && b.NextCheck.After(now)
		if b.NextCheck.After(w.Until) {
			w.Until = b.NextCheck
		}
	}
	if !known {
		w.Until = time.Time{}
	}
	return w
}
