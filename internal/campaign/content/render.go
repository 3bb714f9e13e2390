package content

import (
	"iter"
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
// Variables. A {{variable}} within a value is not replaced. Control characters of values are left
// out, except for line feeds and tabs. Values within a URL are escaped for their place: the path, the
// query or the fragment. Those of {{+variable}} keep the characters that have a meaning in a URL, and
// its escapes. A value at the start of a URL is not escaped, so that it can be a whole URL. URLs are
// then as a browser requests them. Values are cut where their total exceeds the size of any message:
// Unsendable refuses the content then.
func (c Content) Render(values []string) Content { return c.render(values, browserURL) }

// render fills the variables, and changes each URL.
func (c Content) render(values []string, change func(address string) string) Content {
	r := renderer{NewNames(c.Variables()), values, MaxMessage + 1}
	rendered := c.clone()
	for f := range rendered.fields() {
		*f.value = r.fill(f)
		if f.url {
			*f.value = change(*f.value)
		}
	}
	return rendered
}

// FilledURLs returns the URLs that contain a variable, with values in the order of Variables, each once.
func (c Content) FilledURLs(values []string) (urls []string) {
	rendered := c.Render(values)
	filled := slices.Collect(rendered.fields())
	for written := range c.fields() {
		address := *filled[0].value
		if filled = filled[1:]; written.url && !literal(*written.value) && !slices.Contains(urls, address) {
			urls = append(urls, address)
		}
	}
	return urls
}

// literal reports whether a text contains no variable.
func literal(text string) bool {
	for p := range pieces(text) {
		if p.variable {
			return false
		}
	}
	return true
}

// renderer inserts values. A value has up to some megabytes, and a template can contain it thousands of times.
type renderer struct {
	names  Names
	values []string
	left   int // bytes of values that can be inserted
}

func (r *renderer) fill(f field) string {
	if !strings.Contains(*f.value, "{{") {
		return *f.value
	}
	var filled strings.Builder
	var place urlPlace
	for p := range pieces(*f.value) {
		part := p.text
		if i := r.names.Index(part); p.variable && i >= 0 && i < len(r.values) {
			part = withoutControls(prefix(r.values[i], r.left))
			if f.url && filled.Len() > 0 {
				part = prefix(place.escape(part, p.open), r.left)
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

// Parts yields the literal parts of a text and its variable names, {{ name }} or {{+name}}, in
// order. The second value reports whether the part is a variable. Names consist of letters,
// digits, "_", "." and "-". Braces around other text are literal.
func Parts(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for p := range pieces(text) {
			if !yield(p.text, p.variable) {
				return
			}
		}
	}
}

// piece is a literal part of a text, or the name of a variable.
type piece struct {
	text     string
	variable bool
	open     bool // written {{+name}}
}

func pieces(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for {
			start, end, p := nextVariable(text)
			if start > 0 && !yield(piece{text: text[:start]}) {
				return
			}
			if end == start || !yield(p) {
				return
			}
			text = text[end:]
		}
	}
}

// hasOpen reports whether a text contains a variable written {{+name}}.
func hasOpen(text string) bool {
	if !strings.Contains(text, "+") {
		return false
	}
	for p := range pieces(text) {
		if p.open {
			return true
		}
	}
	return false
}

// nextVariable returns the position of the text's first variable, and its name. Without a
// variable, both positions are the length of the text.
func nextVariable(text string) (start, end int, p piece) {
	for from := 0; ; from = start + 1 {
		open := strings.Index(text[from:], "{{")
		if open < 0 {
			return len(text), len(text), piece{}
		}
		start = from + open
		inner := text[start+len("{{"):]
		brace := strings.IndexAny(inner, "{}") // a name has none
		if brace < 0 {
			return len(text), len(text), piece{}
		}
		name, plus := strings.CutPrefix(strings.TrimSpace(inner[:brace]), "+")
		name = strings.TrimSpace(name)
		if strings.HasPrefix(inner[brace:], "}}") && name != "" && strings.IndexFunc(name, notInName) < 0 {
			return start, start + len("{{") + brace + len("}}"), piece{name, true, plus}
		}
	}
}

func notInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r)
}
