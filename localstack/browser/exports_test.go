package browser_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// An admin exports a campaign by keyboard, follows the progress and gets the link.
func TestExport(t *testing.T) {
	t.Parallel()
	b := open(t, "pt-BR")
	_, token := b.token(b.env["CLIENT_ID"], b.env["CLIENT_SECRET"])
	call := b.call("Exportada "+rand.Text()[:8], fields{"phone": "21" + number(), "uid": "a"}, fields{"phone": "12", "uid": "b"})
	if status, got := b.dispatch(token.AccessToken, call); status != http.StatusAccepted {
		t.Fatalf("dispatch: %d %+v, want 202", status, got)
	}
	b.signIn(b.env["DASHBOARD_EMAIL"])
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string))
	b.tabTo(`#export`)
	b.run("open the exports", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`form[action$="/exports"]`))
	b.check("exports-new")
	b.tabTo(`form[action$="/exports"] button`)
	b.run("start the export and wait for the file", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`a[id^="file-"]`))
	b.check("exports-completed")
	b.run("choose the rejected numbers", chromedp.Click(`input[value="rejected"]`))
	b.click(`form[action$="/exports"] button`, `#exports tr:nth-child(2)`)
	b.run("wait for both files", chromedp.WaitVisible(`#exports:not([hx-get])`))
	if shown := b.text(`#exports`); !strings.Contains(shown, "Números inválidos") || strings.Count(shown, "1 linha.") != 2 {
		t.Errorf("the list shows %s", shown)
	}
}
