package sending

import (
	"errors"
	"net/http"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/intake/submission"
)

// copyOf returns the name and the template of a campaign, without its recipients.
func (s *Pages) copyOf(p *web.Page, id string) (entry, error) {
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return entry{}, campaign.ErrNotFound
	}
	c, err := s.Store.Dispatched(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: id})
	if err != nil {
		return entry{}, err
	}
	e := entry{Name: p.T("sending.copy_of", c.Name)}
	if len(c.Batches) > 0 {
		e.TemplateID = c.Batches[0].TemplateID
	}
	return e, nil
}

// formOf returns the form of a submission. One that somebody has decided about is the beginning of
// another campaign, without the file.
func (s *Pages) formOf(p *web.Page, id string) (f form, err error) {
	sub, err := s.find(p, id)
	if err != nil {
		return f, err
	}
	f.entry = entry{Name: sub.Name, TemplateID: sub.TemplateID, Schedule: sub.Schedule, NotAfter: sub.NotAfter}
	if !sub.Replaceable() {
		return f, nil
	}
	f.From, f.Version = sub.CampaignID, sub.Version
	if due := instant(sub.Schedule); sub.State == submission.StateDraft && !due.IsZero() && due.Before(s.Now()) {
		f.Notes = append(f.Notes, note{"schedule", p.T("sending.draft_late", p.When(due))})
	}
	kept, err := s.Intake.HasFile(p.R.Context(), sub)
	switch {
	case kept:
		f.FileName = sub.File.Name
	case err == nil && sub.HasFile(): // erased, because it had the number of a person
		f.Notes = append(f.Notes, note{"file", p.T("sending.draft_file_gone")})
	}
	return f, err
}

// recipients returns the object of a campaign's list of recipients, and a name for it.
func (s *Pages) recipients(p *web.Page, list string) (object, name string, err error) {
	e, err := s.export(p, list)
	if err != nil {
		return "", "", err
	}
	c, err := s.Store.Dispatched(p.R.Context(), e.ID)
	if err != nil {
		return "", "", err
	}
	return e.Blob(), web.Short(p.T("followup.file."+string(e.Audience), c.Name), nameWeight), nil
}

// export returns the list of recipients with the path campaign/export.
func (s *Pages) export(p *web.Page, list string) (campaign.Export, error) {
	campaignID, exportID, _ := strings.Cut(list, "/")
	campaignID, ok := campaign.ParseUUID(campaignID)
	if !ok {
		return campaign.Export{}, campaign.ErrNotFound
	}
	e, err := s.Exports.Find(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: campaignID}, exportID)
	if problem, ok := errors.AsType[*httpapi.Problem](err); ok && problem.Status == http.StatusNotFound {
		return e, campaign.ErrNotFound
	}
	if err == nil && (e.Kind != campaign.ExportRecipients || e.State != campaign.ExportCompleted) {
		return e, campaign.ErrNotFound
	}
	return e, err
}
