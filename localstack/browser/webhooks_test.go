package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Somebody registers an endpoint, tries it, and switches it off.
func TestAnEndpointOfWebhooks(t *testing.T) {
	t.Parallel()
	const webhooks = "/dashboard/settings/webhooks"
	b := open(t, "pt-BR")
	b.signIn(b.env["DASHBOARD_OTHER_EMAIL"])
	b.visit(webhooks)
	b.check("webhooks")
	b.click(`a[href="`+webhooks+`/new"]`, `#url`)
	b.check("webhooks-new")
	b.run("fill in the form", chromedp.SendKeys(`#url`, b.env["WEBHOOK_SINK_URL"]+"/webhooks"))
	b.click(`main form button`, `#signing-secret`)
	secret := b.text(`#signing-secret`)
	if !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("the secret is %.6s…, want whsec_", secret)
	}
	b.check("webhooks-secret")
	b.click(`main .actions a.button`, `form[action$="/test"] button`)
	if strings.Contains(read(b, "read the page", chromedp.OuterHTML(`html`)), secret) {
		t.Error("the secret is shown again")
	}
	endpoint := b.path()
	b.run("try it", chromedp.Click(`form[action$="/test"] button`), chromedp.WaitVisible(`#tested .notice`))
	b.check("webhooks-tested")
	for _, page := range []string{"kinds", "rotate", "off"} {
		b.click(`a[href$="/`+page+`"]`, `form.narrow[action$="/`+page+`"]`)
		b.check("webhooks-" + page)
		b.visit(endpoint)
	}
	b.click(`a[href$="/off"]`, `button.danger`)
	b.click(`button.danger`, `form[action$="/on"] button`)
	b.check("webhooks-switched-off")
}
