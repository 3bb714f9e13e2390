// Package campaigns shows people what became of their tenant's campaigns, and
// lets admins cancel them and give batches another time.
package campaigns

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"time"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
)

// Store reads campaigns.
type Store interface {
	// ListCampaigns returns a tenant's campaigns after a cursor, the newest first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// Standings tells how far campaigns are, 50 at most.
	Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error)
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Dispatched is Campaign without its outcomes.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Overview is Campaign without what only reading the messages takes.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Template returns the current version of a template, whoever's it is.
	Template(ctx context.Context, id string) (campaign.Template, error)
}

// Messages finds messages of a campaign; the error of what cannot be looked for is
// a *httpapi.Problem.
type Messages interface {
	Find(ctx context.Context, c campaign.Campaign, asked campaign.Search) (campaign.Found, error)
}

// Controls cancels campaigns and moves batches; the error of what is refused is a
// *httpapi.Problem. What it may do is asked first, so that the audit log tells of
// no deed that was refused.
type Controls interface {
	MayCancel(c campaign.Campaign) error
	// MayReschedule returns the batch with the time that it would have.
	MayReschedule(c campaign.Campaign, batch, schedule string) (campaign.Batch, error)
	Cancel(ctx context.Context, id campaign.ID, revoke bool) (revokes bool, err error)
	Reschedule(ctx context.Context, id campaign.ID, batch, schedule string) (campaign.Batch, error)
}

// Pages are the pages of campaigns.
type Pages struct {
	Store    Store
	Messages Messages
	Controls Controls
	Now      func() time.Time

	large cache.Cache[campaign.ID, campaign.Campaign] // overviews of campaigns of many batches
}

//go:embed *.html texts.json
var files embed.FS

// Area is this part of the dashboard.
func Area() web.Area { return web.Area{Files: files} }

// Path is where the list of campaigns is; a campaign's page lies below it.
const Path = web.Root + "/campaigns"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	const one = Path + "/{campaignId}"
	ui.View(mux, Path, s.list)
	ui.View(mux, one, s.show)
	ui.View(mux, one+"/messages", s.messages)
	ui.AdminView(mux, one+"/cancel", s.askCancel)
	ui.Change(mux, one+"/cancel", s.cancel)
	ui.AdminView(mux, one+"/reschedule", s.askReschedule)
	ui.Change(mux, one+"/reschedule", s.reschedule)
}

// campaign reads an overview of the campaign that the path names.
func (s *Pages) campaign(p *web.Page) (campaign.Campaign, error) { return of(p, s.Store.Overview) }

const (
	// largeFrom is the number of batches from which on an overview, which reads two
	// rows of each, is not read anew for every look at it.
	largeFrom = 50
	// largeFor is how long such an overview is shown.
	largeFor = 10 * time.Second
	// maxLarge is how many of them are kept, of a megabyte at most each.
	maxLarge = 20
)

// overview is the store's overview of a campaign, some seconds old where the
// campaign is large.
func (s *Pages) overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	if c, ok := s.large.Peek(id, s.Now(), largeFor); ok {
		return c, nil
	}
	c, err := s.Store.Overview(ctx, id)
	if err == nil && len(c.Batches) >= largeFrom {
		s.large.Put(id, c, s.Now(), maxLarge)
	}
	return c, err
}

// of reads the campaign of the person's tenant that the path names.
func of(p *web.Page, read func(context.Context, campaign.ID) (campaign.Campaign, error)) (campaign.Campaign, error) {
	id, ok := campaign.ParseCampaignID(p.R.PathValue("campaignId"))
	if !ok {
		return campaign.Campaign{}, campaign.ErrNotFound
	}
	return read(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: id})
}

func pathOf(c campaign.Campaign) string { return Path + "/" + c.CampaignID }

// refusalOf returns a problem that people can act on, in words of their own.
func refusalOf(p *web.Page, err error) (*web.Refusal, bool) {
	problem, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || problem.Status >= http.StatusInternalServerError {
		return nil, false
	}
	if key := "campaigns.problem." + problem.Code; p.Has(key) {
		return &web.Refusal{Status: problem.Status, Key: key}, true
	}
	return &web.Refusal{Status: problem.Status, Key: "ui.problem", Args: []any{problem.Detail}}, true
}

// refused returns the error that the ui shows for a problem.
func refused(p *web.Page, err error) error {
	if refusal, ok := refusalOf(p, err); ok {
		return refusal
	}
	return err
}
