package content

import (
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Variables returns the names of the variables, in order of first appearance.
func (c Content) Variables() (names []string) {
	for f := range c.fields() {
		for part, variable := range Parts(*f.value) {
			if variable && !slices.Contains(names, part) {
				names = append(names, part)
			}
		}
	}
	return names
}

// Render returns the content with its variables replaced by values, in the order of
// Variables. A {{variable}} within a value is not replaced. Values within a URL are escaped
// for their place: the path, the query or the fragment. A value at the start of a URL is not
// escaped, so that it can be a whole URL.
func (c Content) Render(values []string) Content {
	names := c.Variables()
	rendered := c.clone()
	for f := range rendered.fields() {
		*f.value = f.render(names, values)
	}
	return rendered
}

func (f field) render(names, values []string) string {
	if !strings.Contains(*f.value, "{{") {
		return *f.value
	}
	var filled strings.Builder
	for part, variable := range Parts(*f.value) {
		if i := slices.Index(names, part); variable && i < len(values) {
			part = values[i]
			if f.url && !f.verbatim {
				part = escape(filled.String(), part)
			}
		}
		filled.WriteString(part)
	}
	return filled.String()
}

// escape returns the value as it stands in a URL after the text before.
func escape(before, value string) string {
	switch {
	case before == "":
		return value
	case strings.Contains(before, "?") && !strings.Contains(before, "#"):
		return url.QueryEscape(value)
	}
	return url.PathEscape(value)
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
