// Package preview describes how a template looks on a phone. phone.html, one of the
// ui's pages, shows it.
package preview

import (
	"strings"

	"campaign-dispatch/internal/campaign/content"
)

// Part is a piece of a text: literal, or the name of a variable.
type Part struct {
	Text     string
	Variable bool
}

// Phone is a message as a phone shows it. Variables appear by name.
type Phone struct {
	Label       string // alternative text of the picture
	Text        []Part
	Card        bool
	Title       []Part
	Description []Part
	Media       bool
	MediaURL    string // "" if the URL contains variables
	Suggestions [][]Part
}

// Of returns the preview of a template.
func Of(t content.Content, label string) Phone {
	phone := Phone{Label: label, Text: partsOf(t.Text)}
	if t.Card == nil {
		return phone
	}
	phone.Card = true
	phone.Title, phone.Description = partsOf(t.Card.Title), partsOf(t.Card.Description)
	if m := t.Card.Media; m != nil {
		phone.Media = m.URL != ""
		if strings.HasPrefix(m.URL, "https://") && !strings.Contains(m.URL, "{{") {
			phone.MediaURL = m.URL
		}
	}
	for _, s := range t.Card.Suggestions {
		phone.Suggestions = append(phone.Suggestions, partsOf(s.Text))
	}
	return phone
}

// Empty reports whether there is nothing to show.
func (p Phone) Empty() bool {
	return len(p.Text)+len(p.Title)+len(p.Description)+len(p.Suggestions) == 0 && !p.Media
}

func partsOf(text string) (all []Part) {
	for part, variable := range content.Parts(text) {
		all = append(all, Part{part, variable})
	}
	return all
}
