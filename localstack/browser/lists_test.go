package browser_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/localstack/stackenv"
)

// A list gets numbers from a file, holds a message back, shows in which campaign, and is deleted. The tenant is not the one
// whose pages other tests look at.
func TestLists(t *testing.T) {
	t.Parallel()
	shop := &browser{t: t, env: stackenv.Load(t)}
	shop.env["TEMPLATE_ID_PLAIN"] = shop.env["OTHER_TEMPLATE_ID"]
	_, token := shop.token(shop.env["OTHER_CLIENT_ID"], shop.env["OTHER_CLIENT_SECRET"])
	name, held, other := "lista-"+strings.ToLower(rand.Text()[:8]), "21"+number(), "21"+number()
	b := open(t, "pt-BR")
	b.signIn(b.env["DASHBOARD_OTHER_EMAIL"])
	b.visit("/dashboard/lists")
	b.run("enter the list", chromedp.SendKeys(`#name`, name), chromedp.SendKeys(`#reason`, "Lei estadual 17.334/2021"))
	b.click(`main form button`, `.notice.good`)
	b.check("list-new")
	b.chooseFile("quem;onde\nAna;" + held + "\nBia;" + other + "\nRui;123\n")
	b.click(`main form[action$="/numbers"] .actions button`, `#column`)
	b.check("list-columns")
	b.run("choose the column", chromedp.SetValue(`#column`, "1"))
	b.click(`main form[method="get"] button`, `button[value="add"]`)
	b.check("list-review")
	b.click(`button[value="add"]`, `.notice.good`)
	b.searchList(held, "está na lista")
	campaign := "Com lista " + rand.Text()[:8]
	if status, got := shop.dispatch(token.AccessToken, shop.call(campaign, fields{"phone": held, "uid": "a"}, fields{"phone": "21" + number(), "uid": "b"})); status != http.StatusAccepted {
		t.Fatalf("dispatch: %d %+v, want 202", status, got)
	}
	b.seeHeld(name, campaign)
	b.check("list")
	b.visit("/dashboard/lists/" + name + "/held")
	b.check("list-held")
	b.visit(read(b, "find the campaign", chromedp.Evaluate[string](`document.querySelector("main table a").getAttribute("href")`)))
	if page := b.text("main"); !strings.Contains(page, name) {
		t.Errorf("the campaign does not show the list:\n%s", page)
	}
	b.chooseFileOf(name, held+"\n"+manyNumbers()) // in chunks
	b.check("list-review-large")
	b.click(`button[value="remove"]`, `.notice.good`)
	b.searchList(held, "não está na lista")
	b.visit("/dashboard/lists")
	b.check("lists")
	b.visit("/dashboard/lists/" + name)
	b.run("confirm", chromedp.Click(`input[name="confirm"]`))
	b.click(`main form[action$="/delete"] button`, `.notice.good`)
	if page := b.text("main"); strings.Contains(page, name) {
		t.Errorf("the deleted list is there:\n%s", page)
	}
}

// manyNumbers returns the lines of a file that is too large for a form.
func manyNumbers() string {
	var lines strings.Builder
	for i := 0; lines.Len() <= web.MaxForm; i++ {
		fmt.Fprintf(&lines, "2197%07d\n", i)
	}
	return lines.String()
}

// chooseFileOf sends a file for a list.
func (b *browser) chooseFileOf(name, content string) {
	b.t.Helper()
	b.visit("/dashboard/lists/" + name)
	b.chooseFile(content)
	b.click(`main form[action$="/numbers"] .actions button`, `#column`)
}

// searchList searches a number on the list's page.
func (b *browser) searchList(phone, want string) {
	b.t.Helper()
	b.run("enter the number", chromedp.SetValue(`#phone`, phone))
	b.click(`main form[action$="/search"] button`, `.notice[role="status"]`)
	if said := b.text(`.notice[role="status"]`); !strings.Contains(said, want) {
		b.t.Errorf("the search says %q, want %q", said, want)
	}
}

// seeHeld waits until the list's page shows a message that the list held back in a campaign.
func (b *browser) seeHeld(name, campaign string) {
	b.t.Helper()
	for until := time.Now().Add(2 * time.Minute); ; {
		b.visit("/dashboard/lists/" + name + "/held")
		if strings.Contains(b.text("main"), campaign) {
			break
		}
		if time.Now().After(until) {
			b.t.Fatalf("the list's page does not show the campaign:\n%s", b.text("main"))
		}
	}
	b.visit("/dashboard/lists/" + name)
	b.run("wait for the campaigns", chromedp.WaitVisible(`main table a`))
}
