package web

import (
	"maps"
	"slices"
	"time"
)

var keeps = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// None is the choice of no overlap, which forms for credentials offer.
const None = "0s"

// Choices returns the values that the field may have.
func Choices() []string { return slices.Sorted(maps.Keys(keeps)) }

// Kept returns the key of the text by which the audit log names that choice.
func Kept(p *Page) string { return "audit.kept_" + p.Field("keep") }

// Keep returns for how long the secret before the rotation stays good, which is the
// field "keep" of its form; ok is false where that is none of the choices.
func Keep(p *Page) (keep time.Duration, ok bool) {
	keep, ok = keeps[p.Field("keep")]
	return keep, ok
}
