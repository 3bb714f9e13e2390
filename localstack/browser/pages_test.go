package browser_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Everybody sees every page that links lead to, and none has a fault.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	for _, person := range []struct {
		name, language, email string
		pages                 []string // some that they must come by
	}{
		{"admin", "pt-BR", "DASHBOARD_EMAIL", []string{"/dashboard/settings/audit"}},
		{"viewer", "en-US", "DASHBOARD_VIEWER_EMAIL", nil},
	} {
		t.Run(person.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, person.language)
			b.signIn(b.env[person.email])
			seen := b.crawl(person.name)
			for _, want := range slices.Concat([]string{"/dashboard/docs", "/dashboard/docs/dispatchCampaign"}, person.pages) {
				if !slices.Contains(seen, want) {
					t.Errorf("no link leads to %s", want)
				}
			}
		})
	}
}

var (
	// identifier is a part of a path that names one of many things.
	identifier = regexp.MustCompile(`/[^/]*[0-9][^/]*`)
	// elsewhere are paths that are not pages.
	elsewhere = regexp.MustCompile(`^/dashboard/(language|sign-in|sign-out|assets|campaigns/new/example)\b`)
)

// crawl checks the page that is shown and all that it leads to, one of each
// kind, and returns their paths.
func (b *browser) crawl(name string) (seen []string) {
	b.t.Helper()
	const most = 60
	next := []string{b.path()}
	for len(next) > 0 && len(seen) < most {
		path := next[0]
		next = next[1:]
		kind := kindOf(path)
		if slices.Contains(seen, kind) || elsewhere.MatchString(path) {
			continue
		}
		seen = append(seen, kind)
		b.visit(path)
		next = append(next, b.links()...)
		b.check(name + strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(strings.TrimPrefix(kind, "/dashboard")))
	}
	return seen
}

// kindOf returns what a page shows, whichever of the things it shows it of.
func kindOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return identifier.ReplaceAllString(path, "/one")
}

// links returns the paths of the dashboard that the page leads to.
func (b *browser) links() []string {
	b.t.Helper()
	return read(b, "read the links", chromedp.Evaluate[[]string](
		`[...document.links].filter(a => a.origin === location.origin && (a.pathname + "/").startsWith("/dashboard/")).map(a => a.pathname + a.search)`))
}
