package sending

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// chooseColumns sets the columns and begins the check of the file. The columns of a checked file can
// be corrected.
func (s *Pages) chooseColumns(p *web.Page, sub submission.Submission) error {
	t, err := s.template(p, sub.TemplateID)
	if err != nil {
		return err
	}
	if !sub.Editable() {
		return p.Redirect(pathOf(sub))
	}
	if p.Stale(strconv.Itoa(t.Version)) { // its variables are others, or in another order
		return s.render(p, http.StatusConflict, sub, "submission.look_again")
	}
	if sub.Undecided() {
		return s.render(p, http.StatusUnprocessableEntity, sub, "review.choose")
	}
	chosen := columns(p, sub, t)
	if len(chosen.Missing()) > 0 {
		sub.Columns.Chosen, sub.State = chosen, submission.StateColumns
		return s.render(p, http.StatusUnprocessableEntity, sub, "submission.columns_missing")
	}
	if err := s.Intake.Check(p.R.Context(), sub, chosen, t); err != nil {
		return err
	}
	return p.Redirect(pathOf(sub))
}

func columns(p *web.Page, sub submission.Submission, t campaign.Template) submission.Chosen {
	column := func(field string) int { return web.ColumnIn(p.Field(field), sub.Columns.Header) }
	c := submission.Chosen{Phone: column("phone"), UID: column("uid")}
	for n, name := range t.Variables() {
		c.Values = append(c.Values, submission.Column{Name: name, Column: column("v" + strconv.Itoa(n))})
	}
	return c
}

// current returns the columns of a submission's variables as the template has them now. New
// variables have the column with their name.
func current(sub submission.Submission, variables []string) []submission.Column {
	columns := sheet.Match(sub.Columns.Header, variables).Values
	for n, v := range columns {
		at := slices.IndexFunc(sub.Columns.Values, func(c submission.Column) bool { return c.Name == v.Name })
		if at >= 0 {
			columns[n] = sub.Columns.Values[at]
		}
	}
	return columns
}

// PhoneIn and UIDIn return the column of the numbers and of the uids, if its name is not that of the
// example.
func (v view) PhoneIn() string { return v.renamed(v.Columns.Phone, "phone", "telefone") }

func (v view) UIDIn() string { return v.renamed(v.Columns.UID, "uid", "código") }

func (v view) renamed(column int, standard ...string) string {
	if column < 0 || column >= len(v.Columns.Header) || slices.Contains(standard, v.Columns.Header[column]) {
		return ""
	}
	return v.Columns.Header[column]
}

func (v view) Choice(id string, column int) web.ColumnChoice {
	return web.ColumnChoice{ID: id, Column: column, Header: v.Columns.Header, Refused: v.Notice == "submission.columns_missing"}
}

// step takes a person's step about a submission, as the page showed it, and goes on with done. action is
// that in the audit log, link the page of its entry.
func (s *Pages) step(
	p *web.Page, sub submission.Submission, choice intake.Choice, link, action string, done func(*web.Page, submission.Submission) error,
) error {
	sub, err := s.Intake.Decide(p.R.Context(), intake.Step{
		ID: sub.ID, Choice: choice, Shown: p.Field("hash"), Reason: reason(p), Audit: p.AuditEntry(link, action, sub.Name),
	})
	switch {
	case errors.Is(err, intake.ErrNeedsApproval):
		return s.step(p, sub, intake.Ask, pathOf(sub), "approval.ask", func(p *web.Page, sub submission.Submission) error {
			return p.Done(pathOf(sub), "approval.asked")
		})
	case err != nil:
		return s.refused(p, sub, err)
	}
	return done(p, sub)
}

// saying answers a step with a notice on the page of the submission.
func saying(key string) func(*web.Page, submission.Submission) error {
	return func(p *web.Page, sub submission.Submission) error { return p.Done(pathOf(sub), key, sub.Name) }
}

func (s *Pages) withdraw(p *web.Page, sub submission.Submission) error {
	return s.step(p, sub, intake.Withdraw, pathOf(sub), "approval.withdraw", saying("approval.withdrawn"))
}

// reopen takes a refused campaign back, to correct it.
func (s *Pages) reopen(p *web.Page, sub submission.Submission) error {
	return s.step(p, sub, intake.Reopen, pathOf(sub), "approval.reopen", saying("approval.reopened"))
}

// confirm sends a checked campaign, asks for its approval, or sends the rest after a stop. A
// repeated confirmation changes nothing.
func (s *Pages) confirm(p *web.Page, sub submission.Submission) error {
	if sub.State == submission.StateSending { // a repeated confirmation
		return s.sent(p, sub)
	}
	action := "campaign.dispatch"
	if !s.confirmed(p, sub).IsZero() {
		action = "campaign.schedule"
	}
	return s.asShown(p, sub, func() error {
		return s.step(p, sub, intake.Send, web.CampaignPath(sub.CampaignID), action, s.sent)
	})
}

const maxReason = 1000 // bytes

func reason(p *web.Page) string { return web.Short(p.Field("reason"), maxReason) }

// decide approves or refuses a campaign. Who asked for it cannot approve it. Of several
// decisions at once, one takes effect.
func (s *Pages) decide(p *web.Page, sub submission.Submission) error {
	switch decision := p.Field("decision"); {
	case decision == "approve":
		return s.asShown(p, sub, func() error {
			return s.step(p, sub, intake.Approve, pathOf(sub), "approval.approve", s.approved)
		})
	case decision != "refuse":
		return web.BadForm()
	case reason(p) == "" && sub.State == submission.StateApproval:
		return s.render(p, http.StatusUnprocessableEntity, sub, "approval.reason_missing")
	}
	return s.step(p, sub, intake.Refuse, pathOf(sub), "approval.refuse", saying("approval.refused"))
}

func (s *Pages) approved(p *web.Page, sub submission.Submission) error {
	if sub.Approval.Decision == submission.DecisionReturned && sub.Plan.InWaves() {
		return s.render(p, http.StatusConflict, sub, "approval.returned_waves")
	}
	if sub.Approval.Decision == submission.DecisionReturned {
		return s.render(p, http.StatusConflict, sub, "approval.returned")
	}
	approved := []submission.State{submission.StateSending, submission.StateHolding, submission.StateSent}
	if !slices.Contains(approved, sub.State) { // a repeated approval
		return p.Redirect(pathOf(sub))
	}
	return s.sent(p, sub)
}

// cancel discards a submission. Messages that are sent already remain: of a campaign in waves, the rest is discarded.
func (s *Pages) cancel(p *web.Page, sub submission.Submission) error {
	if sub.Sending.Wave() > 0 {
		campaignPath := web.CampaignPath(sub.CampaignID)
		return s.step(p, sub, intake.Discard, campaignPath, "rollout.discard", func(p *web.Page, sub submission.Submission) error {
			return p.Done(campaignPath, "submission.rest_discarded", sub.Name, p.Number(sub.Totals().NotAccepted()))
		})
	}
	return s.step(p, sub, intake.Discard, "", "campaign.discard", func(p *web.Page, sub submission.Submission) error {
		return p.Done(SubmissionsPath, "submission.cancelled", sub.Name)
	})
}

// refusedSteps are the texts of the steps that are not taken. The page shows the campaign as it is now.
var refusedSteps = map[error]string{
	intake.ErrChanged: "submission.look_again", intake.ErrScheduleMissed: "submission.late", intake.ErrOverBudget: "refusal.budget_exceeded",
	intake.ErrDecided: "approval.decided_before", intake.ErrTooLong: "submission.too_long",
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
