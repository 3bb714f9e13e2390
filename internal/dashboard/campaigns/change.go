package campaigns

import (
	"cmp"
	"net/http"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// cancelPage shows the effect of a cancellation.
type cancelPage struct {
	campaign.Campaign
	Scheduled int  // messages of scheduled batches
	Pending   int  // unsent messages of other batches
	Sent      int  // sent, undelivered messages
	Over      int  // messages with a final outcome
	ToCome    int  // people of the file who are not accepted yet
	Choice    bool // some messages can be revoked, now or soon
}

func (s *Pages) askCancel(p *web.Page) error {
	c, err := of(p, s.begun)
	if err != nil {
		return err
	}
	if err := s.Controls.MayCancel(c); err != nil {
		return refused(p, err)
	}
	if !c.CancelledAt.IsZero() && !revocable(c) {
		return &web.Refusal{Status: http.StatusConflict, Key: "campaigns.problem.nothing_to_revoke"}
	}
	return p.Render("campaigns.cancel", "campaigns_cancel.html", newCancelPage(c))
}

func newCancelPage(c campaign.Campaign) cancelPage {
	v := cancelPage{Campaign: c, Choice: revocable(c), ToCome: c.Submission.ToCome()}
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

func (s *Pages) cancel(p *web.Page) error {
	c, err := of(p, s.begun)
	if err != nil {
		return err
	}
	revoke, action := p.Field("revoke") == "true", "campaign.cancel"
	if revoke {
		action = "campaign.revoke"
	}
	if err := s.Controls.MayCancel(c); err != nil {
		return refused(p, err)
	}
	repeated := !c.CancelledAt.IsZero() && (c.Revoke || !revoke)
	if !repeated {
		if err := p.AuditOn(pathOf(c), action, c.Name); err != nil {
			return err
		}
	}
	defer s.large.Drop(c.ID)
	if _, err := s.Controls.Cancel(p.R.Context(), c.ID, revoke); err != nil {
		return refused(p, err)
	}
	if revoke {
		return p.Done(pathOf(c), "campaigns.done.revoked", c.Name)
	}
	return p.Done(pathOf(c), "campaigns.done.cancelled", c.Name)
}

// reschedulePage is the form for a batch's new time.
type reschedulePage struct {
	campaign.Campaign
	Batch   campaign.Batch
	Value   string // of the field: a date and time in São Paulo
	Refusal *web.Refusal
}

func (s *Pages) askReschedule(p *web.Page) error {
	c, err := of(p, s.begun)
	if err != nil {
		return err
	}
	if err := mayChangeTime(p, c); err != nil {
		return err
	}
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

func (s *Pages) reschedule(p *web.Page) error {
	c, err := of(p, s.begun)
	if err != nil {
		return err
	}
	if err := mayChangeTime(p, c); err != nil {
		return err
	}
	if !p.R.PostForm.Has("batch") {
		return s.move(p, c)
	}
	b, ok := c.Find(p.Field("batch"))
	if !ok {
		return campaign.ErrNotFound
	}
	err = s.moveBatch(p, b.Batch, c)
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
