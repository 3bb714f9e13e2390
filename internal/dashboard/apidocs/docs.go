// Package apidocs serves the API documentation as pages: a first call in several
// languages, the guides, and every operation of the OpenAPI document.
package apidocs

import (
	"embed"
	"html/template"
	"net/http"
	"slices"
	"sync"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Root is the path of the documentation.
const Root = web.Root + "/docs"

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the documentation.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"docs"}} }

// Pages serves the documentation. It needs no sign-in.
type Pages struct {
	mu   sync.Mutex
	base string                    // of the documentation
	made map[string]*documentation // by language, created by the first request
}

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Public(mux, "GET "+Root, s.start)
	ui.Public(mux, "GET "+Root+"/{page}", s.page)
}

// documentation returns the documentation of the service at base in a language.
func (s *Pages) documentation(base, language string) (*documentation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base != base {
		s.base, s.made = base, map[string]*documentation{}
	}
	if d := s.made[language]; d != nil {
		return d, nil
	}
	d, err := newDocumentation(base, language, lookUp)
	if err == nil {
		s.made[language] = d
	}
	return d, err
}

type view struct {
	Docs      *documentation
	Current   string // id of the page
	Operation *reference
	Env       []string // environment variables of the sample
	Samples   []Sample
	Sample    Sample // the one that is shown
	Text      template.HTML
	Fields    []field
}

// Collapses reports whether the navigation shows only the first operation of a group: on
// the pages of other groups, for their weight.
func (v view) Collapses(g group) bool {
	return v.Operation != nil && len(g.Operations) > 1 && !slices.Contains(g.Operations, v.Operation)
}

func (s *Pages) start(p *web.Page) error {
	d, err := s.documentation(p.Base, p.Lang())
	if err != nil {
		return err
	}
	v := view{Docs: d}
	v.show(d.First, p.Query("in"))
	return p.Render("docs.title", "docs_start.html", v)
}

// show chooses the sample in a language, or the first one.
func (v *view) show(samples []Sample, language string) {
	v.Samples, v.Sample = samples, samples[0]
	for _, sample := range samples {
		if sample.ID == language {
			v.Sample = sample
		}
	}
}

func (s *Pages) page(p *web.Page) error {
	d, err := s.documentation(p.Base, p.Lang())
	if err != nil {
		return err
	}
	id := p.R.PathValue("page")
	v := view{Docs: d, Current: id}
	switch id {
	case "errors":
		v.Text, v.Fields = d.Errors, d.Problem
		return p.Render("docs.errors", "docs_text.html", v)
	case "states":
		v.Text = d.States
		return p.Render("docs.states", "docs_text.html", v)
	case "webhooks":
		return p.Render("docs.webhooks", "docs_webhooks.html", v)
	case "webhook-types":
		return p.Render("docs.webhook_types", "docs_webhook_types.html", v)
	}
	if g := d.Guide(id); g != nil {
		p.Title, v.Text = g.Title, g.Text
		return p.Render("", "docs_text.html", v)
	}
	return s.operation(p, v)
}

func (s *Pages) operation(p *web.Page, v view) error {
	v.Operation = v.Docs.operation(v.Current)
	if v.Operation == nil {
		return campaign.ErrNotFound
	}
	samples, err := v.Operation.samples(p.Base)
	if err != nil {
		return err
	}
	v.Env = v.Operation.env()
	v.show(samples, p.Query("in"))
	return p.Render("docs.op."+v.Current, "docs_operation.html", v)
}
