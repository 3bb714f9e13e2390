package campaign

import (
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Template is an immutable version of a tenant's message template. It has either a plain
// Text or a Card. Both can contain {{variable}}.
type Template struct {
	ID      string // a UUID in lower case
	Tenant  string
	Version int
	Name    string
	Text    string
	Card    *Card
	// CreatedAt is when the version was saved. It is zero in old rows.
	CreatedAt time.Time
}

// Card is the provider's standalone rich card.
type Card struct {
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	MediaURL    string   `json:"mediaUrl,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"` // texts of suggested replies
}

// Variables returns the names of the template's variables, in order of first appearance.
func (t Template) Variables() []string {
	var names []string
	for _, text := range t.texts() {
		for part, variable := range Parts(text) {
			if variable && !slices.Contains(names, part) {
				names = append(names, part)
			}
		}
	}
	return names
}

// Render returns the template with its variables replaced by values, in the order of
// Variables. A {{variable}} within a value is not replaced.
func (t Template) Render(values []string) Template {
	names := t.Variables()
	return t.mapTexts(func(text string) string {
		var filled strings.Builder
		for part, variable := range Parts(text) {
			if i := slices.Index(names, part); variable && i < len(values) {
				part = values[i]
			}
			filled.WriteString(part)
		}
		return filled.String()
	})
}

// Parts yields the literal parts of a text and its variable names, {{ name }}, in order.
// The second value reports whether the part is a variable. Names consist of letters,
// digits, "_", "." and "-". Braces around other text are literal.
func Parts(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for {
			start, end, name := nextVariable(text)
			if start > 0 && !yield(text[:start], false) {
				return
			}
			if end == start || !yield(name, true) {
				return
			}
			text = text[end:]
		}
	}
}

// nextVariable returns the position and the name of the text's first variable. Without a
// variable, both positions are the length of the text.
func nextVariable(text string) (start, end int, name string) {
	for from := 0; ; from = start + 1 {
		open := strings.Index(text[from:], "{{")
		if open < 0 {
			return len(text), len(text), ""
		}
		start = from + open
		inner, _, closed := strings.Cut(text[start+2:], "}}")
		name = strings.TrimSpace(inner)
		if closed && name != "" && strings.IndexFunc(name, notInName) < 0 {
			return start, start + len("{{") + len(inner) + len("}}"), name
		}
	}
}

func notInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r)
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

// Message is one accepted message. Values are in the order of the variables of its batch's
// template version.
type Message struct {
	Phone  string // E.164, with the leading +
	UID    string
	Values []string
}

// Erased reports whether the message's personal data was erased.
func (m Message) Erased() bool { return m.Phone == "" }

// Blank reports whether the text is empty or white space.
func Blank(s string) bool { return strings.TrimSpace(s) == "" }
