package imports

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
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
	i, t, err := s.open(p)
	if err != nil {
		return err
	}
	if i.State != campaign.ImportColumns && i.State != campaign.ImportReady {
		return p.Redirect(pathOf(i))
	}
	if p.Stale(strconv.Itoa(t.Version)) { // its variables are others, or in another order
		return s.render(p, http.StatusConflict, i, "imports.look_again")
	}
	chosen := columns(p, i, t)
	if len(chosen.Missing()) > 0 {
		i.Phone, i.UID, i.Values = chosen.Phone, chosen.UID, nil
		for _, v := range chosen.Values {
			i.Values = append(i.Values, campaign.ImportColumn(v))
		}
		i.State = campaign.ImportColumns
		return s.render(p, http.StatusUnprocessableEntity, i, "imports.columns_missing")
	}
	if err := s.Imports.Check(p.R.Context(), i, chosen, t); err != nil {
		return err
	}
	return p.Redirect(pathOf(i))
}

// columns returns the columns of the form.
func columns(p *web.Page, i campaign.Import, t campaign.Template) recipients.Columns {
	column := func(field string) int {
		n, err := strconv.Atoi(p.Field(field))
		if err != nil || n < 0 || n >= len(i.Header) {
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

// open returns the import in the path with its template.
func (s *Pages) open(p *web.Page) (i campaign.Import, t campaign.Template, err error) {
	if i, err = s.find(p, p.R.PathValue("campaignId")); err != nil {
		return i, t, err
	}
	t, err = s.template(p, i.TemplateID)
	return i, t, err
}

// needsApproval reports whether a second person has to approve a campaign.
func (s *Pages) needsApproval(p *web.Page, i campaign.Import) (bool, error) {
	from, err := s.Store.ApprovalFrom(p.R.Context(), p.Session.Tenant)
	return from > 0 && i.Findings.Accepted+i.Findings.Invalid() >= from, err
}

// confirm sends a checked campaign, asks for its approval, or sends the rest after a stop. A
// repeated confirmation changes nothing.
func (s *Pages) confirm(p *web.Page) error {
	i, t, err := s.open(p)
	if err != nil {
		return err
	}
	switch {
	case i.State != campaign.ImportReady && i.State != campaign.ImportStopped:
		return p.Redirect(pathOf(i))
	case p.Field("hash") != i.Read.Hash, !i.Findings.Fits(), t.Version != i.TemplateVersion:
		return s.render(p, http.StatusConflict, i, "imports.look_again")
	case s.Imports.Late(i):
		return s.render(p, http.StatusConflict, i, "imports.late")
	case i.State == campaign.ImportStopped:
		return s.send(p, i)
	}
	needed, err := s.needsApproval(p, i)
	if err != nil {
		return err
	}
	if needed {
		return s.ask(p, i)
	}
	return s.send(p, i)
}

func (s *Pages) send(p *web.Page, i campaign.Import) error {
	action := "campaign.dispatch"
	if i.Schedule != "" {
		action = "campaign.schedule"
	}
	if err := p.AuditOn(web.Root+"/campaigns/"+i.CampaignID, action, i.Name); err != nil {
		return err
	}
	if err := s.Imports.Send(p.R.Context(), i); err != nil {
		return err
	}
	return p.Redirect(pathOf(i))
}

// ask asks for the approval of a campaign.
func (s *Pages) ask(p *web.Page, i campaign.Import) error {
	a := campaign.Approval{
		Tenant: i.Tenant, CampaignID: i.CampaignID, Name: i.Name, TemplateID: i.TemplateID, TemplateVersion: i.TemplateVersion,
		Schedule: i.Schedule, NotAfter: i.NotAfter, FileName: i.FileName, Hash: i.Read.Hash, People: i.Findings.People(),
		By: p.Session.Email, At: s.Now(), State: campaign.ApprovalWaiting, Import: true,
	}
	if err := p.AuditOn(pathOf(i), "approval.ask", a.Name); err != nil {
		return err
	}
	if err := s.request(p, a); err != nil {
		return err
	}
	if err := s.Imports.AwaitApproval(p.R.Context(), i); err != nil && !errors.Is(err, campaign.ErrLostRace) {
		return err
	}
	return p.Done(pathOf(i), "approval.asked")
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
	i, t, err := s.open(p)
	if err != nil {
		return err
	}
	a, err := s.Store.Approval(p.R.Context(), i.Tenant, i.CampaignID)
	if err != nil {
		return err
	}
	open := a.State == campaign.ApprovalWaiting || a.State == campaign.ApprovalApproved
	switch {
	case i.State != campaign.ImportApproval || !open:
		return p.Redirect(pathOf(i))
	case p.Field("hash") != a.Hash || a.Hash != i.Read.Hash:
		return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	case p.Field("decision") == "refuse":
		return s.refuseRequest(p, i, a)
	case p.Field("decision") != "approve":
		return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	case a.By == p.Session.Email:
		return &web.Refusal{Status: http.StatusForbidden, Key: "approval.own"}
	case t.Version != a.TemplateVersion:
		return s.render(p, http.StatusConflict, i, "imports.look_again")
	case s.Imports.Late(i):
		return s.render(p, http.StatusConflict, i, "imports.late")
	}
	if err := s.saveDecision(p, &a, campaign.ApprovalApproved, "approval.approve"); err != nil {
		return err
	}
	i.AskedBy = a.By
	return s.send(p, i)
}

// maxReason is the maximum size in bytes of the reason of a refusal.
const maxReason = 1000

func (s *Pages) refuseRequest(p *web.Page, i campaign.Import, a campaign.Approval) error {
	if a.Reason = web.Short(p.Field("reason"), maxReason); a.Reason == "" {
		return s.render(p, http.StatusUnprocessableEntity, i, "approval.reason_missing")
	}
	if err := s.saveDecision(p, &a, campaign.ApprovalRefused, "approval.refuse"); err != nil {
		return err
	}
	if err := s.Imports.Cancel(p.R.Context(), i); err != nil && !errors.Is(err, campaign.ErrLostRace) {
		return err
	}
	return p.Done(pathOf(i), "approval.refused", a.Name)
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

// cancel discards an import. Messages that are sent already remain.
func (s *Pages) cancel(p *web.Page) error {
	i, err := s.find(p, p.R.PathValue("campaignId"))
	if err != nil {
		return err
	}
	if i.State == campaign.ImportSending || i.State == campaign.ImportSent {
		return p.Redirect(pathOf(i))
	}
	if i.State != campaign.ImportCancelled {
		if err := p.Audit("campaign.import_discard", i.Name); err != nil {
			return err
		}
	}
	err = s.Imports.Cancel(p.R.Context(), i)
	if errors.Is(err, campaign.ErrLostRace) {
		return p.Redirect(pathOf(i))
	}
	if err == nil {
		err = s.withdraw(p, i)
	}
	if err != nil {
		return err
	}
	return p.Done(Path, "imports.cancelled", i.Name)
}

// withdraw ends the request for approval of a discarded import, if one waits.
func (s *Pages) withdraw(p *web.Page, i campaign.Import) error {
	a, err := s.Store.Approval(p.R.Context(), i.Tenant, i.CampaignID)
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
