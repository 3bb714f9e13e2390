package dispatch

import (
	"bytes"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// valueFindings is what a dry run says of the values of the accepted messages. Those with a fault are among the errors.
type valueFindings struct {
	// ControlCharacters are values whose control characters a message leaves out, nil for none.
	ControlCharacters *findings `json:"controlCharacters,omitempty"`
	// ReplacementCharacters are values with the escape of U+FFFD, nil for none.
	ReplacementCharacters *findings `json:"replacementCharacters,omitempty"`
	// FirstURLs are the URLs with variables, as the first message without a fault has them.
	FirstURLs []string `json:"firstUrls,omitempty"`
}

// findValues judges the values that the template needs. A template of another tenant is not disclosed.
func (c *call) findValues(t *campaign.Template) (found valueFindings) {
	if t == nil || t.Tenant != c.tenant {
		return found
	}
	names, first := t.Variables(), true
	indexes := c.req.names.indexes(names)
	for i := range c.req.accepted {
		values := make([]string, 0, len(names))
		for n, name := range names {
			v := find(c.req.varsOf(i), indexes[n])
			if code, _ := v.fault(); code == "" {
				found.add(v.value, i, name)
				values = append(values, string(v.value))
			}
		}
		if first && len(values) == len(names) {
			first, found.FirstURLs = false, t.FilledURLs(values)
		}
	}
	return found
}

func (f *valueFindings) add(value []byte, message int, name string) {
	addTo := func(found **findings) {
		if *found == nil {
			*found = &findings{}
		}
		(*found).add(messagePointer(message, "vars", name))
	}
	if content.HasControls(value) {
		addTo(&f.ControlCharacters)
	}
	if bytes.ContainsRune(value, utf8.RuneError) {
		addTo(&f.ReplacementCharacters)
	}
}
