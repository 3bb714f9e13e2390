package templates

import (
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/web"
)

// hint describes the billing class of a message while its template is written.
type hint struct {
	Class content.Class // with empty variables
	Lines []string      // reasons, in the reader's language
}

const maxWide = 6 // characters of several bytes that a hint lists

// hintOf returns the hint for a content. Empty contents have none.
func hintOf(p *web.Page, c content.Content) hint {
	skeleton := c.Render(make([]string, len(c.Variables())))
	h := hint{Class: skeleton.Class()}
	switch {
	case formOf(c) != formText:
		h.add(p.T("templates.class.form"))
	case len(c.Suggestions) > 0:
		h.add(p.T("templates.class.suggestions"))
	default:
		h.ofText(p, c, skeleton.Text)
	}
	h.values(p, c)
	h.notification(p, c)
	return h
}

func (h *hint) add(line string) { h.Lines = append(h.Lines, line) }

func (h *hint) ofText(p *web.Page, c content.Content, text string) {
	h.add(p.T("templates.class.bytes", p.Number(len(text)), p.Number(content.BasicBytes)))
	if before, crossing := crossing(text); crossing != "" {
		h.add(p.T("templates.class.crosses", before, crossing))
	}
	if wide := wideOf(p, text); wide != "" {
		h.add(p.T("templates.class.wide", wide))
	}
	left, names := content.BasicBytes-len(text), c.Variables()
	switch {
	case len(names) == 0 || left < 0:
	case len(names) == 1:
		h.add(p.T("templates.class.left_one", p.Number(left/occurrences(c.Text)), names[0]))
	default:
		shown, more := web.Few(names, len(", "), variablesWeight)
		list := strings.Join(shown, ", ")
		if more > 0 {
			list += " " + p.T("templates.more_variables", p.Number(more))
		}
		h.add(p.T("templates.class.left_many", p.Number(left), list))
	}
}

// values describes what the values of the variables can do to the message.
func (h *hint) values(p *web.Page, c content.Content) {
	if len(c.Variables()) == 0 {
		return
	}
	if n := c.SafeValueLen(); n > 0 {
		h.add(p.T("templates.class.safe", p.Number(n)))
	}
	if c.ValueURLs() {
		h.add(p.T("templates.class.value_urls"))
	}
}

// notification says what a phone shows of a message in its notifications: a part of the text, and one button.
func (h *hint) notification(p *web.Page, c content.Content) {
	for _, s := range c.AllSuggestions() {
		if s.Kind != content.RequestLocation && strings.TrimSpace(s.Text) != "" {
			h.add(p.T("templates.notification", web.Short(s.Text, summaryWeight)))
			return
		}
	}
}

// crossing returns the character that makes a text longer than a basic message, and the
// end of the text before it. It returns "" if there is none.
func crossing(text string) (before, character string) {
	const shown = 12 // characters
	for i, r := range text {
		if i+utf8.RuneLen(r) > content.BasicBytes {
			runes := []rune(text[:i])
			return string(runes[max(0, len(runes)-shown):]), string(r)
		}
	}
	return "", ""
}

// wideOf lists characters of several bytes with their sizes, each once.
func wideOf(p *web.Page, text string) string {
	var wide []string
	seen := map[rune]bool{}
	for _, r := range text {
		size := utf8.RuneLen(r)
		if size < 2 || seen[r] {
			continue
		}
		if seen[r] = true; len(wide) == maxWide {
			return strings.Join(wide, ", ") + "…"
		}
		wide = append(wide, p.T("templates.class.character", string(r), p.Number(size)))
	}
	return strings.Join(wide, ", ")
}

// occurrences returns how many variables a text has, each as often as it occurs.
func occurrences(text string) (n int) {
	for _, variable := range content.Parts(text) {
		if variable {
			n++
		}
	}
	return n
}
