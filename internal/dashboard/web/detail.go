package web

import (
	"strings"
	"time"
)

// moved begins the detail of an audit entry about a change of a time.
const moved = "moved "

// Moved returns the detail of an audit entry about a change of a time. Each reader sees it in
// the own language.
func Moved(from, to time.Time) string {
	return moved + from.UTC().Format(time.RFC3339) + " " + to.UTC().Format(time.RFC3339)
}

// Detail returns the text of an audit entry's detail: the key of a text, or a result of Moved.
func (p *Page) Detail(detail string) string {
	times, ok := strings.CutPrefix(detail, moved)
	if !ok {
		return p.T(detail)
	}
	first, second, _ := strings.Cut(times, " ")
	from, err := time.Parse(time.RFC3339, first)
	if err != nil {
		return detail
	}
	to, err := time.Parse(time.RFC3339, second)
	if err != nil {
		return detail
	}
	return p.When(from) + " → " + p.When(to)
}
