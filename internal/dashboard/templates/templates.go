// Package templates lets people write the templates of their messages, preview them,
// and send a test message.
package templates

import (
	"cmp"
	"context"
	"embed"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/media/mediafile"
)

// Store reads and saves templates.
type Store interface {
	// Templates returns a tenant's templates. Of their contents, only the form and the thumbnail are read.
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	// Template returns the current version. The error wraps campaign.ErrNotFound if there is no such template.
	Template(ctx context.Context, id string) (campaign.Template, error)
	// TemplateVersionsFrom returns up to limit versions, newest first, from the version newest.
	TemplateVersionsFrom(ctx context.Context, id string, newest, limit int) ([]campaign.Template, error)
	// TemplateVersion returns a version, which never changes. The error wraps campaign.ErrNotFound if there is none.
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
	// CreateTemplate returns the first version of a template that exists. full reports that
	// the tenant already has as many as most templates.
	CreateTemplate(ctx context.Context, t campaign.Template, most int, e account.AuditEntry) (first campaign.Template, full bool, err error)
	// AddTemplateVersion writes a version after the current one. The error wraps
	// campaign.ErrLostRace if the current version is another than the one before.
	AddTemplateVersion(ctx context.Context, t campaign.Template, e account.AuditEntry) (campaign.Template, error)
	// MediaFiles returns the files of a tenant, ordered by hash.
	MediaFiles(ctx context.Context, tenant string) ([]mediafile.File, error)
	// ArchiveTemplate marks a template as archived. It can be repeated.
	ArchiveTemplate(ctx context.Context, tenant, id string) error
	// RestoreTemplate removes the mark. It can be repeated.
	RestoreTemplate(ctx context.Context, tenant, id string) error
	// TemplateArchived reports whether a template is archived.
	TemplateArchived(ctx context.Context, tenant, id string) (bool, error)
	// ArchivedTemplates returns the IDs of the archived templates.
	ArchivedTemplates(ctx context.Context, tenant string) (map[string]bool, error)
	// TestNumbers returns the saved numbers, of revision 0 for none. The error wraps campaign.ErrDamaged if they cannot be read.
	TestNumbers(ctx context.Context, tenant string) (account.TestNumbers, error)
	// SaveTestNumbers writes the entries of the audit log with the change. The error wraps campaign.ErrLostRace if
	// n.Revision is not the stored one.
	SaveTestNumbers(ctx context.Context, tenant string, n account.TestNumbers, audit ...account.AuditEntry) error
}

// Pages are the pages of templates.
type Pages struct {
	Store Store
	Media media.Checker
	// Upload returns an upload field, and allows the page to upload.
	Upload   func(p *web.Page) (web.Upload, error)
	Dispatch dispatch.Dispatcher
	Now      func() time.Time
	// LinkURL is the base URL of links that count clicks, "" if the stack has none.
	LinkURL  string
	MediaURL string // of uploaded files
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of templates.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"templates", "audit"}} }

// Path is the path of the templates.
const Path = web.Root + "/templates"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.list)
	ui.Get(mux, Path+"/new", web.RoleAuthor, s.blank)
	ui.Post(mux, Path, web.RoleAuthor, s.create)
	ui.Post(mux, Path+"/preview", web.RoleAuthor, s.preview)
	ui.Get(mux, Path+"/{id}", web.RoleViewer, web.With(s.own, s.show))
	ui.Get(mux, Path+"/{id}/versions/{version}", web.RoleViewer, web.With(s.own, s.showVersion))
	ui.Get(mux, Path+"/{id}/edit", web.RoleAuthor, web.With(s.own, s.edit))
	ui.Post(mux, Path+"/{id}", web.RoleAuthor, web.With(s.own, s.change))
	ui.Post(mux, Path+"/{id}/duplicate", web.RoleAuthor, web.With(s.own, s.duplicate))
	ui.Post(mux, Path+"/{id}/archive", web.RoleAuthor, web.With(s.own, s.archive))
	ui.Post(mux, Path+"/{id}/restore", web.RoleAuthor, web.With(s.own, s.restore))
	ui.Get(mux, numbersPath, web.RoleAuthor, s.numbers)
	ui.Post(mux, numbersPath, web.RoleAuthor, s.saveNumber)
	ui.Post(mux, numbersPath+"/delete", web.RoleAuthor, s.deleteNumber)
	ui.Post(mux, Path+"/{id}/test", web.RoleAuthor, web.With(s.own, s.test))
	ui.Post(mux, Path+"/{id}/preview", web.RoleAuthor, web.With(s.own, s.previewTest))
}

type page struct {
	Now      campaign.Template
	Form     string // text, card, carousel or file
	Archived bool
	Once     string // of the form that duplicates the template
	variables
	Sample   sample
	Versions web.ListPage[version]
	Test     testForm
}

func (s *Pages) show(p *web.Page, t campaign.Template) error {
	return s.render(p, http.StatusOK, t, testForm{})
}

func (s *Pages) render(p *web.Page, status int, t campaign.Template, test testForm) error {
	archived, err := s.Store.TemplateArchived(p.R.Context(), t.Tenant, t.ID)
	if err != nil {
		return err
	}
	view := page{Now: t, Archived: archived, Once: web.FormToken(), Form: formOf(t.Content), variables: variablesOf(t), Test: test}
	view.Sample = sampleOf(p, t, test)
	view.Test.fill(t.Variables())
	if p.Author() {
		if err := s.offerNumbers(p, &view.Test); err != nil {
			return err
		}
	}
	view.Test.Once = web.FormToken()
	if p.Partial() {
		return p.Fragment("template_test.html", view)
	}
	if view.Versions, err = s.versions(p, t); err != nil {
		return err
	}
	p.ShowMedia()
	if p.Title = web.Short(t.Name, nameWeight); archived {
		p.Title += " – " + p.T("templates.archived")
	}
	return p.RenderStatus(status, "", "template.html", view)
}

func (s *Pages) own(p *web.Page) (campaign.Template, error) {
	return web.OwnTemplate(p, p.R.PathValue("id"), s.Store.Template)
}

// pageLength is the number of templates per page. nameWeight is the maximum size in
// bytes of a name in the list.
const (
	pageLength = 25
	nameWeight = 250
)

type listPage struct {
	web.ListPage[campaign.Template]
	Query      string
	Archived   bool // the list shows the archived templates
	InArchive  int  // number of archived templates
	Searchable bool // there is something to search
}

func (s *Pages) list(p *web.Page) error {
	l := listPage{Query: strings.TrimSpace(p.Query("q")), Archived: p.Query("archived") != ""}
	all, err := s.Store.Templates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	archived, err := s.Store.ArchivedTemplates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	shown := l.matching(all, archived)
	l.Searchable = l.Query != "" || len(shown) > 1
	if l.ListPage, err = web.ListPageOf(p, shown, pageLength); err != nil {
		return err
	}
	for i := range l.Items {
		l.Items[i].Name = web.Short(l.Items[i].Name, nameWeight)
	}
	p.ShowMedia()
	return p.Render(l.Title(), "templates.html", l)
}

func (l listPage) Title() string {
	if l.Archived {
		return "templates.archived_title"
	}
	return "templates.title"
}

// matching counts the archived templates, and returns those of the list in the order of their names.
func (l *listPage) matching(all []campaign.Template, archived map[string]bool) (shown []campaign.Template) {
	for _, t := range all {
		if archived[t.ID] {
			l.InArchive++
		}
		if archived[t.ID] == l.Archived && strings.Contains(sheet.Fold(t.Name), sheet.Fold(l.Query)) {
			shown = append(shown, t)
		}
	}
	slices.SortStableFunc(shown, func(a, b campaign.Template) int {
		return cmp.Compare(sheet.Fold(a.Name), sheet.Fold(b.Name))
	})
	return shown
}
