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

// A credential is created, used for a campaign, rotated and revoked.
func TestCredential_Lifecycle(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	name := "Loja <b>online</b> " + rand.Text()[:8]
	id, secret := b.generate(name)

	status, token := b.token(id, secret)
	if status != http.StatusOK {
		t.Fatalf("token of the new credential: %d %s, want 200", status, token.Error)
	}
	call := b.call("Primeira campanha "+rand.Text()[:8],
		fields{"phone": "21" + number(), "uid": "a"}, fields{"phone": "21900000001", "uid": "unreachable"}, fields{"phone": "12", "uid": "no number"})
	call["schedule"] = time.Now().Add(leadTime).UTC().Format(time.RFC3339)
	if status, got := b.dispatch(token.AccessToken, call); status != http.StatusAccepted || got.Accepted != 2 || got.Rejected != 1 {
		t.Fatalf("dispatch: %d %+v, want 202 with 2 accepted and 1 rejected", status, got)
	}
	b.watch(call)
	if b.rotate(id) == secret {
		t.Error("the rotated secret is the same")
	}
	b.revoke(id, name)

	if status, got := b.dispatch(token.AccessToken, b.call("Depois "+rand.Text(), fields{"phone": "21" + number(), "uid": "b"})); status != http.StatusUnauthorized || got.Code != "invalid_token" {
		t.Errorf("token of the revoked credential: %d %s, want 401 invalid_token", status, got.Code)
	}
	if status, got := b.token(id, secret); status != http.StatusUnauthorized || got.Error != "invalid_client" {
		t.Errorf("revoked credential: %d %s, want 401 invalid_client", status, got.Error)
	}
}

// generate creates a credential. Only this page shows its secret.
func (b *browser) generate(name string) (id, secret string) {
	b.t.Helper()
	b.visit(credentials)
	b.click(`a[href="`+credentials+`/new"]`, `#name`)
	b.check("credentials-new")
	b.run("enter the name", chromedp.SendKeys(`#name`, name))
	b.click(`main form button`, `#client-secret`)
	id, secret = b.text(`#client-id`), b.text(`#client-secret`)
	b.check("credentials-secret")
	b.visit(credentials)
	if shown := b.text(`main`); strings.Contains(shown, secret) || !strings.Contains(shown, id) || !strings.Contains(shown, name) {
		b.t.Error("the list must show the credential's id and name, and not its secret")
	}
	b.check("credentials-list")
	return id, secret
}

// leadTime is the time until the campaign is due, long enough to open its page before.
const leadTime = 15 * time.Second

// watch opens a scheduled campaign's page and waits until it shows the campaign as
// completed without a reload.
func (b *browser) watch(call fields) {
	b.t.Helper()
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string))
	b.run("wait for the live updates", chromedp.WaitVisible(`#live[hx-get]`))
	b.run("mark the page", chromedp.Evaluate[chromedp.Void](`window.same = true; undefined`))
	b.run("wait for the completed state", chromedp.WaitVisible(`#head .tag.good`))
	if !read(b, "read the mark", chromedp.Evaluate[bool](`window.same === true`)) {
		b.t.Error("the page was reloaded, want an update in place")
	}
	b.check("campaign-completed")
	b.awaitFunnel("/dashboard/campaigns/"+call["campaignId"].(string), "2 1 1 1")
	b.visit("/dashboard/campaigns/" + call["campaignId"].(string) + "/messages?uid=unreachable")
	if found := b.text(`table.cards`); !strings.Contains(found, "900000001") {
		b.t.Errorf("the search for a message found %s, want the number", found)
	}
	b.check("campaign-messages-found")
	b.visit("/dashboard/campaigns?q=" + strings.ReplaceAll(call["name"].(string), " ", "+"))
	if !strings.Contains(b.text(`main`), call["name"].(string)) {
		b.t.Error("the search did not find the campaign")
	}
	b.check("campaigns-search")
}

// awaitFunnel loads a campaign's page until it shows the counts: accepted, sent, delivered
// and read. A campaign is completed once its messages are delivered, so reads can follow.
func (b *browser) awaitFunnel(path, want string) {
	b.t.Helper()
	var got string
	for end := time.Now().Add(actionTimeout); time.Now().Before(end); b.visit(path) {
		got = strings.Join(read(b, "read the funnel", chromedp.Evaluate[[]string](
			`[...document.querySelectorAll(".funnel .many")].map(e => e.textContent)`)), " ")
		if got == want {
			return
		}
	}
	b.t.Errorf("accepted, sent, delivered, read: %s, want %s", got, want)
}

// rotate rotates the secret of a credential. Only this page shows the new secret.
func (b *browser) rotate(id string) (secret string) {
	b.t.Helper()
	b.visit(credentials)
	b.click(`a[href="`+credentials+`/`+id+`/rotate"]`, `input[name="keep"]`)
	b.click(`main form button`, `#client-secret`)
	b.check("credentials-rotated")
	return b.text(`#client-secret`)
}

// revoke revokes a credential.
func (b *browser) revoke(id, name string) {
	b.t.Helper()
	b.visit(credentials)
	b.click(`a[href="`+credentials+`/`+id+`/revoke"]`, `button.danger`)
	if !strings.Contains(b.text(`main`), name) {
		b.t.Error("the confirmation page does not show the credential's name")
	}
	b.check("credentials-revoke")
	b.click(`button.danger`, `.notice.good`)
	b.check("credentials-revoked")
	b.visitRefused(credentials+"/"+id+"/rotate", http.StatusConflict)
	b.check("credentials-revoked-rotate")
	b.visit("/dashboard/settings/audit")
	if !strings.Contains(b.text(`main`), name) {
		b.t.Error("the audit log does not show the credential's name")
	}
}

// number returns nine random digits of a phone number whose messages are delivered and
// read.
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
