package imports

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/recipients"
)

// instant parses a time that is validated elsewhere. It returns zero for an invalid time.
func instant(text string) time.Time {
	at, err := localtime.Parse(text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// choose sets the columns and begins the check of the file. The columns of a checked file can
// be corrected.
func (s *Pages) choose(p *web.Page) error {
	sub, t, err := s.open(p)
	if err != nil {
		return err
	}
	if sub.State != submission.StateColumns && sub.State != submission.StateReady {
		return p.Redirect(pathOf(sub))
	}
	if p.Stale(strconv.Itoa(t.Version)) { // its variables are others, or in another order
		return s.render(p, http.StatusConflict, sub, "imports.look_again")
	}
	chosen := columns(p, sub, t)
	if len(chosen.Missing()) > 0 {
		sub.Columns.Phone, sub.Columns.UID, sub.Columns.Values = chosen.Phone, chosen.UID, nil
		for _, v := range chosen.Values {
			sub.Columns.Values = append(sub.Columns.Values, submission.Column(v))
		}
		sub.State = submission.StateColumns
		return s.render(p, http.StatusUnprocessableEntity, sub, "imports.columns_missing")
	}
	if err := s.Intake.Check(p.R.Context(), sub, chosen, t); err != nil {
		return err
	}
	return p.Redirect(pathOf(sub))
}

// columns returns the columns of the form.
func columns(p *web.Page, sub submission.Submission, t campaign.Template) recipients.Columns {
	column := func(field string) int {
		n, err := strconv.Atoi(p.Field(field))
		if err != nil || n < 0 || n >= len(sub.Columns.Header) {
			return -1
		}
		return n
	}
	c := recipients.Columns{Phone: column("phone"), UID: column("uid")}
	for n, name := range t.Variables() {
		c.Values = append(c.Values, recipients.Value{Name: name, Column: column("v" + strconv.Itoa(n))})
	}
	return c
}

// open returns the submission in the path with its template.
func (s *Pages) open(p *web.Page) (sub submission.Submission, t campaign.Template, err error) {
	if sub, err = s.find(p, p.R.PathValue("campaignId")); err != nil {
		return sub, t, err
	}
	t, err = s.template(p, sub.TemplateID)
	return sub, t, err
}

// needsApproval reports whether a second person has to approve a campaign.
func (s *Pages) needsApproval(p *web.Page, sub submission.Submission) (bool, error) {
	from, err := s.Store.ApprovalFrom(p.R.Context(), p.Session.Tenant)
	return from > 0 && sub.Check.Findings.Accepted+sub.Check.Findings.Invalid() >= from, err
}

// confirm sends a checked campaign, asks for its approval, or sends the rest after a stop. A
// repeated confirmation changes nothing.
func (s *Pages) confirm(p *web.Page) error {
	sub, t, err := s.open(p)
	if err != nil {
		return err
	}
	switch {
	case sub.State == submission.StateSending: // a repeated confirmation
		return s.sent(p, sub)
	case sub.State != submission.StateReady && sub.State != submission.StateInterrupted:
		return p.Redirect(pathOf(sub))
	case p.Field("hash") != sub.Check.Hash, !sub.Check.Findings.Fits(), t.Version != sub.TemplateVersion:
		return s.render(p, http.StatusConflict, sub, "imports.look_again")
	case s.Intake.TooLate(sub):
		return s.render(p, http.StatusConflict, sub, "imports.late")
	case sub.State == submission.StateInterrupted:
		return s.send(p, sub)
	}
	needed, err := s.needsApproval(p, sub)
	if err != nil {
		return err
	}
	if needed {
		return s.ask(p, sub)
	}
	return s.send(p, sub)
}

func (s *Pages) send(p *web.Page, sub submission.Submission) error {
	action := "campaign.dispatch"
	if sub.Schedule != "" {
		action = "campaign.schedule"
	}
	if err := p.AuditOn(web.Root+"/campaigns/"+sub.CampaignID, action, sub.Name); err != nil {
		return err
	}
	if err := s.Intake.Send(p.R.Context(), sub); err != nil {
		return err
	}
	return s.sent(p, sub)
}

// sent deletes the draft of a campaign that is being sent, and shows the campaign.
func (s *Pages) sent(p *web.Page, sub submission.Submission) error {
	if err := s.DropDraft(p, sub.Draft, sub.DraftVersion); err != nil {
		return err
	}
	if due := instant(sub.Schedule); !due.IsZero() {
		return p.Done(pathOf(sub), "sending.scheduled", sub.Name, p.When(due))
	}
	return p.Done(pathOf(sub), "sending.started", sub.Name)
}

// ask asks for the approval of a campaign.
func (s *Pages) ask(p *web.Page, sub submission.Submission) error {
	a := campaign.Approval{
		Tenant: sub.Tenant, CampaignID: sub.CampaignID, Name: sub.Name, TemplateID: sub.TemplateID, TemplateVersion: sub.TemplateVersion,
		Schedule: sub.Schedule, NotAfter: sub.NotAfter, FileName: sub.File.Name, Hash: sub.Check.Hash, People: sub.Check.Findings.People(),
		By: p.Session.Email, At: s.Now(), State: campaign.ApprovalWaiting, Import: true,
	}
	if err := p.AuditOn(pathOf(sub), "approval.ask", a.Name); err != nil {
		return err
	}
	if err := s.request(p, a); err != nil {
		return err
	}
	if err := s.Intake.AwaitApproval(p.R.Context(), sub); err != nil && !errors.Is(err, campaign.ErrLostRace) {
		return err
	}
	return p.Done(pathOf(sub), "approval.asked")
}

// request writes a request for approval. One that waits for another check of the file, after
// which the columns were chosen again, is replaced.
func (s *Pages) request(p *web.Page, a campaign.Approval) error {
	if err := s.Store.AskApproval(p.R.Context(), a); err != nil {
		return err
	}
	there, err := s.Store.Approval(p.R.Context(), a.Tenant, a.CampaignID)
	if err != nil || there.Hash == a.Hash {
		return err
	}
	return s.Store.SaveApproval(p.R.Context(), a, campaign.ApprovalWaiting)
}

// decide approves or refuses a campaign. Who asked for it cannot approve it. Of several
// decisions at once, one takes effect.
func (s *Pages) decide(p *web.Page) error {
	sub, t, err := s.open(p)
	if err != nil {
		return err
	}
	a, err := s.Store.Approval(p.R.Context(), sub.Tenant, sub.CampaignID)
	if err != nil {
		return err
	}
	open := a.State == campaign.ApprovalWaiting || a.State == campaign.ApprovalApproved
	switch {
	case sub.State != submission.StateApproval || !open:
		return p.Redirect(pathOf(sub))
	case p.Field("hash") != a.Hash || a.Hash != sub.Check.Hash:
		return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	case p.Field("decision") == "refuse":
		return s.refuseRequest(p, sub, a)
	case p.Field("decision") != "approve":
		return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	case a.By == p.Session.Email:
		return &web.Refusal{Status: http.StatusForbidden, Key: "approval.own"}
	case t.Version != a.TemplateVersion:
		return s.render(p, http.StatusConflict, sub, "imports.look_again")
	case s.Intake.TooLate(sub):
		return s.render(p, http.StatusConflict, sub, "imports.late")
	}
	if err := s.saveDecision(p, &a, campaign.ApprovalApproved, "approval.approve"); err != nil {
		return err
	}
	sub.Approval.AskedBy = a.By
	return s.send(p, sub)
}

// maxReason is the maximum size in bytes of the reason of a refusal.
const maxReason = 1000

func (s *Pages) refuseRequest(p *web.Page, sub submission.Submission, a campaign.Approval) error {
	if a.Reason = web.Short(p.Field("reason"), maxReason); a.Reason == "" {
		return s.render(p, http.StatusUnprocessableEntity, sub, "approval.reason_missing")
	}
	if err := s.saveDecision(p, &a, campaign.ApprovalRefused, "approval.refuse"); err != nil {
		return err
	}
	if err := s.Intake.Discard(p.R.Context(), sub); err != nil && !errors.Is(err, campaign.ErrLostRace) {
		return err
	}
	return p.Done(pathOf(sub), "approval.refused", a.Name)
}

// saveDecision writes a decision. An approval that is repeated after an interruption has it
// already.
func (s *Pages) saveDecision(p *web.Page, a *campaign.Approval, state campaign.ApprovalState, action string) error {
	if a.State == state {
		return nil
	}
	was := a.State
	a.State, a.DecidedBy, a.DecidedAt = state, p.Session.Email, s.Now()
	if err := p.AuditOn(Path+"/"+a.CampaignID, action, a.Name); err != nil {
		return err
	}
	err := s.Store.SaveApproval(p.R.Context(), *a, was)
	if errors.Is(err, campaign.ErrLostRace) {
		return &web.Refusal{Status: http.StatusConflict, Key: "approval.decided"}
	}
	return err
}

// cancel discards a submission. Messages that are sent already remain.
func (s *Pages) cancel(p *web.Page) error {
	sub, err := s.find(p, p.R.PathValue("campaignId"))
	if err != nil {
		return err
	}
	if sub.State == submission.StateSending || sub.State == submission.StateSent {
		return p.Redirect(pathOf(sub))
	}
	if sub.State != submission.StateDiscarded {
		if err := p.Audit("campaign.import_discard", sub.Name); err != nil {
			return err
		}
	}
	err = s.Intake.Discard(p.R.Context(), sub)
	if errors.Is(err, campaign.ErrLostRace) {
		return p.Redirect(pathOf(sub))
	}
	if err == nil {
		err = s.withdraw(p, sub)
	}
	if err != nil {
		return err
	}
	return p.Done(Path, "imports.cancelled", sub.Name)
}

// withdraw ends the request for approval of a discarded submission, if one waits.
func (s *Pages) withdraw(p *web.Page, sub submission.Submission) error {
	a, err := s.Store.Approval(p.R.Context(), sub.Tenant, sub.CampaignID)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && a.State != campaign.ApprovalWaiting {
		return nil
	}
	if err != nil {
		return err
	}
	a.State, a.DecidedBy, a.DecidedAt = campaign.ApprovalWithdrawn, p.Session.Email, s.Now()
	err = s.Store.SaveApproval(p.R.Context(), a, campaign.ApprovalWaiting)
	if errors.Is(err, campaign.ErrLostRace) {
		return nil
	}
	return err
}
