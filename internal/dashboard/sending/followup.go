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

func (s *Pages) askAudience(p *web.Page) error {
	q, err := s.question(p)
	if err != nil {
		return err
	}
	return p.Render("followup.title", "followup.html", q)
}

// question reads the campaign in the path. The first audience with people is chosen.
func (s *Pages) question(p *web.Page) (question, error) {
	c, err := web.OfCampaign(p, p.R.PathValue("campaignId"), s.Store.Overview)
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

func audiencesOf(c campaign.Campaign) []audience {
	n := map[export.Audience]int{export.AudienceMissed: c.Submission.NeverAccepted()}
	for _, b := range c.Batches {
		counts := b.Head.DayCounts()
		n[export.AudienceUnread] += counts.Delivered - counts.Read
		n[export.AudienceMissed] += counts.Failed + counts.NotSent - b.Head.OptedOut()
		n[export.AudienceTapped] += max(b.Head.Tapped, b.Head.Clicked)
	}
	var all []audience
	for _, key := range export.Audiences() {
		all = append(all, audience{key, n[key]})
	}
	return all
}

func (s *Pages) chooseAudience(p *web.Page) error {
	q, err := s.question(p)
	if err != nil {
		return err
	}
	exportID, ok := campaign.ParseUUID(p.Field("once"))
	q.Chosen = export.Audience(p.Field("audience"))
	if !ok || !slices.Contains(export.Audiences(), q.Chosen) {
		return web.BadForm()
	}
	to := followUpPath(q.Campaign) + "/" + exportID
	if _, err := s.Store.Find(p.R.Context(), q.ID, exportID); err == nil { // the form was sent twice
		return p.Redirect(to)
	}
	if err := p.AuditOn(web.CampaignPath(q.CampaignID), "campaign.audience", q.Name, "followup."+string(q.Chosen)); err != nil {
		return err
	}
	_, err = s.Store.CreateRecipients(p.R.Context(), q.ID, exportID, q.Chosen)
	if q.Refusal = p.Problem("followup.problem.", err); q.Refusal != nil {
		return p.RenderStatus(q.Refusal.Status, "followup.title", "followup.html", q)
	}
	if err != nil {
		return err
	}
	return p.Redirect(to)
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

func (s *Pages) listProgress(p *web.Page) error {
	l, err := s.audienceList(p, p.R.PathValue("campaignId"), p.R.PathValue("exportId"))
	if err != nil {
		return err
	}
	if !l.Closed() {
		p.Refresh = refreshSeconds
	}
	if p.Partial() {
		return p.Fragment("followup_list.html", l)
	}
	return p.Render("followup.title", "followup_progress.html", l)
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

// followUp opens the form of the new campaign with the list as its file.
func (s *Pages) followUp(p *web.Page) error {
	l, err := s.audienceList(p, p.R.PathValue("campaignId"), p.R.PathValue("exportId"))
	if err != nil {
		return err
	}
	if !l.Ready() {
		return p.Redirect(l.Self())
	}
	form := url.Values{"list": {l.Campaign.CampaignID + "/" + l.ExportID}}
	if template := templateOf(l.Campaign); template != "" {
		form.Set("template", template)
	}
	return p.Redirect(Path + "?" + form.Encode())
}
