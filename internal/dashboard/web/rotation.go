package web

import (
	"maps"
	"slices"
	"time"
)

var keeps = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// None is the choice of no overlap in the rotation forms.
const None = "0s"

// Choices returns the values of the field "keep".
func Choices() []string { return slices.Sorted(maps.Keys(keeps)) }

// Kept returns the text key of the choice for the audit log.
func Kept(p *Page) string { return "audit.kept_" + p.Field("keep") }

// Keep returns how long the previous secret stays valid, from the form's field "keep".
// ok is false if the value is not one of Choices.
func Keep(p *Page) (keep time.Duration, ok bool) {
	keep, ok = keeps[p.Field("keep")]
	return keep, ok
}
