package templates

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
)

// form is the data of the template form.
type form struct {
	campaign.Template
	Card        content.Card // also for a text template
	Kind        string       // text or card
	Suggestions [content.MaxCardSuggestions]suggestion
	variables
	Once    string
	Cut     bool // the preview is cut
	Phone   preview.Phone
	Counts  []count
	Notes   []string // errors
	Refused bool
}

// suggestion is the field of a suggested reply.
type suggestion struct {
	N    int // from 1
	Text string
}

// count is the length of a text, without its variables.
type count struct {
	Label      string
	Have, Most int
}

const (
	kindText = "text"
	kindCard = "card"
)

// formOf fills a form with a template.
func formOf(p *web.Page, t campaign.Template) form {
	f := form{Template: t, Kind: kindText}
	if t.Card != nil {
		f.Kind, f.Card = kindCard, *t.Card
	}
	for i := range f.Suggestions {
		f.Suggestions[i].N = i + 1
		if i < len(f.Card.Suggestions) {
			f.Suggestions[i].Text = f.Card.Suggestions[i].Text
		}
	}
	f.variables = variablesOf(t)
	f.Phone, f.Cut = web.Phone(p, t.Content, p.T("templates.preview"), phoneWeight)
	f.Counts = counts(p, t)
	for _, flaw := range t.Flaws() {
		f.Notes = append(f.Notes, describe(p, flaw))
	}
	return f
}

// read returns the entered template, of the selected kind.
func read(p *web.Page, id string) campaign.Template {
	t := campaign.Template{ID: id, Tenant: p.Session.Tenant, Name: p.Field("name")}
	if p.Field("kind") != kindCard {
		t.Text = text(p, "text")
		return t
	}
	t.Card = &content.Card{Title: text(p, "title"), Description: text(p, "description")}
	if address := p.Field("media"); address != "" {
		t.Card.Media = &content.Media{URL: address}
	}
	for _, s := range p.R.PostForm["suggestion"] {
		if s = strings.TrimSpace(s); s != "" && len(t.Card.Suggestions) < content.MaxCardSuggestions {
			t.Card.Suggestions = append(t.Card.Suggestions, content.Suggestion{Kind: content.Reply, Text: s})
		}
	}
	return t
}

// text returns a field with line ends normalised to \n.
func text(p *web.Page, name string) string { return strings.ReplaceAll(p.Field(name), "\r\n", "\n") }

func counts(p *web.Page, t campaign.Template) []count {
	bare := t.Render(make([]string, len(t.Variables())))
	if t.Card == nil {
		return []count{{p.T("templates.text"), utf8.RuneCountInString(bare.Text), content.MaxText}}
	}
	return []count{
		{p.T("templates.card_title"), utf8.RuneCountInString(bare.Card.Title), content.MaxTitle},
		{p.T("templates.description"), utf8.RuneCountInString(bare.Card.Description), content.MaxDescription},
	}
}

// describe returns the text of a flaw.
func describe(p *web.Page, f content.Flaw) string {
	what := p.T("templates.part." + string(f.Part))
	if f.Suggestion > 0 {
		what += " " + p.Number(f.Suggestion)
	}
	return p.T("templates.flaw."+string(f.Code), what, p.Number(f.Have), p.Number(f.Most))
}

func (s *Pages) blank(p *web.Page) error {
	f := formOf(p, campaign.Template{})
	f.Notes = nil // nothing was entered yet
	return s.renderForm(p, http.StatusOK, f)
}

func (s *Pages) edit(p *web.Page) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
	return s.renderForm(p, http.StatusOK, formOf(p, t))
}

func (s *Pages) renderForm(p *web.Page, status int, f form) error {
	f.Once = s.Once.Token()
	title := "templates.new"
	if f.ID != "" {
		title = "templates.edit"
	}
	p.ShowMedia()
	return p.RenderStatus(status, title, "template_form.html", f)
}

// preview shows the preview of the form's template.
func (s *Pages) preview(p *web.Page) error {
	f := formOf(p, read(p, p.Field("id")))
	if p.Partial() {
		return p.Fragment("template_preview.html", f)
	}
	return s.renderForm(p, http.StatusOK, f)
}

func (s *Pages) create(p *web.Page) error {
	return s.save(p, "template.create", read(p, ""))
}

// change saves a new version. Campaigns keep their version.
func (s *Pages) change(p *web.Page) error {
	old, err := s.own(p)
	if err != nil {
		return err
	}
	return s.save(p, "template.change", read(p, old.ID))
}

// save saves a template. A repeated submission of the form has no effect.
func (s *Pages) save(p *web.Page, action string, t campaign.Template) error {
	if len(t.Flaws()) > 0 {
		f := formOf(p, t)
		f.Refused = true
		return s.renderForm(p, http.StatusUnprocessableEntity, f)
	}
	to, toKey := Path, "templates.all"
	if t.ID != "" {
		to, toKey = Path+"/"+t.ID, "templates.back"
	}
	if err := s.Once.Use(p, "templates.form_used", to, toKey); err != nil {
		return err
	}
	if err := p.Audit(action, t.Name); err != nil {
		return err
	}
	t, err := s.Keeper.KeepTemplate(p.R.Context(), t)
	if err != nil {
		return err
	}
	return p.Redirect(Path + "/" + t.ID)
}
