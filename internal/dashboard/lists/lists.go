// Package lists shows the lists of numbers that get no messages. Admins create, change, export and
// delete them.
//
// Phone numbers are sent in the bodies of forms only, because access logs contain URLs.
package lists

import (
	"context"
	"embed"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/listfile"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
)

// Campaigns reads campaigns.
type Campaigns interface {
	// ListCampaigns returns up to limit campaigns, newest first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// Overview returns a campaign with its outcomes but no contents. The error wraps campaign.ErrNotFound if there is none.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
}

// Pages are the pages of the lists.
type Pages struct {
	Book      *book.Book
	Files     *listfile.Store
	Campaigns Campaigns
	// Origin returns the origin to which browsers send the chunks of a file.
	Origin func(ctx context.Context) (string, error)
	Now    func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the lists.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"lists", "audit"}} }

// Path is the path of the first page.
const Path = web.Root + "/lists"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.all)
	ui.Post(mux, Path, web.RoleAdmin, s.create)
	ui.Get(mux, Path+"/{name}", web.RoleViewer, web.With(s.find, s.show))
	ui.Post(mux, Path+"/{name}/settings", web.RoleAdmin, web.With(s.find, s.save))
	ui.Get(mux, Path+"/{name}/held", web.RoleViewer, web.With(s.find, s.showWithheld))
	ui.Post(mux, Path+"/{name}/numbers", web.RoleAdmin, web.With(s.find, s.take))
	ui.Post(mux, Path+"/{name}/uploads", web.RoleAdmin, web.With(s.find, func(p *web.Page, l lists.List) error { return s.uploads(l).Start(p) }))
	ui.Post(mux, Path+"/{name}/uploads/chunk", web.RoleAdmin, web.With(s.find, func(p *web.Page, l lists.List) error { return s.uploads(l).Chunk(p) }))
	ui.Post(mux, Path+"/{name}/uploads/finish", web.RoleAdmin, web.With(s.find, func(p *web.Page, l lists.List) error { return s.uploads(l).Finish(p) }))
	ui.Get(mux, Path+"/{name}/files/{file}", web.RoleAdmin, web.With(s.find, s.review))
	ui.Post(mux, Path+"/{name}/files/{file}", web.RoleAdmin, web.With(s.find, s.apply))
	ui.Post(mux, Path+"/{name}/files/{file}/reading", web.RoleAdmin, web.With(s.find, s.review))
	ui.Get(mux, Path+"/{name}/files/{file}/refused", web.RoleAdmin, web.With(s.find, s.refused))
	ui.Post(mux, Path+"/{name}/search", web.RoleViewer, web.With(s.find, s.search))
	ui.Post(mux, Path+"/{name}/export", web.RoleAdmin, web.With(s.find, s.export)) // POST: it writes the audit log
	ui.Post(mux, Path+"/{name}/delete", web.RoleAdmin, web.With(s.find, s.delete))
	// The link to the other language leads to the path of a form.
	ui.Get(mux, Path+"/{name}/settings", web.RoleViewer, web.With(s.find, toList))
	ui.Get(mux, Path+"/{name}/numbers", web.RoleViewer, web.With(s.find, toList))
	ui.Get(mux, Path+"/{name}/files/{file}/reading", web.RoleViewer, web.With(s.find, toFile))
	ui.Get(mux, Path+"/{name}/search", web.RoleViewer, web.With(s.find, toList))
	ui.Get(mux, Path+"/{name}/export", web.RoleViewer, web.With(s.find, toList))
	ui.Get(mux, Path+"/{name}/delete", web.RoleViewer, web.With(s.find, toList))
}

func toList(p *web.Page, l lists.List) error { return p.Redirect(pathOf(l)) }

func toFile(p *web.Page, l lists.List) error {
	return p.Redirect(filePath(l, p.R.PathValue("file")))
}

// find returns the list that the path names.
func (s *Pages) find(p *web.Page) (lists.List, error) {
	all, err := s.Book.Lists(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return lists.List{}, err
	}
	l, found := lists.Find(all, p.R.PathValue("name"))
	if !found || l.Deleted {
		return l, campaign.ErrNotFound
	}
	return l, nil
}

// row is a list of the first page.
type row struct {
	lists.List

	Count int
	Exact bool
}

func (s *Pages) row(l lists.List) row {
	r := row{List: l}
	r.Count, r.Exact = l.Count(s.Now())
	return r
}

type allPage struct {
	Lists []row
	Form  form
	Fault string // the key of a text
}

// WrongName reports whether the fault is that of the name.
func (v allPage) WrongName() bool {
	return v.Fault == nameFault || v.Fault == knownFault
}

const nameFault, knownFault = "lists.fault.name", "lists.fault.known"

func (s *Pages) all(p *web.Page) error { return s.showAll(p, http.StatusOK, allPage{}) }

func (s *Pages) showAll(p *web.Page, status int, v allPage) error {
	all, err := s.Book.Lists(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	for _, l := range lists.Live(all) {
		v.Lists = append(v.Lists, s.row(l))
	}
	return p.RenderStatus(status, "lists.title", "lists.html", v)
}

func (s *Pages) create(p *web.Page) error {
	f := readForm(p)
	settings, fault := f.settings(lists.Settings{}, s.Now())
	all, err := s.Book.Lists(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	l, found := lists.Find(all, f.Name)
	switch {
	case !lists.ValidName(f.Name):
		fault = nameFault
	case found && !l.Deleted:
		fault = knownFault
	}
	if fault == "" {
		c := lists.Change{Version: &l.Version, Settings: &settings}
		_, err = s.Book.Change(p.R.Context(), p.Session.Tenant, f.Name, c, p.AuditEntry(Path+"/"+f.Name, "list.put", f.Name))
		if fault = web.FaultOf("lists.fault.", err); err == nil {
			return p.Done(Path+"/"+f.Name, "lists.done.created")
		}
	}
	if fault == "" {
		return err
	}
	return s.showAll(p, http.StatusUnprocessableEntity, allPage{Form: f, Fault: fault})
}
