package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
)

// newUpdatingList is a list that updates one of its two rows in short intervals, as the list of campaigns does.
func newUpdatingList(t *testing.T) *httptest.Server {
	t.Helper()
	var answers atomic.Int64
	asks := `<tr id="rows" hidden hx-get="/part" hx-trigger="every 50ms" hx-swap="outerHTML"></tr>`
	row := func(id, update string, n int64) string {
		return fmt.Sprintf("\n"+`<tr id="row-%[1]s"%[2]s><td><a id="open-%[1]s" href="/">%[1]s</a></td><td class="number">%[3]d</td></tr>`, id, update, n)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><title>x</title><link rel="icon" href="data:,">`,
			`<meta name="htmx-config" content='{"includeIndicatorStyles":false,"allowEval":false,"selfRequestsOnly":true}'>`,
			`<script src="/htmx.min.js" defer></script><script src="/app.js" defer></script>`,
			`<main><table><tbody>`, asks, row("a", "", 0), row("b", "", 0), `</tbody></table></main>`)
	})
	mux.HandleFunc("GET /part", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, asks, row("a", ` hx-swap-oob="true"`, answers.Add(1)), "\n")
	})
	mux.Handle("GET /", http.FileServer(http.Dir("../../internal/dashboard/web/assets")))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// An update of a list replaces the rows that it has, leaves the others, keeps the focus, and goes on.
func TestUpdates_Rows(t *testing.T) {
	t.Parallel()
	b, list := open(t, "en-US"), newUpdatingList(t)
	b.run("open the list", chromedp.Navigate(list.URL), chromedp.WaitVisible(`#row-a`),
		chromedp.Evaluate[chromedp.Void](`document.getElementById("open-a").focus(); undefined`),
		chromedp.WaitVisible(`//tr[@id="row-a" and number(td[2]) >= 3]`))
	const parts = `[document.activeElement.id, ...[...document.querySelectorAll("tbody")].map((e) => [...e.children].map((r) => r.id).join(" ")),
document.querySelector("#row-b .number").textContent].join("; ")`
	if got, want := read(b, "read the list", chromedp.Evaluate[string](parts)), "open-a; rows row-a row-b; 0"; got != want {
		t.Errorf("after updates the list has %q, want %q", got, want)
	}
}
