package campaignupload

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
)

// ApprovalsPath is the path of the requests for approval.
const ApprovalsPath = web.Root + "/approvals"

// needsApproval reports whether a second person has to approve a campaign.
func (s *Pages) needsApproval(p *web.Page, pl plan) (bool, error) {
	from, err := s.Store.ApprovalFrom(p.R.Context(), p.Session.Tenant)
	return from > 0 && pl.people() >= from, err
}

// people returns the number of lines of the file, without repeated numbers.
func (pl plan) people() (n int) {
	for _, part := range pl.parts {
		n += len(part.rows)
	}
	return n
}

// ask asks for the approval of a campaign. A repeated request keeps the first one.
func (s *Pages) ask(p *web.Page, u upload, pl plan, t campaign.Template) error {
	first, err := s.Store.Approval(p.R.Context(), p.Session.Tenant, u.CampaignID)
	if err == nil {
		return p.Redirect(pathOf(first))
	}
	if !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	a := campaign.Approval{
		Tenant: p.Session.Tenant, CampaignID: u.CampaignID, Name: u.Name, TemplateID: t.ID, TemplateVersion: t.Version,
		Schedule: u.Schedule, NotAfter: u.NotAfter, FileName: u.FileName, Hash: hashOf(u.file), People: pl.people(), Draft: u.Draft, DraftVersion: u.DraftVersion,
		By: p.Session.Email, At: s.Now(), State: campaign.ApprovalWaiting,
	}
	if err := s.Blobs.Put(p.R.Context(), a.Blob(), u.file, "application/octet-stream"); err != nil {
		return err
	}
	if err := p.AuditOn(pathOf(a), "approval.ask", a.Name); err != nil {
		return err
	}
	if err := s.Store.AskApproval(p.R.Context(), a); err != nil {
		return err
	}
	return p.Done(pathOf(a), "approval.asked")
}

func hashOf(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

func pathOf(a campaign.Approval) string { return ApprovalsPath + "/" + a.CampaignID }

// importsPath is the path of the pages of large files, which have their own requests.
const importsPath = web.Root + "/imports/"

// request is the data of a request's page.
type request struct {
	campaign.Approval
	Template campaign.Template // the fixed version
	Due      time.Time         // zero for immediately
	Until    time.Time
	Phone    preview.Phone // of the first message
	Own      bool          // the person has asked for it
	Blocked  string        // why it cannot be approved, in the reader's language
	Problems []string      // why dispatch refused it
	Asked    bool          // a refusal lacks its reason
	Unheard  string        // the reason of a refusal after the decision
}

// Open reports whether it waits for a decision, or for the rest of its messages.
func (r request) Open() bool {
	return r.State == campaign.ApprovalWaiting || r.State == campaign.ApprovalApproved
}

func (s *Pages) showApproval(p *web.Page) error {
	r, _, err := s.request(p)
	if err != nil {
		return err
	}
	if r.Import {
		return p.Redirect(importsPath + r.CampaignID)
	}
	return s.renderRequest(p, http.StatusOK, r)
}

func (s *Pages) renderRequest(p *web.Page, status int, r request) error {
	p.ShowMedia()
	return p.RenderStatus(status, "approval.one", "approval.html", r)
}

// request reads the request in the path with what it would send.
func (s *Pages) request(p *web.Page) (r request, pl plan, err error) {
	id, ok := campaign.ParseUUID(p.R.PathValue("campaignId"))
	if !ok {
		return r, pl, campaign.ErrNotFound
	}
	if r.Approval, err = s.Store.Approval(p.R.Context(), p.Session.Tenant, id); err != nil {
		return r, pl, err
	}
	r.Due, r.Until, r.Own = instant(r.Schedule), instant(r.NotAfter), r.By == p.Session.Email
	if r.Open() && !r.Import {
		pl, err = s.fixed(p, &r)
	}
	return r, pl, err
}

// fixed reads the file and the template of a request, and sets why it cannot be approved.
func (s *Pages) fixed(p *web.Page, r *request) (pl plan, err error) {
	file, err := s.Blobs.Get(p.R.Context(), r.Blob())
	if errors.Is(err, campaign.ErrNotFound) || err == nil && hashOf(file) != r.Hash {
		r.Blocked = p.T("approval.file_gone")
		return pl, nil
	}
	if err != nil {
		return pl, fmt.Errorf("read the file of a request for approval: %w", err)
	}
	if pl, err = s.plan(p, r.upload(file)); err != nil {
		return pl, err
	}
	r.Due = pl.due
	r.Template, err = s.template(p, r.TemplateID)
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		r.Blocked = p.T("refusal.template_not_found")
		return pl, nil
	case err != nil:
		return pl, err
	case r.Template.Version != r.TemplateVersion:
		r.Blocked = p.T("approval.template_changed", p.Number(r.TemplateVersion), p.Number(r.Template.Version))
	case !r.Due.IsZero() && pl.done == 0 && r.Due.Before(s.Now().Add(s.Lead)):
		r.Blocked = p.T("approval.late", p.When(r.Due))
	}
	pl.fit(p, r.Template)
	pl.version = r.TemplateVersion
	r.Phone, _ = messageOf(p, r.Template, pl.table, pl.row(0))
	return pl, nil
}

// upload returns what a request sends.
func (r request) upload(file []byte) upload {
	return upload{
		CampaignID: r.CampaignID, Name: r.Name, TemplateID: r.TemplateID, Schedule: r.Schedule, NotAfter: r.NotAfter, FileName: r.FileName,
		Draft: r.Draft, askedBy: r.By, file: file,
	}
}

// decide approves or refuses a request. Who asked for it cannot approve it. Of several
// decisions at once, one takes effect.
func (s *Pages) decide(p *web.Page) error {
	r, pl, err := s.request(p)
	if err != nil {
		return err
	}
	switch {
	case r.Import:
		return p.Redirect(importsPath + r.CampaignID)
	case !r.Open():
		return s.decidedBefore(p, r)
	case p.Field("hash") != r.Hash:
		return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	case p.Field("decision") == "refuse":
		return s.refuse(p, r)
	case p.Field("decision") != "approve":
		return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	case r.Own && r.State == campaign.ApprovalWaiting:
		return &web.Refusal{Status: http.StatusForbidden, Key: "approval.own"}
	case r.Blocked != "":
		return s.renderRequest(p, http.StatusConflict, r)
	}
	return s.approve(p, r, pl)
}

// maxReason is the maximum size in bytes of the reason of a refusal.
const maxReason = 1000

func (s *Pages) refuse(p *web.Page, r request) error {
	if r.State != campaign.ApprovalWaiting {
		return s.decidedBefore(p, r)
	}
	if r.Reason = web.Short(p.Field("reason"), maxReason); r.Reason == "" {
		r.Asked = true
		return s.renderRequest(p, http.StatusUnprocessableEntity, r)
	}
	if err := s.save(p, &r, campaign.ApprovalRefused, "approval.refuse"); err != nil {
		return err
	}
	return p.Done(pathOf(r.Approval), "approval.refused", r.Name)
}

// decidedBefore shows the decision of somebody else, or the same one of a repeated form.
func (s *Pages) decidedBefore(p *web.Page, r request) error {
	refused := r.State == campaign.ApprovalRefused
	if refuses := p.Field("decision") == "refuse"; refuses == refused && (!refuses || web.Short(p.Field("reason"), maxReason) == r.Reason) {
		return p.Redirect(pathOf(r.Approval))
	}
	r.Unheard = cmp.Or(web.Short(p.Field("reason"), maxReason), "–")
	return s.renderRequest(p, http.StatusConflict, r)
}

// approve fixes the decision, and sends. A repeated call continues.
func (s *Pages) approve(p *web.Page, r request, pl plan) error {
	if problems, err := s.problems(p, r, pl); err != nil || len(problems) > 0 {
		r.Problems = problems
		if err != nil {
			return err
		}
		return s.renderRequest(p, http.StatusConflict, r)
	}
	if r.State == campaign.ApprovalWaiting {
		if err := s.save(p, &r, campaign.ApprovalApproved, "approval.approve"); err != nil {
			return err
		}
	}
	if done, err := s.send(p, s.rest(r, pl), pl); err != nil || !done {
		if err != nil {
			return err
		}
		return p.Done(pathOf(r.Approval), "approval.not_all")
	}
	return s.sent(p, r)
}

// problems returns why dispatch would refuse the next part.
func (s *Pages) problems(p *web.Page, r request, pl plan) (why []string, err error) {
	if pl.misfit != "" {
		return []string{pl.misfit}, nil
	}
	if pl.done == len(pl.parts) {
		return nil, nil
	}
	v, err := s.Dispatch.Check(p.R.Context(), s.rest(r, pl).call(p, pl.table, pl.parts[pl.done]))
	if err != nil {
		return nil, err
	}
	var f findings
	s.add(&f, p, pl.table, pl.parts[pl.done], v)
	for _, line := range f.Lines {
		f.General = append(f.General, p.T("approval.line", p.Number(line.Line), line.Why))
	}
	return f.General, nil
}

// rest returns what is left to send. If its time has passed meanwhile, it goes at once.
func (s *Pages) rest(r request, pl plan) upload {
	u := r.upload(nil)
	if pl.done > 0 && r.Due.Before(s.Now().Add(s.Lead)) {
		u.Schedule = ""
	}
	return u
}

// save writes a decision. If another one was faster, the page shows that one.
func (s *Pages) save(p *web.Page, r *request, state campaign.ApprovalState, action string) error {
	was := r.State
	r.State, r.DecidedBy, r.DecidedAt = state, p.Session.Email, s.Now()
	if err := p.AuditOn(pathOf(r.Approval), action, r.Name); err != nil {
		return err
	}
	err := s.Store.SaveApproval(p.R.Context(), r.Approval, was)
	if errors.Is(err, campaign.ErrLostRace) {
		return &web.Refusal{Status: http.StatusConflict, Key: "approval.decided"}
	}
	return err
}

// sent ends a request whose messages are all accepted.
func (s *Pages) sent(p *web.Page, r request) error {
	was := r.State
	r.State = campaign.ApprovalSent
	if err := s.Store.SaveApproval(p.R.Context(), r.Approval, was); err != nil && !errors.Is(err, campaign.ErrLostRace) {
		return err
	}
	if err := s.Blobs.Delete(p.R.Context(), r.Blob()); err != nil {
		return err
	}
	if err := s.dropDraft(p, r.Draft, r.DraftVersion); err != nil {
		return err
	}
	path := web.Root + "/campaigns/" + r.CampaignID
	if !r.Due.IsZero() {
		return p.Done(path, "sending.scheduled", r.Name, p.When(r.Due))
	}
	return p.Done(path, "sending.started", r.Name)
}
