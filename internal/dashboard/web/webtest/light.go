package webtest

import (
	"bytes"
	"compress/gzip"
	"html"
	"net/http"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

// Light opens a page, and fails the test if its HTML exceeds web.HTMLLimit.
func Light(tb testing.TB, who Person, path string) Answer {
	tb.Helper()
	who.Language = "pt-BR"
	page := who.Get(path)
	if page.Status != http.StatusOK || len(page.Body) > web.HTMLLimit {
		tb.Errorf("%s answers %d, %d bytes; want at most %d", path, page.Status, len(page.Body), web.HTMLLimit)
	}
	return page
}

// weigh fails the test if a page exceeds web.PageLimit without compression, or if a part of a
// page exceeds web.UpdateLimit.
func (d *Dashboard) weigh(r *http.Request, a Answer) {
	d.tb.Helper()
	whole := strings.HasPrefix(a.Body, "<!doctype")
	if whole && len(a.Body) > web.PageLimit {
		d.tb.Errorf("%s answers %d bytes, want at most %d", r.URL.Path, len(a.Body), web.PageLimit)
	}
	if whole || r.Header.Get("Hx-Request") == "" || len(a.Body) <= web.UpdateLimit {
		return
	}
	if n := compressed(a.Body); n > web.UpdateLimit {
		d.tb.Errorf("%s updates a page with %d compressed bytes, want at most %d", r.URL.Path, n, web.UpdateLimit)
	}
}

func compressed(text string) int {
	var sent bytes.Buffer
	w := gzip.NewWriter(&sent)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return sent.Len()
}

// Next returns the path of the page's link to the next part, or "".
func (a Answer) Next() string {
	before, _, found := strings.Cut(a.Body, `" rel="next"`)
	if !found {
		return ""
	}
	path, _, _ := strings.Cut(html.UnescapeString(before[strings.LastIndex(before, `href="`)+len(`href="`):]), "#")
	return path
}
