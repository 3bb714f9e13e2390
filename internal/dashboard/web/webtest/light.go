package webtest

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

// Light opens a page, and fails the test if its HTML exceeds
// web.HTMLLimit.
func Light(tb testing.TB, who Person, path string) Answer {
	tb.Helper()
	who.Language = "pt-BR"
	page := who.Get(path)
	if page.Status != http.StatusOK || len(page.Body) > web.HTMLLimit {
		tb.Errorf("%s answers %d, %d bytes; want at most %d", path, page.Status, len(page.Body), web.HTMLLimit)
	}
	return page
}

// Next is where the page's link to what follows leads, "" for none.
func (a Answer) Next() string {
	before, _, found := strings.Cut(a.Body, `" rel="next"`)
	if !found {
		return ""
	}
	path, _, _ := strings.Cut(html.UnescapeString(before[strings.LastIndex(before, `href="`)+len(`href="`):]), "#")
	return path
}
