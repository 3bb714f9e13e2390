package browser_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The list shows the results of a campaign without a reload, and the campaign's page shows
// its message.
func TestResults(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	_, token := b.token(b.env["CLIENT_ID"], b.env["CLIENT_SECRET"])
	name := "Ofertas de inverno " + rand.Text()[:8]
	later := b.call("Liquidação "+rand.Text()[:8], fields{"phone": "21" + number(), "uid": "a"})
	later["schedule"] = time.Now().AddDate(0, 0, 1).UTC().Format(time.RFC3339)
	call := b.call(name, fields{"phone": "21" + number(), "uid": "a", "vars": fields{"nome": "Ana", "pedido": "A-17"}}, fields{"phone": "21900000001", "uid": "unreachable", "vars": fields{"nome": "Bia", "pedido": "B-2"}})
	call["templateId"] = b.env["TEMPLATE_ID_CAROUSEL"]
	for _, c := range []fields{later, call} {
		if status, got := b.dispatch(token.AccessToken, c); status != http.StatusAccepted {
			t.Fatalf("dispatch: %d %+v, want 202", status, got)
		}
	}
	b.visit("/dashboard/campaigns?q=" + strings.ReplaceAll(name, " ", "+"))
	row := `#row-` + call["campaignId"].(string)
	b.run("mark the page", chromedp.Evaluate[chromedp.Void](`window.same = true; undefined`))
	b.run("wait for the completed state", chromedp.WaitVisible(row+` .tag.good`))
	if !read(b, "read the mark", chromedp.Evaluate[bool](`window.same === true`)) {
		t.Error("the list was reloaded, want an update in place")
	}
	if text := b.text(row); !strings.Contains(text, "\t2\t100%\t") || !strings.HasSuffix(text, "\t1") {
		t.Errorf("the row says %q, want 2 people, all sent messages delivered, and 1 not delivered", text)
	}
	b.visit("/dashboard/campaigns")
	b.check("campaigns-results")
	b.click(`a[href="/dashboard/campaigns/`+call["campaignId"].(string)+`"]`, `.phone`)
	b.run("wait for the number of opt-outs", chromedp.WaitNotPresent(`#opt-outs`))
	if text := b.text(`[aria-labelledby=opt-outs-title]`); !strings.Contains(text, "nenhum destinatário") {
		t.Errorf("opt-outs since the campaign was sent: %q", text)
	}
	b.chart()
	b.check("campaign-message")
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string) + "/optouts")
	b.check("campaign-optouts")
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string) + "/replies")
	b.check("campaign-replies")
	b.visit("/dashboard/campaigns?sort=-delivered")
	b.check("campaigns-sorted")
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string) + "/messages?status=tapped")
	b.check("campaign-tapped")
}

// chart chooses points of the page's chart by keyboard. The page shows the values that it says.
func (b *browser) chart() {
	b.t.Helper()
	b.tabTo(`#plot`)
	said := func() string {
		return read(b, "read the chosen point", chromedp.Evaluate[string](`document.querySelector("#plot").getAttribute("aria-valuetext")`))
	}
	b.run("choose the first point", chromedp.KeyEvent(kb.Home), chromedp.WaitVisible(`.tip`))
	first := said()
	b.run("choose the last point", chromedp.KeyEvent(kb.End))
	if last := said(); first == last || !strings.HasPrefix(last, b.text(`.tip strong`)) || !strings.Contains(last, "Enviadas: 1, ") {
		b.t.Errorf("the chart says %q at first and %q at last, and shows %q", first, last, b.text(`.tip`))
	}
}
