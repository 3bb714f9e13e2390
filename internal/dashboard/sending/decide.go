package sending

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// chooseColumns sets the columns and begins the check of the file. The columns of a checked file can
// be corrected.
func (s *Pages) chooseColumns(p *web.Page) error {
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
func columns(p *web.Page, sub submission.Submission, t campaign.Template) sheet.Columns {
	column := func(field string) int {
		n, err := strconv.Atoi(p.Field(field))
		if err != nil || n < 0 || n >= len(sub.Columns.Header) {
			return -1
		}
		return n
	}
	c := sheet.Columns{Phone: column("phone"), UID: column("uid")}
	for n, name := range t.Variables() {
		c.Values = append(c.Values, sheet.Value{Name: name, Column: column("v" + strconv.Itoa(n))})
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

// step returns what the person decides about a submission, as the page showed it.
func step(p *web.Page, sub submission.Submission, path, action string) intake.Step {
	return intake.Step{ID: sub.ID, Shown: p.Field("hash"), Audit: p.AuditEntry(path, action, sub.Name)}
}

// confirm sends a checked campaign, asks for its approval, or sends the rest after a stop. A
// repeated confirmation changes nothing.
func (s *Pages) confirm(p *web.Page) error {
	sub, err := s.find(p, p.R.PathValue("campaignId"))
	if err != nil {
		return err
	}
	if sub.State == submission.StateSending { // a repeated confirmation
		return s.sent(p, sub)
	}
	action := "campaign.dispatch"
	if sub.Schedule != "" {
		action = "campaign.schedule"
	}
	sub, err = s.Intake.Send(p.R.Context(), step(p, sub, web.Root+"/campaigns/"+sub.CampaignID, action))
	if errors.Is(err, intake.ErrNeedsApproval) {
		return s.ask(p, sub)
	}
	if err != nil {
		return s.refused(p, sub, err)
	}
	return s.sent(p, sub)
}

// sent shows a campaign that is being sent.
func (*Pages) sent(p *web.Page, sub submission.Submission) error {
	if due := sub.Due(); !due.IsZero() {
		return p.Done(pathOf(sub), "sending.scheduled", sub.Name, p.When(due))
	}
	return p.Done(pathOf(sub), "sending.started", sub.Name)
}

// ask asks for the approval of a campaign.
func (s *Pages) ask(p *web.Page, sub submission.Submission) error {
	sub, err := s.Intake.Ask(p.R.Context(), step(p, sub, pathOf(sub), "approval.ask"))
	if err != nil {
		return s.refused(p, sub, err)
	}
	return p.Done(pathOf(sub), "approval.asked")
}

// refusedSteps are the texts of the steps that are not taken. The page shows the campaign as it is now.
var refusedSteps = map[error]string{
	intake.ErrChanged: "imports.look_again", intake.ErrTooLate: "imports.late", intake.ErrOverBudget: "refusal.budget_exceeded",
	intake.ErrDecided: "approval.decided_before",
}

// refused shows why a step was not taken. A campaign with another state shows it.
func (s *Pages) refused(p *web.Page, sub submission.Submission, err error) error {
	switch {
	case errors.Is(err, intake.ErrState), errors.Is(err, campaign.ErrLostRace):
		return p.Redirect(SubmissionsPath + "/" + p.R.PathValue("campaignId"))
	case errors.Is(err, intake.ErrOwn):
		return &web.Refusal{Status: http.StatusForbidden, Key: "approval.own"}
	case errors.Is(err, intake.ErrNotOwn):
		return &web.Refusal{Status: http.StatusForbidden, Key: "approval.not_own"}
	}
	for why, key := range refusedSteps {
		if errors.Is(err, why) {
			return s.render(p, http.StatusConflict, sub, key)
		}
	}
	return err
}

// decide approves or refuses a campaign. Who asked for it cannot approve it. Of several
// decisions at once, one takes effect.
func (s *Pages) decide(p *web.Page) error {
	sub, err := s.find(p, p.R.PathValue("campaignId"))
	if err != nil {
		return err
	}
	switch p.Field("decision") {
	case "approve":
		return s.approve(p, sub)
	case "refuse":
		return s.refuse(p, sub)
	}
	return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
}

func (s *Pages) approve(p *web.Page, sub submission.Submission) error {
	sub, err := s.Intake.Approve(p.R.Context(), step(p, sub, pathOf(sub), "approval.approve"))
	if err != nil {
		return s.refused(p, sub, err)
	}
	if sub.Approval.Decision == submission.DecisionReturned {
		return s.render(p, http.StatusConflict, sub, "approval.returned")
	}
	if sub.State != submission.StateSending && sub.State != submission.StateSent { // a repeated approval
		return p.Redirect(pathOf(sub))
	}
	return s.sent(p, sub)
}

// maxReason is the maximum size in bytes of the reason of a refusal.
const maxReason = 1000

func (s *Pages) refuse(p *web.Page, sub submission.Submission) error {
	reason := web.Short(p.Field("reason"), maxReason)
	if reason == "" && sub.State == submission.StateApproval {
		return s.render(p, http.StatusUnprocessableEntity, sub, "approval.reason_missing")
	}
	sub, err := s.Intake.Refuse(p.R.Context(), step(p, sub, pathOf(sub), "approval.refuse"), reason)
	if err != nil {
		return s.refused(p, sub, err)
	}
	return p.Done(pathOf(sub), "approval.refused", sub.Name)
}

// withdraw takes a request for approval back.
func (s *Pages) withdraw(p *web.Page) error {
	return s.takeBack(p, s.Intake.Withdraw, "approval.withdraw")
}

// reopen takes a refused campaign back, to correct it.
func (s *Pages) reopen(p *web.Page) error { return s.takeBack(p, s.Intake.Reopen, "approval.reopen") }

func (s *Pages) takeBack(p *web.Page, take func(context.Context, intake.Step) (submission.Submission, error), action string) error {
	sub, err := s.find(p, p.R.PathValue("campaignId"))
	if err != nil {
		return err
	}
	if sub, err = take(p.R.Context(), step(p, sub, pathOf(sub), action)); err != nil {
		return s.refused(p, sub, err)
	}
	return p.Redirect(pathOf(sub))
}

// cancel discards a submission. Messages that are sent already remain.
func (s *Pages) cancel(p *web.Page) error {
	sub, err := s.find(p, p.R.PathValue("campaignId"))
	if err != nil {
		return err
	}
	if sub, err = s.Intake.Discard(p.R.Context(), step(p, sub, "", "campaign.import_discard")); err != nil {
		return s.refused(p, sub, err)
	}
	return p.Done(SubmissionsPath, "imports.cancelled", sub.Name)
}
