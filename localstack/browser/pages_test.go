package browser_test

import (
	"crypto/rand"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/testsize"
)

// Every page that links lead to has no faults.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	shop := &browser{t: t, env: stackenv.Load(t)}
	_, token := shop.token(shop.env["CLIENT_ID"], shop.env["CLIENT_SECRET"])
	if status, got := shop.dispatch(token.AccessToken, shop.call("Para ver "+rand.Text()[:8], fields{"phone": "21" + number(), "uid": "a"})); status != http.StatusAccepted {
		t.Fatalf("dispatch: %d %+v, want 202", status, got)
	}
	for _, person := range []struct {
		name, language, email string
		pages                 []string // wanted pages besides everyonesPages
	}{
		{"admin", "pt-BR", "DASHBOARD_EMAIL", adminPages},
		{"viewer", "en-US", "DASHBOARD_VIEWER_EMAIL", nil},
	} {
		t.Run(person.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, person.language)
			b.signIn(b.env[person.email])
			b.serveImage("https://media.example/") // of the reviews of other tests
			seen := b.crawl(person.name)
			for _, want := range slices.Concat(everyonesPages, person.pages) {
				if !slices.Contains(seen, want) {
					t.Errorf("no link leads to %s", want)
				}
			}
			if person.pages == nil {
				b.visitRefused("/dashboard/settings/audit", http.StatusForbidden)
				b.check(person.name + "-forbidden")
			}
		})
	}
}

// The kinds of pages that links and the menu lead to for the seeded tenant.
var (
	everyonesPages = []string{
		"/dashboard/overview", "/dashboard/overview/reads",
		"/dashboard/campaigns", "/dashboard/campaigns/one", "/dashboard/campaigns/one/messages", "/dashboard/campaigns/one/exports",
		"/dashboard/submissions", "/dashboard/approvals", "/dashboard/people", "/dashboard/people/replies", "/dashboard/lists", "/dashboard/templates", "/dashboard/templates/one", "/dashboard/media", "/dashboard/settings/webhooks",
		"/dashboard/settings/billing", "/dashboard/settings/hours", "/dashboard/settings/brand",
		"/dashboard/docs", "/dashboard/docs/dispatchCampaign", "/dashboard/docs/webhooks", "/dashboard/docs/webhook-types", "/dashboard/docs/states", "/dashboard/docs/errors",
		"/dashboard/docs/retry-a-call-safely", "/dashboard/docs/receive-webhooks", "/dashboard/docs/test-failures-in-the-sandbox",
	}
	adminPages = []string{
		"/dashboard/campaigns/new", "/dashboard/templates/new", "/dashboard/templates/one/edit",
		"/dashboard/campaigns/one/follow-up", "/dashboard/drafts",
		"/dashboard/settings/credentials", "/dashboard/settings/credentials/new", "/dashboard/settings/credentials/one/rotate", "/dashboard/settings/credentials/one/revoke",
		"/dashboard/settings/webhooks/new", "/dashboard/settings/audit",
	}
)

var (
	// identifier matches a part of a path with an id.
	identifier = regexp.MustCompile(`/[^/]*[0-9][^/]*`)
	// elsewhere matches paths that are not pages.
	elsewhere = regexp.MustCompile(`^/dashboard/(language|sign-in|sign-out|assets|campaigns/new/example|submissions/[^/]+/left-out|settings/audit/export)\b`)
)

// crawl checks the current page and the pages that links lead to, one of each kind, and
// returns their kinds.
func (b *browser) crawl(name string) (seen []string) {
	b.t.Helper()
	const most = 90
	next := []link{{to: b.path()}}
	for len(next) > 0 {
		if len(seen) == most {
			b.t.Fatalf("links lead to more than %d kinds of pages: %s", most, strings.Join(seen, " "))
		}
		path, on := next[0].to, next[0].on
		next = next[1:]
		kind := kindOf(path)
		if slices.Contains(seen, kind) || elsewhere.MatchString(path) {
			continue
		}
		b.visit(path)
		if b.status() == http.StatusConflict || b.status() == http.StatusNotFound && b.isGone(path, on) { // another test has changed the object; the crawl finds others of its kind
			continue
		}
		seen = append(seen, kind)
		for _, to := range b.links() {
			next = append(next, link{to, path})
		}
		b.checkPage(name+strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(strings.TrimPrefix(kind, "/dashboard")), axeFor(name, kind))
	}
	return seen
}

// axeFor reports whether axe-core checks the page of a person: those of the admin that are named above. A viewer sees
// less on them, and the others are documentation like the named ones. In the proofs it checks all.
func axeFor(person, kind string) bool {
	return testsize.Proof() || person == "admin" && (slices.Contains(everyonesPages, kind) || slices.Contains(adminPages, kind))
}

// link is a link to a page, and the page that it is on.
type link struct{ to, on string }

// isGone reports whether a page has no link to a path any more. Else it goes back to the path.
func (b *browser) isGone(path, on string) bool {
	b.t.Helper()
	b.visit(on)
	if slices.Contains(b.links(), path) {
		b.visit(path)
		return false
	}
	return true
}

// status returns the HTTP status of the page.
func (b *browser) status() int {
	b.t.Helper()
	return read(b, "read the status", chromedp.Evaluate[int](`performance.getEntriesByType("navigation")[0].responseStatus`))
}

// kindOf returns a page's path with "one" in place of ids.
func kindOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return identifier.ReplaceAllString(path, "/one")
}

// links returns the dashboard paths of the page's links and search forms.
func (b *browser) links() []string {
	b.t.Helper()
	return read(b, "read the links", chromedp.Evaluate[[]string](
		`[...document.links, ...[...document.forms].filter(f => f.method === "get").map(f => new URL(f.action))].filter(a => a.origin === location.origin && (a.pathname + "/").startsWith("/dashboard/")).map(a => a.pathname + a.search)`))
}
