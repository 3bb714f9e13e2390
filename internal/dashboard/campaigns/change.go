package campaigns

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/reach"
)

type cancelPage struct {
	campaign.Campaign
	Scheduled int  // messages of scheduled batches
	Pending   int  // unsent messages of other batches
	Sent      int  // sent, undelivered messages
	Over      int  // messages with a final outcome
	ToCome    int  // people of the file who are not accepted yet
	Choice    bool // some messages can be revoked, now or soon
	Withdraws bool // nothing is left to be sent, so that only messages are revoked
}

func (s *Pages) askCancel(p *web.Page, c campaign.Campaign) error {
	if err := s.Controls.MayCancel(c); err != nil {
		return refused(p, err)
	}
	if !c.CancelledAt.IsZero() && !revocable(c) {
		return &web.Refusal{Status: http.StatusConflict, Key: "campaigns.problem.nothing_to_revoke"}
	}
	return p.Render("campaigns.cancel", "campaigns_cancel.html", newCancelPage(c, s.Now()))
}

func newCancelPage(c campaign.Campaign, now time.Time) cancelPage {
	v := cancelPage{Campaign: c, Choice: revocable(c), ToCome: c.Submission.ToCome(), Withdraws: withdraws(c, insight.ResultsOf(c, now))}
	for _, b := range c.Batches {
		if b.State == campaign.BatchPending {
			v.Scheduled += b.Pending()
		} else {
			v.Pending += b.Pending()
		}
		v.Sent += b.Head.Counts[campaign.OutcomeSent]
		v.Over += b.Head.Final()
	}
	return v
}

// withdraws reports whether a cancellation only revokes messages: nothing is left to be sent.
func withdraws(c campaign.Campaign, r insight.Results) bool {
	return !c.CancelledAt.IsZero() || r.Unanswered > 0
}

// revocable reports whether undelivered messages are at the provider, or will be soon.
func revocable(c campaign.Campaign) bool {
	for _, b := range c.Batches {
		released := b.State != campaign.BatchPending && b.State != campaign.BatchCancelled
		if b.Head.Counts[campaign.OutcomeSent] > 0 || released && b.Pending() > 0 {
			return true
		}
	}
	return false
}

func (s *Pages) cancel(p *web.Page, c campaign.Campaign) error {
	revoke, action := p.Field("revoke") == "true", "campaign.cancel"
	if revoke {
		action = "campaign.revoke"
	}
	if err := s.Controls.MayCancel(c); err != nil {
		return refused(p, err)
	}
	repeated := !c.CancelledAt.IsZero() && (c.Revoke || !revoke)
	if !repeated {
		found := c.Cancellation()
		detail := web.Said("campaigns.cancel_found", web.AuditNumber(found.Sent), web.AuditNumber(found.Unsent()+found.NotAccepted))
		if err := p.AuditOn(pathOf(c), action, c.Name, detail); err != nil {
			return err
		}
	}
	defer s.large.Drop(c.ID)
	done, err := s.Controls.Cancel(p.R.Context(), c.ID, revoke)
	if err != nil {
		return refused(p, err)
	}
	return p.Done(pathOf(c), cancelledKey(done), c.Name, p.Number(done.Sent), p.Number(done.Unsent()+done.NotAccepted))
}

// cancelledKey returns the key of the notice of a cancellation. Its arguments are the campaign's name, the messages that
// had been sent, and the people to whom nothing was sent.
func cancelledKey(done control.Cancelled) string {
	switch {
	case done.NothingToStop() && done.Revokes:
		return "campaigns.done.revoked_late"
	case done.NothingToStop():
		return "campaigns.done.cancelled_late"
	case done.Revokes:
		return "campaigns.done.revoked"
	}
	return "campaigns.done.cancelled"
}

type reschedulePage struct {
	campaign.Campaign
	Batch   campaign.Batch
	Value   string // of the field: a date and time in São Paulo
	Refusal *web.Refusal
}

func (s *Pages) askReschedule(p *web.Page, c campaign.Campaign) error {
	if !p.R.URL.Query().Has("batch") {
		return s.askMove(p, c)
	}
	b, ok := c.Find(p.Query("batch"))
	if !ok {
		return campaign.ErrNotFound
	}
	if b.State != campaign.BatchPending {
		return &web.Refusal{Status: http.StatusConflict, Key: "campaigns.problem.batch_released"}
	}
	return p.Render("campaigns.reschedule", "campaigns_reschedule.html", reschedulePage{
		Campaign: c, Batch: b.Batch, Value: p.Local(b.Due),
	})
}

func (s *Pages) reschedule(p *web.Page, c campaign.Campaign) error {
	if !p.R.PostForm.Has("batch") {
		return s.move(p, c)
	}
	b, ok := c.Find(p.Field("batch"))
	if !ok {
		return campaign.ErrNotFound
	}
	err := s.moveBatch(p, b.Batch, c)
	if refusal, ok := refusalOf(p, err); ok && refusal.Status == http.StatusBadRequest {
		return p.RenderStatus(refusal.Status, "campaigns.reschedule", "campaigns_reschedule.html", reschedulePage{
			Campaign: c, Batch: b.Batch, Value: p.Field("schedule"), Refusal: refusal,
		})
	}
	if err != nil {
		return refused(p, err)
	}
	return p.Done(pathOf(c), "campaigns.done.batch_moved", batchName(p, b.Batch))
}

func (s *Pages) moveBatch(p *web.Page, b campaign.Batch, c campaign.Campaign) error {
	moved, err := s.Controls.MayRescheduleBatch(p.R.Context(), c, b.BatchID, p.Field("schedule"))
	if err != nil {
		return err
	}
	if err := p.AuditOn(pathOf(c), "campaign.reschedule", c.Name+" · "+batchName(p, b), web.Moved(b.Due, moved.Due)); err != nil {
		return err
	}
	defer s.large.Drop(c.ID)
	_, err = s.Controls.RescheduleBatch(p.R.Context(), c.ID, b.BatchID, p.Field("schedule"))
	return err
}

func batchName(p *web.Page, b campaign.Batch) string {
	return cmp.Or(b.Name, p.T("campaigns.unnamed"))
}

type movePage struct {
	campaign.Campaign
	schedule

	Value   string // of the field: a date and time in São Paulo
	Refusal *web.Refusal
}

// schedule is when the waiting messages of a campaign go out, and how many they are. The
// times differ only if the API scheduled them for different times, or the sending hours differ.
type schedule struct {
	People      int
	First, Last time.Time
	NotAfter    time.Time // the earliest, zero if there is none
	Reserves    bool      // some of them have reserved from the budget
}

func scheduleOf(c campaign.Campaign) (d schedule) {
	for _, b := range c.Batches {
		if b.State != campaign.BatchPending || b.Cancelled() {
			continue
		}
		d.Reserves = d.Reserves || b.Reserved > 0
		if !b.NotAfter.IsZero() && (d.NotAfter.IsZero() || b.NotAfter.Before(d.NotAfter)) {
			d.NotAfter = b.NotAfter
		}
		goes := b.Accepted - b.NeverGo()
		if goes == 0 {
			continue
		}
		d.People += goes
		if d.First.IsZero() || b.FirstGoes().Before(d.First) {
			d.First = b.FirstGoes()
		}
		if b.FirstGoes().After(d.Last) {
			d.Last = b.FirstGoes()
		}
	}
	if d.People > 0 && c.Submission.Cells.Waves() == 0 { // the people of later waves wait for a person
		d.People += c.Submission.ToCome()
	}
	return d
}

func (d schedule) Same() bool { return d.First.Equal(d.Last) }

func movable(c campaign.Campaign) bool {
	return c.CancelledAt.IsZero() && !c.Started() && len(c.Unreleased()) > 0
}

// timed returns the campaign in the path. It refuses a new time of an approved one: who approved it has
// seen its time. Another admin than the one who asked may change it. It also refuses one of a campaign
// whose first part is not accepted yet.
func (s *Pages) timed(p *web.Page) (campaign.Campaign, error) {
	c, err := web.CampaignInPath(s.begun)(p)
	switch {
	case err != nil:
		return c, err
	case c.Unsent():
		return c, &web.Refusal{Status: http.StatusConflict, Key: "campaigns.problem.campaign_not_accepted"}
	case c.AskedBy == "" || p.Session.Role == web.RoleAdmin && c.AskedBy != p.Session.Email:
		return c, nil
	}
	return c, &web.Refusal{Status: http.StatusForbidden, Key: "campaigns.problem.approved", To: pathOf(c), ToKey: "campaigns.back"}
}

func (s *Pages) askMove(p *web.Page, c campaign.Campaign) error {
	if !movable(c) {
		return immovable(p, c)
	}
	d := scheduleOf(c)
	return p.Render("campaigns.move_title", "campaigns_move.html", movePage{Campaign: c, schedule: d, Value: p.Local(d.First)})
}

// immovable says why a campaign cannot be rescheduled, and how many people have the message.
func immovable(p *web.Page, c campaign.Campaign) error {
	refusal := &web.Refusal{Status: http.StatusConflict, Key: "campaigns.problem.campaign_started", To: pathOf(c), ToKey: "campaigns.back"}
	if !c.CancelledAt.IsZero() {
		refusal.Key = "campaigns.problem.campaign_cancelled"
		return refusal
	}
	reached := 0
	for _, b := range c.Batches {
		reached += b.Head.Counts[campaign.OutcomeSent] + b.Head.DayCounts().Delivered
	}
	refusal.Args = []any{p.Number(reached)}
	return refusal
}

func (s *Pages) move(p *web.Page, c campaign.Campaign) error {
	due, err := s.Controls.MayRescheduleCampaign(p.R.Context(), c, p.Field("schedule"), p.Field("plan"))
	goes := due
	if err == nil {
		goes, err = s.goesAt(p.R.Context(), c, due)
	}
	if err == nil && !c.WaitsFor(due) { // a form that is sent twice changes nothing
		err = s.moveTo(p, c, due)
	}
	if err != nil {
		return s.moveRefused(p, c, err)
	}
	return p.Done(pathOf(c), "campaigns.moved", c.Name, p.When(goes))
}

// goesAt returns when the first message of a campaign goes that was moved to a time: then, or when the sending hours begin.
// If none are left, it is the time.
func (s *Pages) goesAt(ctx context.Context, c campaign.Campaign, due time.Time) (time.Time, error) {
	c.Batches = slices.Clone(c.Batches)
	for i := range c.Batches {
		c.Batches[i].Due = due
	}
	c, _, err := reach.Timed(ctx, s.Store, c, s.Now())
	if goes := scheduleOf(c).First; !goes.IsZero() {
		return goes, err
	}
	return due, err
}

func (s *Pages) moveTo(p *web.Page, c campaign.Campaign, due time.Time) error {
	if err := p.AuditOn(pathOf(c), "campaign.move", c.Name, web.Moved(scheduleOf(c).First, due)); err != nil {
		return err
	}
	defer s.large.Drop(c.ID)
	_, err := s.Controls.RescheduleCampaign(p.R.Context(), c.ID, p.Field("schedule"), p.Field("plan"))
	return err
}

// moveRefused shows the form again with the campaign as it is now, and with what was entered.
func (s *Pages) moveRefused(p *web.Page, c campaign.Campaign, err error) error {
	refusal, ok := refusalOf(p, err)
	if !ok {
		return err
	}
	now, err := s.Store.Overview(p.R.Context(), c.ID)
	if err != nil {
		return err
	}
	if !movable(now) {
		return immovable(p, now)
	}
	return p.RenderStatus(refusal.Status, "campaigns.move_title", "campaigns_move.html", movePage{
		Campaign: now, schedule: scheduleOf(now), Value: p.Field("schedule"), Refusal: refusal,
	})
}
