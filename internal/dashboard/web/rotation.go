package web

import "time"

// Keeps maps the values of the form field "keep" to how long the previous secret stays valid.
var Keeps = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// None is the choice of no overlap in the rotation forms.
const None = "0s"

// Kept returns the text key of the choice for the audit log.
func Kept(p *Page) string { return "audit.kept_" + p.Field("keep") }

// Keep returns the form's choice of Keeps. ok is false if there is no such choice.
func Keep(p *Page) (keep time.Duration, ok bool) {
	keep, ok = Keeps[p.Field("keep")]
	return keep, ok
}
