// Package followup starts a campaign for some recipients of an earlier one: those who did not
// read it, did not get it, or tapped it.
package followup

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/random"
)

// Store reads campaigns.
type Store interface {
	// Overview returns a campaign with the counts of its outcomes.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Dispatched returns a campaign without its outcomes.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
}

// Exports makes files of recipients. A refused request returns a *httpapi.Problem.
type Exports interface {
	// CreateRecipients returns the existing export if the ID is used.
	CreateRecipients(ctx context.Context, id campaign.ID, exportID string, who campaign.Audience) (campaign.Export, error)
	Find(ctx context.Context, id campaign.ID, exportID string) (campaign.Export, error)
}

// Pages are the pages of follow-up campaigns.
type Pages struct {
	Store   Store
	Exports Exports
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of follow-up campaigns.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"followup", "audit"}} }

// Path is the path of the question for whom a campaign's follow-up is.
const Path = web.Root + "/campaigns/{campaignId}/follow-up"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.AuthorView(mux, Path, s.ask)
	ui.AuthorChange(mux, Path, s.choose)
	ui.AuthorView(mux, Path+"/{exportId}", s.progress)
	ui.AuthorChange(mux, Path+"/{exportId}", s.begin)
}

// question is the data of the question.
type question struct {
	campaign.Campaign
	Audiences []audience
	Chosen    campaign.Audience
	Once      string // the ID of the export
	Refusal   *web.Refusal
}

// audience is a group of recipients, with the number of people in it at the moment.
type audience struct {
	Key campaign.Audience
	N   int
}

// People returns the number of people in all audiences.
func (q question) People() (n int) {
	for _, a := range q.Audiences {
		n += a.N
	}
	return n
}

func (s *Pages) ask(p *web.Page) error {
	q, err := s.question(p)
	if err != nil {
		return err
	}
	return p.Render("followup.title", "followup.html", q)
}

// question reads the campaign in the path. The first audience with people is chosen.
func (s *Pages) question(p *web.Page) (question, error) {
	c, err := of(p, s.Store.Overview)
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

// of reads the campaign in the path, which must be the tenant's.
func of(p *web.Page, read func(context.Context, campaign.ID) (campaign.Campaign, error)) (campaign.Campaign, error) {
	id, ok := campaign.ParseUUID(p.R.PathValue("campaignId"))
	if !ok {
		return campaign.Campaign{}, campaign.ErrNotFound
	}
	return read(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: id})
}

// audiencesOf counts the audiences of a campaign.
func audiencesOf(c campaign.Campaign) []audience {
	n := map[campaign.Audience]int{campaign.AudienceMissed: c.Submission.NeverAccepted()}
	for _, b := range c.Batches {
		counts := b.Head.Counts
		n[campaign.AudienceUnread] += counts[campaign.OutcomeDelivered]
		n[campaign.AudienceMissed] += counts[campaign.OutcomeFailed] + counts[campaign.OutcomeExpired] +
			counts[campaign.OutcomeRevoked] + counts[campaign.OutcomeStopped] -
			b.Head.Reasons[campaign.Reason{Outcome: campaign.OutcomeFailed, Code: campaign.CodeOptedOut}]
		n[campaign.AudienceTapped] += max(b.Head.Tapped, b.Head.Clicked)
	}
	var all []audience
	for _, key := range campaign.Audiences() {
		all = append(all, audience{key, n[key]})
	}
	return all
}

// choose starts the export of the chosen audience.
func (s *Pages) choose(p *web.Page) error {
	q, err := s.question(p)
	if err != nil {
		return err
	}
	exportID, ok := campaign.ParseUUID(p.Field("once"))
	q.Chosen = campaign.Audience(p.Field("audience"))
	if !ok || !slices.Contains(campaign.Audiences(), q.Chosen) {
		return &web.Refusal{Status: http.StatusBadRequest, Key: "ui.bad_form"}
	}
	to := pathOf(q.Campaign) + "/" + exportID
	if _, err := s.Exports.Find(p.R.Context(), q.ID, exportID); err == nil { // the form was sent twice
		return p.Redirect(to)
	}
	if err := p.AuditOn(web.Root+"/campaigns/"+q.CampaignID, "campaign.audience", q.Name, "followup."+string(q.Chosen)); err != nil {
		return err
	}
	_, err = s.Exports.CreateRecipients(p.R.Context(), q.ID, exportID, q.Chosen)
	if problem, ok := errors.AsType[*httpapi.Problem](err); ok && p.Has("followup.problem."+problem.Code) {
		q.Refusal = &web.Refusal{Status: problem.Status, Key: "followup.problem." + problem.Code}
		return p.RenderStatus(problem.Status, "followup.title", "followup.html", q)
	}
	if err != nil {
		return err
	}
	return p.Redirect(to)
}

func pathOf(c campaign.Campaign) string {
	return web.Root + "/campaigns/" + c.CampaignID + "/follow-up"
}

// list is the data of the page on the progress of an audience's list.
type list struct {
	campaign.Export
	Campaign campaign.Campaign
}

// Ready reports whether the new campaign can begin.
func (l list) Ready() bool { return l.State == campaign.ExportCompleted && l.Lines > 0 }

// Self returns the path of the page.
func (l list) Self() string { return pathOf(l.Campaign) + "/" + l.ExportID }

func (s *Pages) progress(p *web.Page) error {
	l, err := s.list(p)
	if err != nil {
		return err
	}
	if !l.Closed() {
		p.Refresh = 5
	}
	if p.Partial() {
		return p.Fragment("followup_list.html", l)
	}
	return p.Render("followup.title", "followup_progress.html", l)
}

func (s *Pages) list(p *web.Page) (list, error) {
	c, err := of(p, s.Store.Dispatched)
	if err != nil {
		return list{}, err
	}
	e, err := s.Exports.Find(p.R.Context(), c.ID, p.R.PathValue("exportId"))
	if problem, ok := errors.AsType[*httpapi.Problem](err); ok && problem.Status == http.StatusNotFound || err == nil && e.Kind != campaign.ExportRecipients {
		return list{}, campaign.ErrNotFound
	}
	return list{Campaign: c, Export: e}, err
}

// begin opens the form of the new campaign with the list as its file.
func (s *Pages) begin(p *web.Page) error {
	l, err := s.list(p)
	if err != nil {
		return err
	}
	if !l.Ready() {
		return p.Redirect(l.Self())
	}
	form := url.Values{"list": {l.Campaign.CampaignID + "/" + l.ExportID}}
	if len(l.Campaign.Batches) > 0 { // it was not cancelled before its first batch
		form.Set("template", l.Campaign.Batches[0].TemplateID)
	}
	return p.Redirect(web.Root + "/campaigns/new?" + form.Encode())
}
