// Package apidocs serves the API documentation as pages: a first call in several
// languages, and every operation of the OpenAPI document.
package apidocs

import (
	"embed"
	"html/template"
	"net/http"
	"strings"
	"sync"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Root is the path of the documentation.
const Root = web.Root + "/docs"

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the documentation.
func Area() web.Area { return web.Area{Files: files} }

// Pages serves the documentation. It needs no sign-in.
type Pages struct {
	mu    sync.Mutex
	guide *guide // created by the first request
}

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Public(mux, "GET "+Root, s.start)
	ui.Public(mux, "GET "+Root+"/{page}", s.page)
}

// of returns the guide for the service at base.
func (s *Pages) of(base string) (*guide, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guide != nil && s.guide.Base == base {
		return s.guide, nil
	}
	made, err := newGuide(base)
	if err == nil {
		s.guide = made
	}
	return made, err
}

// view is the data of a documentation page.
type view struct {
	Guide     *guide
	Current   string // id of the page
	Operation *reference
	Samples   []Sample
	Sample    Sample
	Text      template.HTML
	Fields    []field
}

func (s *Pages) start(p *web.Page) error {
	g, err := s.of(p.Base)
	if err != nil {
		return err
	}
	samples := Samples(p.Base)
	v := view{Guide: g, Samples: samples, Sample: samples[0]}
	for _, sample := range samples {
		if sample.ID == p.Query("in") {
			v.Sample = sample
		}
	}
	return p.Render("docs.title", "docs_start.html", v)
}

func (s *Pages) page(p *web.Page) error {
	g, err := s.of(p.Base)
	if err != nil {
		return err
	}
	id := p.R.PathValue("page")
	v := view{Guide: g, Current: id}
	switch id {
	case "errors":
		v.Text, v.Fields = g.Errors, g.Problem
		return p.Render("docs.errors", "docs_text.html", v)
	case "states":
		v.Text = g.States
		return p.Render("docs.states", "docs_text.html", v)
	case "webhooks":
		return p.Render("docs.webhooks", "docs_webhooks.html", v)
	}
	v.Operation = g.operation(id)
	if v.Operation == nil {
		return campaign.ErrNotFound
	}
	return p.Render("docs.op."+id, "docs_operation.html", v)
}

// guide holds the documentation of the API at Base.
type guide struct {
	Base     string
	Groups   []group
	Webhooks []webhook
	Signed   []field // headers of a webhook
	Errors   template.HTML
	Problem  []field
	States   template.HTML
}

type group struct {
	Tag        string
	Operations []*reference
}

// reference documents an operation.
type reference struct {
	ID, Method, Path, Summary string
	Text                      template.HTML
	Token                     bool // requires an access token
	Parameters                []field
	Bodies                    []body
	Answers                   []answer
	Errors                    []refusal
}

// body documents a request or response body of one media type.
type body struct {
	Media    string
	Fields   []field
	Examples []shown
}

type shown struct{ Summary, JSON string }

type answer struct {
	Status  string
	Text    template.HTML
	Headers []field
	Bodies  []body
}

// refusal documents an error of a call.
type refusal struct{ Status, Code, Summary string }

type webhook struct {
	Kind    string
	Text    template.HTML
	Fields  []field
	Example string
}

func newGuide(base string) (*guide, error) {
	d, err := read(base)
	if err != nil {
		return nil, err
	}
	g := &guide{Base: base, Errors: prose(d.Info.Description), States: prose(d.Components.Schemas["MessageStatus"].Description)}
	g.Problem = d.fields(d.Components.Schemas["Problem"], 0)
	for _, t := range d.Tags {
		if operations := d.tagged(t.Name); len(operations) > 0 {
			g.Groups = append(g.Groups, group{t.Name, operations})
		}
	}
	for _, kind := range d.Webhooks {
		g.Webhooks = append(g.Webhooks, d.webhook(kind.Name, kind.Value["post"]))
	}
	for _, name := range []string{"WebhookId", "WebhookTimestamp", "WebhookSignature"} {
		g.Signed = append(g.Signed, d.parameters([]parameter{d.Components.Parameters[name]})...)
	}
	return g, nil
}

func (g *guide) operation(id string) *reference {
	for _, group := range g.Groups {
		for _, o := range group.Operations {
			if o.ID == id {
				return o
			}
		}
	}
	return nil
}

// tagged returns the operations of a tag.
func (d *document) tagged(name string) (all []*reference) {
	for _, path := range d.Paths {
		for _, o := range path.Value {
			if o.Value.Tags[0] == name {
				all = append(all, d.reference(path.Name, o.Name, o.Value))
			}
		}
	}
	return all
}

func (d *document) reference(path, method string, o *operation) *reference {
	r := &reference{
		ID: o.ID, Method: strings.ToUpper(method), Path: path, Summary: o.Summary, Text: prose(o.Description),
		Parameters: d.parameters(o.Parameters), Bodies: d.bodies(o.RequestBody.Content),
	}
	for _, s := range o.Security {
		_, bearer := s["bearer"]
		_, oauth := s["oauth2"]
		r.Token = r.Token || bearer || oauth
	}
	for _, a := range o.Responses {
		if a.Name < "4" {
			r.Answers = append(r.Answers, d.answer(a.Name, a.Value))
		} else {
			r.Errors = append(r.Errors, refusals(a.Name, a.Value)...)
		}
	}
	return r
}

func (d *document) answer(status string, r response) answer {
	a := answer{Status: status, Text: prose(r.Description), Bodies: d.bodies(r.Content)}
	for _, h := range r.Headers {
		header := h.Value
		if header.Ref != "" {
			header = d.Components.Headers[last(header.Ref)]
		}
		header.Name = h.Name
		a.Headers = append(a.Headers, d.parameters([]parameter{header})...)
	}
	return a
}

func (d *document) bodies(all ordered[content]) (bodies []body) {
	for _, c := range all {
		b := body{Media: c.Name, Fields: d.fields(c.Value.Schema, 0)}
		for _, e := range c.Value.Examples {
			b.Examples = append(b.Examples, shown{e.Value.Summary, pretty(e.Value.Value)})
		}
		bodies = append(bodies, b)
	}
	return bodies
}

func refusals(status string, r response) (all []refusal) {
	for _, c := range r.Content {
		for _, e := range c.Value.Examples {
			all = append(all, refusal{status, e.Name, e.Value.Summary})
		}
	}
	return all
}

func (d *document) webhook(kind string, o operation) webhook {
	w := webhook{Kind: kind, Text: prose(o.Description)}
	for _, c := range o.RequestBody.Content {
		w.Fields = d.fields(c.Value.Schema, 0)
		for _, e := range c.Value.Examples {
			w.Example = pretty(e.Value.Value)
		}
	}
	return w
}
