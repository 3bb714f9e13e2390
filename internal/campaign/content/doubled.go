package content

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Edge is a word or a symbol of a text that stands next to a variable.
type Edge struct {
	Variable string
	Text     string
	After    bool // whether it stands behind the variable
}

// Edges returns the words and symbols next to the variables of the texts. URLs have none.
func (c Content) Edges() (all []Edge) {
	for f := range c.fields() {
		if f.url {
			continue
		}
		before, last := "", ""
		for part, variable := range Parts(*f.value) {
			switch {
			case variable:
				all = addEdge(all, Edge{part, lastWord(before), false})
				before, last = "", part
			default:
				all = addEdge(all, Edge{last, firstWord(part), true})
				before, last = part, ""
			}
		}
	}
	return all
}

func addEdge(all []Edge, e Edge) []Edge {
	if e.Variable == "" || e.Text == "" {
		return all
	}
	return append(all, e)
}

const (
	opening = `([{"'“‘«*_~-–—`
	closing = `)]}"'”’»*_~-–—.,;:!?…`
)

func lastWord(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return strings.TrimLeft(words[len(words)-1], opening)
}

func firstWord(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return strings.TrimRight(words[0], closing)
}

// Doubles reports whether a value repeats the word next to its variable: R$ R$ 129,90, or 13%%.
func (e Edge) Doubles(value string) bool {
	value = strings.TrimSpace(value)
	cut := len(e.Text)
	if len(value) < cut {
		return false
	}
	if e.After {
		cut = len(value) - cut
		before, _ := utf8.DecodeLastRuneInString(value[:cut])
		first, _ := utf8.DecodeRuneInString(e.Text)
		return strings.EqualFold(value[cut:], e.Text) && !sameWord(before, first)
	}
	after, _ := utf8.DecodeRuneInString(value[cut:])
	last, _ := utf8.DecodeLastRuneInString(e.Text)
	return strings.EqualFold(value[:cut], e.Text) && !sameWord(last, after)
}

func sameWord(a, b rune) bool { return inWord(a) && inWord(b) }

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
