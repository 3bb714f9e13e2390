package web

import "maps"

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
