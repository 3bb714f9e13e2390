package campaignupload

import (
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Start keeps a campaign for a day and returns the path of its form.
func (s *Pages) Start(p *web.Page, c web.Prefilled) (path string, err error) {
	id, err := s.keep(p, upload{TemplateID: c.TemplateID, FileName: c.FileName, Object: c.Object, file: c.File})
	return Path + "?from=" + id, err
}

// copyOf returns the name and the template of a campaign, without its recipients.
func (s *Pages) copyOf(p *web.Page, id string) (upload, error) {
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return upload{}, campaign.ErrNotFound
	}
	c, err := s.Store.Dispatched(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: id})
	if err != nil {
		return upload{}, err
	}
	u := upload{Name: p.T("sending.copy_of", c.Name)}
	if len(c.Batches) > 0 {
		u.TemplateID = c.Batches[0].TemplateID
	}
	return u, nil
}
