package content

import (
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Variables returns the names of the variables, in order of first appearance.
func (c Content) Variables() []string {
	var names Names
	for f := range c.fields() {
		for part, variable := range Parts(*f.value) {
			if variable && names.Index(part) < 0 {
				names.add(part)
			}
		}
	}
	return names.list
}

// Names are different names of variables. The time to find one does not grow with their
// number, because a content that is not checked yet can have tens of thousands.
type Names struct {
	list []string
	at   map[string]int // nil for few names, which are compared faster
}

// fewNames is the number of names up to which Names has no map.
const fewNames = 50

// NewNames returns the names of a list.
func NewNames(list []string) (names Names) {
	if len(list) <= fewNames {
		return Names{list: list}
	}
	for _, name := range list {
		names.add(name)
	}
	return names
}

// Index returns the position of a name, or -1.
func (n *Names) Index(name string) int {
	if n.at == nil {
		return slices.Index(n.list, name)
	}
	if i, ok := n.at[name]; ok {
		return i
	}
	return -1
}

func (n *Names) add(name string) {
	n.list = append(n.list, name)
	if len(n.list) <= fewNames {
		return
	}
	if n.at == nil {
		n.at = map[string]int{}
		for i, earlier := range n.list {
			n.at[earlier] = i
		}
	}
	n.at[name] = len(n.list) - 1
}

// Render returns the content with its variables replaced by values, in the order of
// Variables. A {{variable}} within a value is not replaced. Values within a URL are escaped
// for their place: the path, the query or the fragment. A value at the start of a URL is not
// escaped, so that it can be a whole URL. Values are cut where their total exceeds the size of
// any message: Unsendable refuses the content then.
func (c Content) Render(values []string) Content {
	r := renderer{NewNames(c.Variables()), values, MaxMessage + 1}
	rendered := c.clone()
	for f := range rendered.fields() {
		*f.value = r.render(f)
	}
	return rendered
}

// renderer inserts values. A value has up to some megabytes, and a template can contain it thousands of times.
type renderer struct {
	names  Names
	values []string
	left   int // bytes of values that can be inserted
}

func (r *renderer) render(f field) string {
	if !strings.Contains(*f.value, "{{") {
		return *f.value
	}
	var filled strings.Builder
	var place urlPlace
	for part, variable := range Parts(*f.value) {
		if i := r.names.Index(part); variable && i >= 0 && i < len(r.values) {
			part = prefix(r.values[i], r.left)
			if f.url && filled.Len() > 0 {
				part = prefix(place.escape(part), r.left)
			}
			r.left -= len(part)
		}
		if f.url {
			place.follow(part)
		}
		filled.WriteString(part)
	}
	return filled.String()
}

func prefix(text string, size int) string { return text[:min(len(text), size)] }

// urlPlace is what the text of a URL contains before a value.
type urlPlace struct{ query, fragment bool }

func (p *urlPlace) follow(part string) {
	p.query = p.query || strings.Contains(part, "?")
	p.fragment = p.fragment || strings.Contains(part, "#")
}

// escape returns the value as it stands in the URL.
func (p *urlPlace) escape(value string) string {
	if p.query && !p.fragment {
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
		inner := text[start+len("{{"):]
		brace := strings.IndexAny(inner, "{}") // a name has none
		if brace < 0 {
			return len(text), len(text), ""
		}
		name = strings.TrimSpace(inner[:brace])
		if strings.HasPrefix(inner[brace:], "}}") && name != "" && strings.IndexFunc(name, notInName) < 0 {
			return start, start + len("{{") + brace + len("}}"), name
		}
	}
}

func notInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r)
}
