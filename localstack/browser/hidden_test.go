package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// updating is a page with the scripts of the dashboard, which updates itself in an interval. Its own script hides it, and
// counts in data-asked how often htmx was about to ask for an update.
type updating struct {
	*httptest.Server

	answers atomic.Int64
}

func newUpdating(t *testing.T, every string) *updating {
	t.Helper()
	u, mux := &updating{}, http.NewServeMux()
	part := func(n int64) string {
		return fmt.Sprintf(`<div id="live" hx-get="/part" hx-trigger="every %s" hx-swap="outerHTML">%d</div>`, every, n)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><title>x</title><link rel="icon" href="data:,">`,
			`<meta name="htmx-config" content='{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true}'>`,
			`<script src="/htmx.min.js" defer></script><script src="/app.js" defer></script><script src="/own.js" defer></script>`,
			`<main>`, part(0), `</main>`)
	})
	mux.HandleFunc("GET /part", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, part(u.answers.Add(1)))
	})
	mux.HandleFunc("GET /own.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = fmt.Fprint(w, `addEventListener("htmx:beforeRequest", () => { document.body.dataset.asked = Number(document.body.dataset.asked ?? 0) + 1; });
addEventListener("htmx:load", () => { document.body.dataset.ready = ""; });
window.hide = (hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.body.dataset.asked = 0;
  document.dispatchEvent(new Event("visibilitychange"));
};`)
	})
	mux.Handle("GET /", http.FileServer(http.Dir("../../internal/dashboard/web/assets")))
	u.Server = httptest.NewServer(mux)
	t.Cleanup(u.Close)
	return u
}

// A page whose tab is hidden does not update itself. It does at once when the tab is shown again.
func TestUpdates_HiddenTab(t *testing.T) {
	t.Parallel()
	hide := func(hidden bool) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`hide(%t); undefined`, hidden))
	}
	b, often := open(t, "en-US"), newUpdating(t, "50ms")
	b.run("see updates, then hide the page", chromedp.Navigate(often.URL), chromedp.WaitVisible(`//div[@id="live" and number(.) >= 2]`), hide(true),
		chromedp.WaitVisible(`//body[@data-asked >= 2]`)) // what was asked before is answered
	answers := often.answers.Load()
	b.run("wait", chromedp.WaitVisible(`//body[@data-asked >= 6]`))
	if now := often.answers.Load(); now != answers {
		t.Errorf("%d updates while the page was hidden", now-answers)
	}
	b.run("show the page", hide(false), chromedp.WaitVisible(fmt.Sprintf(`//div[@id="live" and number(.) >= %d]`, answers+2)))

	rarely := newUpdating(t, "600m")
	b.run("hide and show", chromedp.Navigate(rarely.URL), chromedp.WaitVisible(`body[data-ready] #live`), hide(true), hide(false),
		chromedp.WaitVisible(`//div[@id="live" and .="1"]`))
}
