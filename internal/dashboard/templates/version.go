package templates

import (
	"cmp"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
)

// version is a row in the list of a template's versions.
type version struct {
	campaign.Template
	Renamed string // its name, if different from the current one
	Begins  string // start of its text
}

const (
	// versionsLength is the number of versions per page.
	versionsLength = 5
	// beginsWeight is the maximum size in bytes of the start of a text.
	beginsWeight = 120
)

func versionsOf(p *web.Page, now campaign.Template, all []campaign.Template) (web.Part[version], error) {
	part, err := web.PartOf(p, all, versionsLength)
	listed := web.Part[version]{From: part.From, Next: part.Next, Prior: part.Prior}
	for _, t := range part.Items {
		v := version{Template: t, Begins: web.Short(begins(t), beginsWeight)}
		if t.Name != now.Name {
			v.Renamed = web.Short(t.Name, nameWeight)
		}
		listed.Items = append(listed.Items, v)
	}
	return listed, err
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

// whole is the data of a version's page.
type whole struct {
	campaign.Template
	Form  string // text, card, carousel or file
	Phone preview.Phone
	Cut   bool
	variables
	Current bool
}

// showVersion shows the preview of one version.
func (s *Pages) showVersion(p *web.Page) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
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

// variables holds the names of a template's variables that a page shows.
type variables struct {
	Variables []string
	More      int
}

// variablesWeight is the maximum size in bytes of the variables' names.
const variablesWeight = 2500

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

// previewWeight returns the maximum size of the preview beside the form of a draft.
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
