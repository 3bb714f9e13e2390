// Package people shows the messages that a phone number got, and the numbers that opted
// out of a tenant's messages. Admins can add and remove opt-outs.
//
// Phone numbers are sent in the bodies of forms only, because access logs contain URLs.
package people

import (
	"context"
	"embed"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/listfile"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/optout"
)

// Store reads campaigns, and finds their messages with their outcomes.
type Store interface {
	reach.Store
	// ListCampaigns returns a tenant's campaigns after a cursor, newest first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// Dispatched returns a campaign without its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Changes returns up to limit changes after a sequence. The error wraps campaign.ErrExpired if the batch has expired.
	Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error)
	// RepliesOf returns what a phone number, given in any forms, wrote to a tenant, the newest first.
	RepliesOf(ctx context.Context, tenant string, phones []string) ([]reaction.Reply, error)
	// DoubtfulReplies returns the newest reply of each number that may be an opt-out, before the reply with an ID, up to limit.
	DoubtfulReplies(ctx context.Context, tenant, before string, limit int) ([]reaction.Reply, error)
	// DoubtfulReply returns that reply, or a newer one of its number. The error wraps campaign.ErrNotFound if it is settled.
	DoubtfulReply(ctx context.Context, tenant, id string) (reaction.Reply, error)
	// SettleReplies settles the doubtful replies of phone numbers until a time of each. A zero time is any.
	SettleReplies(ctx context.Context, tenant string, until map[string]time.Time) error
	// Lists returns the lists of numbers that get no messages, deleted ones included.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
	// Find returns a page of the messages of a campaign. An invalid search returns a *httpapi.Problem.
	Find(ctx context.Context, c campaign.Campaign, asked search.Query) (search.Page, error)
}

// Pages are the pages of people.
type Pages struct {
	Store   Store
	OptOuts *optout.Book
	Files   *listfile.Store // of imports
	Reach   reach.Lookup
	Shards  int // of the opt-outs of a tenant
	Now     func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of people.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"people", "audit"}} }

// Path is the path of the first page.
const Path = web.Root + "/people"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.show)
	ui.Post(mux, Path, web.RoleViewer, s.show) // a further page of opt-outs
	ui.Post(mux, Path+"/find", web.RoleViewer, s.find)
	ui.Get(mux, doubtsPath, web.RoleViewer, s.doubts)
	ui.Post(mux, doubtsPath, web.RoleAdmin, s.decide)
	ui.Post(mux, Path+"/opt-outs/add", web.RoleAdmin, s.add)
	ui.Post(mux, Path+"/opt-outs/import", web.RoleAdmin, s.upload)
	ui.Get(mux, filesPath+"/{file}", web.RoleAdmin, web.With(s.readImport, s.review))
	ui.Post(mux, filesPath+"/{file}", web.RoleAdmin, s.importNumbers)
	ui.Post(mux, filesPath+"/{file}/reading", web.RoleAdmin, web.With(s.readImport, s.review))
	ui.Get(mux, filesPath+"/{file}/refused", web.RoleAdmin, web.With(s.readImport, leftOut))
	ui.Post(mux, Path+"/opt-outs/export", web.RoleAdmin, web.With(s.exported, export)) // POST: it writes the audit log
	ui.Post(mux, Path+"/opt-outs/removal", web.RoleAdmin, s.confirm)
	ui.Post(mux, Path+"/opt-outs/remove", web.RoleAdmin, s.remove)
	// The link to the other language leads to the path of a form.
	ui.Get(mux, Path+"/find", web.RoleViewer, toList)
	ui.Get(mux, Path+"/opt-outs/add", web.RoleViewer, toList)
	ui.Get(mux, Path+"/opt-outs/import", web.RoleViewer, toList)
	ui.Get(mux, filesPath+"/{file}/reading", web.RoleAdmin, web.With(s.readImport, toFile))
	ui.Get(mux, Path+"/opt-outs/removal", web.RoleViewer, toList)
	ui.Get(mux, Path+"/opt-outs/remove", web.RoleViewer, toList)
}

func toList(p *web.Page) error { return p.Redirect(Path) }

const pageLength = 50

type listPage struct {
	Phone   string // as entered
	OptOuts []campaign.OptedOut
	Next    string
	Later   bool // there are earlier ones
	Count   int
	Exact   bool // Count includes all opt-outs
	Files   []int
	Faults  faults
}

// faults are the errors of the page's forms.
type faults struct {
	Find, Add, Import string // text keys
}

func (s *Pages) show(p *web.Page) error { return s.list(p, http.StatusOK, listPage{}) }

func (s *Pages) list(p *web.Page, status int, l listPage) (err error) {
	ctx, tenant, cursor := p.R.Context(), p.Session.Tenant, p.Field("cursor")
	if l.OptOuts, l.Next, err = s.OptOuts.List(ctx, tenant, cursor, pageLength); err != nil {
		return err
	}
	if l.Count, l.Exact, err = s.OptOuts.Count(ctx, tenant); err != nil {
		return err
	}
	l.Later, l.Files = cursor != "", s.exportFiles(l.Count, l.Exact)
	return p.RenderStatus(status, "people.title", "people.html", l)
}

// refused shows the page again with what was entered.
func (s *Pages) refused(p *web.Page, f faults) error {
	return s.list(p, http.StatusUnprocessableEntity, listPage{Phone: p.Field("phone"), Faults: f})
}
