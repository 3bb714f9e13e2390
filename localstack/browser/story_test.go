package browser_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const credentials = "/dashboard/settings/credentials"

// From the sign-in to a campaign's result, and to the end of the credential.
func TestFromTheFirstCredentialToItsEnd(t *testing.T) {
	t.Parallel()
	b := open(t, "pt-BR")
	b.signIn(b.env["DASHBOARD_EMAIL"])
	name := "Loja <b>online</b> " + rand.Text()[:8]
	id, secret := b.generate(name)

	status, token := b.token(id, secret)
	if status != http.StatusOK {
		t.Fatalf("the new credential gets no token: %d %s", status, token.Error)
	}
	call := b.call("Primeira campanha "+rand.Text()[:8],
		fields{"phone": "21" + number(), "uid": "a"}, fields{"phone": "21900000001", "uid": "unreachable"}, fields{"phone": "12", "uid": "no number"})
	call["schedule"] = time.Now().Add(toLook).UTC().Format(time.RFC3339)
	if status, got := b.dispatch(token.AccessToken, call); status != http.StatusAccepted || got.Accepted != 2 || got.Rejected != 1 {
		t.Fatalf("dispatch answered %d %+v", status, got)
	}
	b.watch(call)
	if b.rotate(id) == secret {
		t.Error("the rotation gives the same secret")
	}
	b.revoke(id, name)

	if status, got := b.dispatch(token.AccessToken, b.call("Depois "+rand.Text(), fields{"phone": "21" + number(), "uid": "b"})); status != http.StatusUnauthorized || got.Code != "invalid_token" {
		t.Errorf("a token of the revoked credential: %d %s, want 401 invalid_token", status, got.Code)
	}
	if status, got := b.token(id, secret); status != http.StatusUnauthorized || got.Error != "invalid_client" {
		t.Errorf("the revoked credential: %d %s, want 401 invalid_client", status, got.Error)
	}
}

// generate makes a credential, whose secret is shown this once.
func (b *browser) generate(name string) (id, secret string) {
	b.t.Helper()
	b.visit(credentials)
	b.click(`a[href="`+credentials+`/new"]`, `#name`)
	b.check("credentials-new")
	b.run("name it", chromedp.SendKeys(`#name`, name))
	b.click(`main form button`, `#client-secret`)
	id, secret = b.text(`#client-id`), b.text(`#client-secret`)
	b.check("credentials-secret")
	b.visit(credentials)
	if shown := b.text(`main`); strings.Contains(shown, secret) || !strings.Contains(shown, id) || !strings.Contains(shown, name) {
		b.t.Error("the list does not show the credential with its name as it was written, and without its secret")
	}
	b.check("credentials-list")
	return id, secret
}

// toLook is how soon a campaign is sent: its page is there before.
const toLook = 15 * time.Second

// watch looks at a campaign that is to be sent until the page, of itself, shows it
// completed.
func (b *browser) watch(call fields) {
	b.t.Helper()
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string))
	b.run("see that it asks for news", chromedp.WaitVisible(`#live[hx-get]`))
	b.run("mark the page", chromedp.Evaluate[chromedp.Void](`window.same = true; undefined`))
	b.run("see it completed", chromedp.WaitVisible(`#live:not([hx-get]) .under .tag.good`))
	if !read(b, "look for the mark", chromedp.Evaluate[bool](`window.same === true`)) {
		b.t.Error("the page was loaded again; it is to update itself")
	}
	b.check("campaign-completed")
	if got := read(b, "read the funnel", chromedp.Evaluate[[]string](`[...document.querySelectorAll(".funnel .many")].map(e => e.textContent)`)); strings.Join(got, " ") != "2 1 1 1" {
		b.t.Errorf("accepted, sent, delivered, read: %v, want 2 1 1 1", got)
	}
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string) + "/messages?uid=unreachable")
	if found := b.text(`table.cards`); !strings.Contains(found, "900000001") {
		b.t.Errorf("the search for a message finds %s", found)
	}
	b.check("campaign-messages-found")
	b.visit("/dashboard/campaigns?q=" + strings.ReplaceAll(call["name"].(string), " ", "+"))
	if !strings.Contains(b.text(`main`), call["name"].(string)) {
		b.t.Error("the search does not find the campaign")
	}
	b.check("campaigns-search")
}

// rotate gives a credential a second secret, which is shown this once.
func (b *browser) rotate(id string) (secret string) {
	b.t.Helper()
	b.visit(credentials)
	b.click(`a[href="`+credentials+`/`+id+`/rotate"]`, `input[name="keep"]`)
	b.click(`main form button`, `#client-secret`)
	b.check("credentials-rotated")
	return b.text(`#client-secret`)
}

// revoke ends a credential.
func (b *browser) revoke(id, name string) {
	b.t.Helper()
	b.visit(credentials)
	b.click(`a[href="`+credentials+`/`+id+`/revoke"]`, `button.danger`)
	if !strings.Contains(b.text(`main`), name) {
		b.t.Error("the page that asks does not name the credential")
	}
	b.check("credentials-revoke")
	b.click(`button.danger`, `.notice.good`)
	b.check("credentials-revoked")
	b.visitRefused(credentials+"/"+id+"/rotate", http.StatusConflict)
	b.check("credentials-revoked-rotate")
	b.visit("/dashboard/settings/audit")
	if !strings.Contains(b.text(`main`), name) {
		b.t.Error("the audit log does not tell of the credential")
	}
}

// number returns the end of a number that nobody else uses: nine digits whose
// fate is to be read.
func number() string {
	digits := make([]byte, 7)
	if _, err := rand.Read(digits); err != nil {
		panic(err)
	}
	for i, d := range digits {
		digits[i] = '0' + d%10
	}
	return "98" + string(digits)
}
