// Package campaigns shows the progress of a tenant's campaigns. Admins can cancel, pause,
// resume and reschedule them.
package campaigns

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/optout"
)

// Store reads campaigns, their replies, and templates of any tenant.
type Store interface {
	recent.Store
	recent.ReadStore
	web.CampaignStore
	// Campaign returns a campaign with its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Dispatched returns a campaign without its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Template returns the current version. The error wraps campaign.ErrNotFound if there is no such template.
	Template(ctx context.Context, id string) (campaign.Template, error)
	// Replies returns up to limit replies between two times, newest first.
	Replies(ctx context.Context, tenant string, from, to time.Time, limit int) ([]reaction.Reply, error)
	// Lists returns the lists of a tenant, deleted ones included, ordered by name.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
	// KeepOptOutCount adds the number of opt-outs of r to stored results.
	KeepOptOutCount(ctx context.Context, id campaign.ID, r insight.Results) error
	// Billing returns the prices and limits of a tenant, zero for none.
	Billing(ctx context.Context, tenant string) (campaign.Billing, error)
}

// Waves reads the files of campaigns that go in waves, and opens their waves.
type Waves interface {
	// Submission returns the submission of a campaign. The error wraps campaign.ErrNotFound if it was deleted.
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	// Decide takes a step, and returns the submission as it is then. If it takes none, the error is one of package intake.
	Decide(ctx context.Context, step intake.Step) (submission.Submission, error)
	// ResultsFrom returns when the results of the last opened wave have had their time.
	ResultsFrom(ctx context.Context, sub submission.Submission) (time.Time, error)
}

// Pages are the pages of campaigns.
type Pages struct {
	Store    Store
	Messages *query.Service
	Controls *control.Service
	OptOuts  *optout.Book
	Waves    Waves
	Now      func() time.Time

	large     cache.Cache[campaign.ID, campaign.Campaign] // overviews of campaigns with many batches
	templates cache.Cache[campaign.VersionKey, campaign.Template]
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of campaigns.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"campaigns", "audit"}} }

// Path is the path of the list of campaigns, and the prefix of a campaign's page.
const Path = web.Root + "/campaigns"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	const one = Path + "/{campaignId}"
	begun := web.CampaignInPath(s.begun)
	ui.Get(mux, Path, web.RoleViewer, s.list)
	ui.Get(mux, Path+"/rows", web.RoleViewer, web.With(s.updated, showRows))
	ui.Get(mux, one, web.RoleViewer, web.With(s.shown, s.show))
	ui.Get(mux, one+"/row", web.RoleViewer, web.With(web.CampaignInPath(s.current), showRow))
	ui.Get(mux, one+"/messages", web.RoleViewer, s.messages)
	ui.Post(mux, one+"/messages", web.RoleViewer, s.findMessages) // POST: access logs contain URLs, but no phone number
	ui.Get(mux, one+"/optouts", web.RoleViewer, web.With(s.shown, s.optOuts))
	ui.Get(mux, one+"/replies", web.RoleViewer, web.With(s.shown, s.replies))
	ui.Get(mux, one+"/waves", web.RoleViewer, web.With(s.shown, s.waveReactions))
	ui.Post(mux, one+"/waves", web.RoleAuthor, web.With(s.shown, s.openWave))
	ui.Get(mux, one+"/waves/stop", web.RoleAuthor, web.With(s.shown, s.askStop))
	ui.Get(mux, one+"/compared", web.RoleViewer, web.With(s.shown, s.compared))
	ui.Get(mux, one+"/cancel", web.RoleAuthor, web.With(begun, s.askCancel))
	ui.Post(mux, one+"/cancel", web.RoleAuthor, web.With(begun, s.cancel))
	ui.Get(mux, one+"/pause", web.RoleAuthor, web.With(s.pausable, s.askPause))
	ui.Post(mux, one+"/pause", web.RoleAuthor, web.With(s.pausable, s.pause))
	ui.Get(mux, one+"/resume", web.RoleAuthor, web.With(begun, s.askResume))
	ui.Post(mux, one+"/resume", web.RoleAuthor, web.With(begun, s.resume))
	ui.Get(mux, one+"/reschedule", web.RoleAuthor, web.With(s.timed, s.askReschedule))
	ui.Post(mux, one+"/reschedule", web.RoleAuthor, web.With(s.timed, s.reschedule))
}

// begun returns the overview of a campaign, also before the first part of its file is accepted.
func (s *Pages) begun(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	c, err := s.Store.Overview(ctx, id)
	if !errors.Is(err, campaign.ErrNotFound) {
		return c, err
	}
	c, err = s.Controls.Unsent(ctx, id)
	if _, absent := errors.AsType[*httpapi.Problem](err); absent {
		return c, campaign.ErrNotFound
	}
	return c, err
}

const (
	// largeFrom is the number of batches from which an overview is kept for the parts of a page: it reads two rows per
	// batch. manyFrom is the number from which it is kept longer, and for pages too.
	largeFrom, manyFrom = 2, 50
	largeFor, manyFor   = 3 * time.Second, 10 * time.Second
	maxLarge            = 20 // overviews, of at most a megabyte each
)

// overview returns the overview of a campaign for a page. It is up to manyFor old if the campaign has many batches.
func (s *Pages) overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	if c, ok := s.large.Peek(id, s.Now(), manyFor); ok && len(c.Batches) >= manyFrom {
		return c, nil
	}
	c, err := s.Store.Overview(ctx, id)
	if err == nil && len(c.Batches) >= largeFrom {
		s.large.Put(id, c, s.Now(), maxLarge)
	}
	return c, err
}

// recent returns the overview of a campaign for a part of a page. It can be up to largeFor old.
func (s *Pages) recent(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	if c, ok := s.large.Peek(id, s.Now(), largeFor); ok {
		return c, nil
	}
	return s.overview(ctx, id)
}

// shown returns the overview of the campaign in the path.
func (s *Pages) shown(p *web.Page) (campaign.Campaign, error) {
	if p.Partial() {
		return web.CampaignInPath(s.recent)(p)
	}
	return web.CampaignInPath(s.overview)(p)
}

func pathOf(c campaign.Campaign) string { return web.CampaignPath(c.CampaignID) }

// refusalOf returns the text of a problem that the reader can resolve.
func refusalOf(p *web.Page, err error) (*web.Refusal, bool) {
	problem, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || problem.Status >= http.StatusInternalServerError {
		return nil, false
	}
	if refusal := p.Problem("campaigns.problem.", err); refusal != nil {
		return refusal, true
	}
	return &web.Refusal{Status: problem.Status, Key: "ui.problem", Args: []any{problem.Detail}}, true
}

func refused(p *web.Page, err error) error {
	if refusal, ok := refusalOf(p, err); ok {
		return refusal
	}
	return err
}
