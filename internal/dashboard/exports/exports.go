// Package exports shows the exports of a campaign: files of its results or of its rejected
// numbers. Authors start them.
package exports

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strconv"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/exports/export"
)

// Exports reads campaigns, and starts and lists their exports. A refused request returns a
// *httpapi.Problem.
type Exports interface {
	// Dispatched returns a campaign without its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Create returns the existing export if the ID is used.
	Create(ctx context.Context, id campaign.ID, exportID string, asked export.Request) (export.Export, error)
	// OfCampaign returns the exports of a campaign, newest first.
	OfCampaign(ctx context.Context, id campaign.ID) ([]export.Export, error)
}

// Pages are the pages of exports.
type Pages struct {
	Exports Exports
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of exports.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"exports", "audit"}} }

// Path is the path of a campaign's exports.
const Path = web.Root + "/campaigns/{campaignId}/exports"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, web.With(s.read, s.show))
	ui.Post(mux, Path, web.RoleAuthor, web.With(s.read, s.create))
}

// statuses are the statuses of messages and of people without one, in the order of the form.
var statuses = []string{
	string(campaign.OutcomeRead), string(campaign.OutcomeDelivered), string(campaign.OutcomeSent), campaign.MessagePending,
	string(campaign.OutcomeFailed), string(campaign.OutcomeExpired), string(campaign.OutcomeRevoked), string(campaign.OutcomeStopped),
	"not_accepted",
}

const shownExports = 20

type page struct {
	campaign.Campaign
	Messages, Rejected int
	Exports            []export.Export
	Running            int    // exports in progress
	News               string // what has changed since the last update, or ""

	// The form.
	Once     string // the ID of the next export
	Asked    export.Request
	Statuses []string
	Refusal  *web.Refusal
}

// Has reports whether a status is chosen in the form.
func (v page) Has(status string) bool { return slices.Contains(v.Asked.Statuses, status) }

func (*Pages) show(p *web.Page, v page) error {
	p.Title = v.title(p)
	if p.Partial() {
		v.News = v.announcement(p, p.Query("running"))
		return p.Fragment("exports_update.html", v)
	}
	if v.Running > 0 {
		p.RefreshEvery(web.Often)
	}
	return p.Render("exports.title", "exports.html", v)
}

// title returns the page's title, with the progress of the newest export that is not closed.
func (v page) title(p *web.Page) string {
	for _, e := range v.Exports {
		if !e.Closed() {
			return p.T("exports.title_running", strconv.Itoa(e.Percent())+"%", v.Name)
		}
	}
	return p.T("exports.title_of", v.Name)
}

// announcement returns what to announce if fewer exports are in progress than in the last update.
func (v page) announcement(p *web.Page, running string) string {
	before, err := strconv.Atoi(running)
	if err != nil || v.Running >= before {
		return ""
	}
	if v.Running > 0 {
		return p.Count("exports.still_running", v.Running)
	}
	return p.T(v.ended())
}

// ended returns the key of how the export ended that was closed last.
func (v page) ended() string {
	if len(v.Exports) == 0 { // it has expired
		return "exports.none"
	}
	last := slices.MaxFunc(v.Exports, func(a, b export.Export) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	if last.State == export.Completed {
		return "exports.ready"
	}
	return "exports.state." + string(last.State)
}

func (s *Pages) read(p *web.Page) (page, error) {
	c, err := web.CampaignInPath(s.Exports.Dispatched)(p)
	if err != nil {
		return page{}, err
	}
	v := page{Campaign: c, Once: random.UUID(), Statuses: statuses, Messages: c.Submission.NeverAccepted()}
	v.Asked.Kind, v.Asked.Format = export.Outcomes, export.Excel
	for _, b := range c.Batches {
		v.Messages += b.Accepted
		v.Rejected += b.Rejected
	}
	all, err := s.Exports.OfCampaign(p.R.Context(), c.ID)
	v.Exports = all[:min(len(all), shownExports)]
	for _, e := range v.Exports {
		if !e.Closed() {
			v.Running++
		}
	}
	return v, err
}

func (s *Pages) create(p *web.Page, v page) error {
	exportID, ok := campaign.ParseUUID(p.Field("once"))
	if !ok {
		return web.BadForm()
	}
	v.Asked, p.Title = asked(p), v.title(p)
	done := func() error { return p.Done(web.CampaignPath(v.CampaignID)+"/exports", "exports.started") }
	if slices.ContainsFunc(v.Exports, func(e export.Export) bool { return e.ExportID == exportID }) { // the form was sent twice
		return done()
	}
	if err := p.AuditOn(web.CampaignPath(v.CampaignID), "campaign.export", v.Name); err != nil {
		return err
	}
	_, err := s.Exports.Create(p.R.Context(), v.ID, exportID, v.Asked)
	if v.Refusal = p.Problem("exports.problem.", err); v.Refusal != nil {
		return p.RenderStatus(v.Refusal.Status, "exports.title", "exports.html", v)
	}
	if err != nil {
		return err
	}
	return done()
}

func asked(p *web.Page) export.Request {
	q := export.Request{
		Kind: export.Kind(p.Field("kind")), Format: export.Format(p.Field("format")), Language: p.Lang(),
	}
	if q.Kind != export.Rejected {
		q.Statuses = slices.Clone(p.R.PostForm["status"])
	}
	return q
}
