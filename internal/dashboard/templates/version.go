package templates

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
)

type version struct {
	campaign.Template
	Renamed string // its name, if different from the current one
	Begins  string // start of its text
}

const (
	versionsLength = 5   // on a page
	beginsWeight   = 120 // bytes of the start of a text
)

// versions returns a part of the versions, newest first. They are numbered from 1 to the current one.
func (s *Pages) versions(p *web.Page, now campaign.Template) (web.ListPage[version], error) {
	part, err := web.ReadListPage(p, now.Version, versionsLength, func(from, to int) ([]campaign.Template, error) {
		return s.Store.TemplateVersionsFrom(p.R.Context(), now.ID, now.Version-from, to-from)
	})
	return web.Convert(part, func(t campaign.Template) version {
		v := version{Template: t, Begins: web.Short(begins(t), beginsWeight)}
		if t.Name != now.Name {
			v.Renamed = web.Short(t.Name, nameWeight)
		}
		return v
	}), err
}

func begins(t campaign.Template) string {
	switch {
	case t.Card != nil:
		return cmp.Or(t.Card.Title, t.Card.Description)
	case t.Carousel != nil && len(t.Carousel.Cards) > 0:
		return cmp.Or(t.Carousel.Cards[0].Title, t.Carousel.Cards[0].Description)
	case t.File != nil:
		return t.File.URL
	}
	return t.Text
}

type whole struct {
	campaign.Template
	Form  string // text, card, carousel or file
	Phone preview.Phone
	Cut   bool
	variables
	Current bool
}

func (s *Pages) showVersion(p *web.Page, t campaign.Template) error {
	n, err := strconv.ParseUint(p.R.PathValue("version"), 10, 31)
	if err != nil {
		return campaign.ErrNotFound
	}
	v, err := s.Store.TemplateVersion(p.R.Context(), t.ID, int(n))
	if err != nil {
		return err
	}
	view := whole{Template: v, Form: formOf(v.Content), variables: variablesOf(v), Current: v.Version == t.Version}
	view.Phone, view.Cut = web.Phone(p, v.Content, p.T("templates.preview_version", v.Version), wholeWeight)
	p.Title = p.T("templates.version_of", web.Short(v.Name, nameWeight), p.Number(v.Version))
	p.ShowMedia()
	return p.Render("", "template_version.html", view)
}

type variables struct {
	Variables []string
	More      int
}

const variablesWeight = 2500 // bytes of their names

func variablesOf(t campaign.Template) (v variables) {
	v.Variables, v.More = web.Few(t.Variables(), web.MarkWeight, variablesWeight)
	return v
}

const (
	// phoneWeight is the maximum size in bytes of the texts of a preview beside others.
	// wholeWeight is the maximum on a page of its own, which fits the provider's
	// limits.
	phoneWeight = 5000
	wholeWeight = 17000
	// editorWeight is the size in bytes of the form's texts, its closed parts and its
	// preview together. leastWeight is the least for the preview, and partWeight the size
	// of a closed card or suggestion.
	editorWeight = 13000
	leastWeight  = 150
	partWeight   = 500
)

func previewWeight(d draft) int {
	parts := len(d.Suggestions) + len(d.Card.Suggestions) + len(d.Cards)
	texts := []string{d.Name, d.Text, d.File, d.FileThumbnail}
	for _, c := range append([]draftCard{d.Card}, d.Cards...) {
		if c.open || d.Form == formCard {
			parts += len(c.Suggestions)
			texts = append(texts, c.Title, c.Description, c.Media, c.Thumbnail)
		}
	}
	left := editorWeight - parts*partWeight - web.Weight(strings.Join(texts, ""))
	return min(phoneWeight, max(leastWeight, left))
}

func (s *Pages) archive(p *web.Page, t campaign.Template) error {
	return s.move(p, t, true, "template.archive", "templates.done.archived", s.Store.ArchiveTemplate)
}

func (s *Pages) restore(p *web.Page, t campaign.Template) error {
	return s.move(p, t, false, "template.restore", "templates.done.restored", s.Store.RestoreTemplate)
}

// move archives or restores a template. doneKey is the text of what was done. A repeated form
// changes nothing.
func (s *Pages) move(
	p *web.Page, t campaign.Template, archive bool, action, doneKey string, do func(ctx context.Context, tenant, id string) error,
) error {
	archived, err := s.Store.TemplateArchived(p.R.Context(), t.Tenant, t.ID)
	if err != nil {
		return err
	}
	if archived == archive {
		return p.Done(linkOf(t), doneKey, t.Name)
	}
	if err := p.AuditOn(linkOf(t), action, t.Name); err != nil {
		return err
	}
	if err := do(p.R.Context(), t.Tenant, t.ID); err != nil {
		return err
	}
	return p.Done(linkOf(t), doneKey, t.Name)
}

// duplicate saves a new template with the content of the current version, and opens it in
// the editor. A repeated submission has no effect.
func (s *Pages) duplicate(p *web.Page, t campaign.Template) error {
	all, err := s.Store.Templates(p.R.Context(), t.Tenant)
	if err != nil {
		return err
	}
	if err := web.UseForm(p, "templates.form_used", Path, "templates.all"); err != nil {
		return err
	}
	original := t.Name
	t = campaign.Template{Tenant: t.Tenant, Name: copyName(p, original, all), Traffic: t.Traffic, Content: t.Content}
	if t, err = s.put(p, t); err != nil {
		return err
	}
	return p.Done(linkOf(t)+"/edit", "templates.done.duplicated", original)
}

// copyName returns a name for a copy that no template of the tenant has.
func copyName(p *web.Page, name string, all []campaign.Template) string {
	for n := 1; ; n++ {
		mark := p.T("templates.copy")
		if n > 1 {
			mark = p.T("templates.copy_n", p.Number(n))
		}
		copied := cutTo(name, campaign.MaxTemplateName-len([]rune(mark))-1) + " " + mark
		if !slices.ContainsFunc(all, func(t campaign.Template) bool { return t.Name == copied }) {
			return copied
		}
	}
}

func cutTo(text string, most int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), most)])
}
