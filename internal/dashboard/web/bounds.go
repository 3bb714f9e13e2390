package web

import (
	"maps"
	"net/url"
	"strings"
)

// escaped is the size in bytes of an escaped character in HTML.
const escaped = len("&#34;")

// Weight returns the size in bytes of a text in a page.
func Weight(text string) int { return len(text) + (escaped-1)*strings.Count(marks.Replace(text), "&") }

// marks replaces each escaped character by &.
var marks = strings.NewReplacer("<", "&", ">", "&", `"`, "&", "'", "&", "+", "&", "\x00", "&")

// Short returns the text, cut to most bytes in a page.
func Short(text string, most int) string {
	if Weight(text) <= most {
		return text
	}
	left := most - len("…")
	for i, r := range text {
		if left -= Weight(string(r)); left < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// Address returns a URL without its query, which may contain a key: the name, which is
// host and path, and the whole URL.
func Address(address string) (name, all string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	all = u.Scheme + "://" + u.Host + u.Path
	if u.RawQuery != "" {
		all += "?…"
	}
	return u.Host + strings.TrimSuffix(u.Path, "/"), all
}

// Few returns the first names that fit into most bytes in a page, with each bytes of
// markup per name, and the number of omitted names.
func Few(names []string, each, most int) (few []string, more int) {
	for i, name := range names {
		if most -= Weight(name) + each; most < 0 {
			return names[:i], len(names) - i
		}
	}
	return names, 0
}

// Trial is a form that opens a template's test with the values of a message.
type Trial struct {
	TemplateID string
	Values     map[string]string // by variable
}

// maxTrial is the maximum size in bytes of the values in a page.
const maxTrial = 6000

// NewTrial returns the form for a message, or one without values if they are too large.
func NewTrial(templateID string, values map[string]string) Trial {
	size := 0
	for name, value := range values {
		size += Weight(name) + Weight(value)
	}
	if size > maxTrial {
		return Trial{TemplateID: templateID}
	}
	return Trial{templateID, maps.Clone(values)}
}
