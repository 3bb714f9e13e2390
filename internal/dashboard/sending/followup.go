package sending

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
)

type question struct {
	campaign.Campaign
	Audiences []audience
	Chosen    export.Audience
	Once      string // the ID of the export
	Refusal   *web.Refusal
}

type audience struct {
	Key export.Audience
	N   int
}

func (q question) People() (n int) {
	for _, a := range q.Audiences {
		n += a.N
	}
	return n
}

func askAudience(p *web.Page, q question) error {
	return p.Render("followup.title", "followup.html", q)
}

// question reads the campaign in the path. The first audience with people is chosen.
func (s *Pages) question(p *web.Page) (question, error) {
	c, err := web.CampaignInPath(s.Store.Overview)(p)
	if err != nil {
		return question{}, err
	}
	q := question{Campaign: c, Once: random.UUID(), Audiences: audiencesOf(c)}
	for _, a := range q.Audiences {
		if a.N > 0 && q.Chosen == "" {
			q.Chosen = a.Key
		}
	}
	return q, nil
}

func audiencesOf(c campaign.Campaign) (all []audience) {
	for _, key := range export.Audiences() {
		all = append(all, audience{key, key.People(c)})
	}
	return all
}

func (s *Pages) chooseAudience(p *web.Page, q question) error {
	exportID, ok := campaign.ParseUUID(p.Field("once"))
	q.Chosen = export.Audience(p.Field("audience"))
	if !ok || !slices.Contains(export.Audiences(), q.Chosen) {
		return web.BadForm()
	}
	if made, err := s.Store.Find(p.R.Context(), q.ID, exportID); err == nil { // the form was sent twice
		if made.Audience != q.Chosen {
			return web.BadForm()
		}
		return openList(p, audienceList{Campaign: q.Campaign, Export: made})
	}
	if err := p.AuditOn(web.CampaignPath(q.CampaignID), "campaign.audience", q.Name, "followup."+string(q.Chosen)); err != nil {
		return err
	}
	made, err := s.Store.CreateRecipients(p.R.Context(), q.ID, exportID, q.Chosen)
	if q.Refusal = p.Problem("followup.problem.", err); q.Refusal != nil {
		return p.RenderStatus(q.Refusal.Status, "followup.title", "followup.html", q)
	}
	if err != nil {
		return err
	}
	return openList(p, audienceList{Campaign: q.Campaign, Export: made})
}

// openList leads to the form with a list, or to the page that waits for the list.
func openList(p *web.Page, l audienceList) error {
	if l.Ready() {
		return openForm(p, l)
	}
	return p.Redirect(l.Self())
}

func followUpPath(c campaign.Campaign) string {
	return web.CampaignPath(c.CampaignID) + "/follow-up"
}

type audienceList struct {
	export.Export
	Campaign campaign.Campaign
}

func (l audienceList) Ready() bool { return l.State == export.Completed && l.Lines > 0 }

func (l audienceList) Self() string { return followUpPath(l.Campaign) + "/" + l.ExportID }

// Form returns the path of the form of a new campaign with the list as its file.
func (l audienceList) Form() string {
	form := url.Values{"list": {l.Campaign.CampaignID + "/" + l.ExportID}}
	if template := templateOf(l.Campaign); template != "" {
		form.Set("template", template)
	}
	return Path + "?" + form.Encode()
}

// openForm leads to the form, which says how many people the list has.
func openForm(p *web.Page, l audienceList) error {
	return p.Done(l.Form(), p.KeyFor("followup.ready", l.Lines), p.Number(l.Lines))
}

// listProgress shows the progress of a list. A page that waits for it goes on to the form.
func listProgress(p *web.Page, l audienceList) error {
	if !l.Closed() {
		p.RefreshEvery(web.Often)
	}
	switch {
	case p.Partial() && l.Ready():
		return openForm(p, l)
	case p.Partial():
		return p.Fragment("followup_list.html", l)
	}
	return p.Render("followup.title", "followup_progress.html", l)
}

func (s *Pages) listInPath(p *web.Page) (audienceList, error) {
	return s.audienceList(p, p.R.PathValue("campaignId"), p.R.PathValue("exportId"))
}

// audienceList reads a list of recipients of a campaign.
func (s *Pages) audienceList(p *web.Page, campaignID, exportID string) (audienceList, error) {
	c, err := web.OfCampaign(p, campaignID, s.Store.Dispatched)
	if err != nil {
		return audienceList{}, err
	}
	e, err := s.Store.Find(p.R.Context(), c.ID, exportID)
	problem, refused := errors.AsType[*httpapi.Problem](err)
	if refused && problem.Status == http.StatusNotFound || err == nil && e.Kind != export.Recipients {
		return audienceList{}, campaign.ErrNotFound
	}
	return audienceList{Campaign: c, Export: e}, err
}
