package sending

import (
	"errors"
	"net/http"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
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

// entryOf returns what was entered for a submission. The file of one that cannot be corrected is not
// used again.
func (s *Pages) entryOf(p *web.Page, id string) (entry, error) {
	sub, err := s.find(p, id)
	if err != nil {
		return entry{}, err
	}
	e := entry{Name: sub.Name, TemplateID: sub.TemplateID, Schedule: sub.Schedule, NotAfter: sub.NotAfter, Draft: sub.Draft, DraftVersion: sub.DraftVersion}
	if sub.Editable() {
		e.From, e.FileName = sub.CampaignID, sub.File.Name
	}
	return e, nil
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
