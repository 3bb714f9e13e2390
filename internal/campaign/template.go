package campaign

import (
	"regexp"
	"slices"
	"strings"
)

// Template is one immutable version of a tenant's message template. Text is
// plain text, or the card is a rich card; either may hold {{variable}}.
type Template struct {
	ID      string // a UUID in lower case
	Tenant  string
	Version int
	Name    string
	Text    string
	Card    *Card
}

// Card is the provider's standalone rich card.
type Card struct {
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	MediaURL    string   `json:"mediaUrl,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"` // texts of suggested replies
}

var placeholder = regexp.MustCompile(`\{\{\s*([\p{L}\p{N}_.-]+)\s*\}\}`)

// Variables returns the names of the variables that the template needs, in the
// order in which they first appear.
func (t Template) Variables() []string {
	var names []string
	for _, text := range t.texts() {
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// Render returns the template with its variables replaced by values, which
// stand in the order of Variables. A value is text: a {{variable}} within it
// stays as it is.
func (t Template) Render(values []string) Template {
	names := t.Variables()
	fill := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(m string) string {
			i := slices.Index(names, placeholder.FindStringSubmatch(m)[1])
			if i < 0 || i >= len(values) {
				return m
			}
			return values[i]
		})
	}
	return t.mapTexts(fill)
}

func (t Template) texts() []string {
	texts := []string{t.Text}
	if t.Card != nil {
		texts = append(texts, t.Card.Title, t.Card.Description, t.Card.MediaURL)
		texts = append(texts, t.Card.Suggestions...)
	}
	return texts
}

func (t Template) mapTexts(f func(string) string) Template {
	t.Text = f(t.Text)
	if t.Card == nil {
		return t
	}
	card := Card{Title: f(t.Card.Title), Description: f(t.Card.Description), MediaURL: f(t.Card.MediaURL)}
	for _, s := range t.Card.Suggestions {
		card.Suggestions = append(card.Suggestions, f(s))
	}
	t.Card = &card
	return t
}

// Message is one accepted message. Values stand in the order of the variables
// of its batch's template version.
type Message struct {
	Phone  string // E.164, with the leading +
	UID    string
	Values []string
}

// Blank tells whether the text holds nothing but white space.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }
