package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// The entries of the navigation have icons, which screen readers skip.
func TestLayout_Icons(t *testing.T) {
	t.Parallel()
	page := admin(newSite(t)).Get("/dashboard/notes")
	has(t, page, http.StatusOK)
	_, nav, _ := strings.Cut(page.Body, "<nav")
	nav, _, _ = strings.Cut(nav, "</nav>")
	links, icons := strings.Count(nav, "<a "), strings.Count(nav, `aria-hidden="true"><path d="M`)
	if links == 0 || icons != links {
		t.Errorf("%d entries have %d icons:\n%s", links, icons, nav)
	}
}
