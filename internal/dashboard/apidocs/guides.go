package apidocs

import (
	"errors"
	"html/template"
	"maps"
	"strings"
	"unicode"

	"campaign-dispatch/docs"
	"campaign-dispatch/internal/campaign/pattern"
)

// guide is a section of the guides.
type guide struct {
	ID, Title string
	Text      template.HTML
}

var errGuides = errors.New("the guides do not have the same sections in all languages")

// readGuides returns the guides in a language. Their ids are made of the English titles.
func readGuides(language string, render renderer) ([]guide, error) {
	originals := sections(docs.EnglishGuides)
	texts := originals
	if language != english {
		texts = sections(docs.PortugueseGuides)
	}
	if len(texts) != len(originals) {
		return nil, errGuides
	}
	pages, guides := maps.Clone(pagesOfDocs), make([]guide, len(texts))
	for i, s := range texts {
		guides[i] = guide{ID: anchor(originals[i].title), Title: s.title}
		pages["#"+anchor(s.title)] = Root + "/" + guides[i].ID
	}
	for i, s := range texts {
		guides[i].Text = render.prose(relink(s.text, pages))
	}
	return guides, nil
}

// pagesOfDocs maps pages of the repository to the dashboard's pages of the same subject.
var pagesOfDocs = map[string]string{
	"api.md":                Root,
	"api.md#message-states": Root + "/states",
	"api.md#rate-limits":    Root + "/dispatchCampaign",
	"webhooks.md":           Root + "/webhooks",
}

type section struct{ title, text string }

// remarks are comments in Markdown on their own line. No page shows them.
var remarks = pattern.AtFirstUse(`(?m)^<!-- .* -->\n`)

// sections returns the sections of a Markdown text at headings of the second level.
func sections(text string) (all []section) {
	text = remarks().ReplaceAllString(text, "")
	for _, part := range strings.Split(text, "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		all = append(all, section{title, strings.TrimSpace(body)})
	}
	return all
}

var target = pattern.AtFirstUse(`\]\([^)\s]+\)`)

// relink replaces the targets of Markdown links.
func relink(text string, pages map[string]string) string {
	return target().ReplaceAllStringFunc(text, func(link string) string {
		if page, ok := pages[link[2:len(link)-1]]; ok {
			return "](" + page + ")"
		}
		return link
	})
}

// anchor returns the anchor that GitHub gives a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// Guide returns a guide, or nil.
func (d *documentation) Guide(id string) *guide {
	for i := range d.Guides {
		if d.Guides[i].ID == id {
			return &d.Guides[i]
		}
	}
	return nil
}
