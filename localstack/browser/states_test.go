package browser_test

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/base/random"
)

// Pages without a link: rejected forms, an expired session, a user without a role, and
// the sign-out.
func TestErrorPages(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.visitRefused("/dashboard/nowhere", http.StatusNotFound)
	b.check("not-found")
	b.refusedForms()
	b.writeCard()
	b.expireSession()
	b.signInWithoutRole()
}

// refusedForms submits forms that the browser's validation would block.
func (b *browser) refusedForms() {
	b.t.Helper()
	for _, test := range []struct{ name, page, form, fill string }{
		{"credentials", credentials + "/new", `main form`, ""},
		{"webhooks", "/dashboard/settings/webhooks/new", `main form`, `document.querySelector("#url").value = "http://[::1"`},
		{"billing", "/dashboard/settings/billing", `main form`, `document.querySelector("#basic").value = "1.000,00"`},
		{"sending", "/dashboard/campaigns/new", `main form`, ""},
		{"template-test", "/dashboard/templates/" + b.env["TEMPLATE_ID"], `#test form`, `document.querySelector("#test-phone").value = "12"`},
	} {
		b.visit(test.page)
		b.run("fill in "+test.form, chromedp.Evaluate[chromedp.Void](test.fill+`; undefined`))
		b.sendRefused(test.form, http.StatusUnprocessableEntity)
		b.run("wait for the error", chromedp.WaitVisible(`[role="alert"]`))
		b.check(test.name + "-refused")
	}
}

// imageLoaded waits for the image in the phone preview.
var imageLoaded = chromedp.Poll[chromedp.Void](`document.querySelector(".phone img")?.naturalWidth > 0`)

// writeCard creates a rich card, first without its required name, and a campaign up to
// the review. Every phone preview shows the card's image.
func (b *browser) writeCard() {
	b.t.Helper()
	b.serveImage("https://m") // also while the URL is typed
	b.visit("/dashboard/templates/new")
	b.run("fill in the form", chromedp.Click(`#kind-card`), chromedp.SendKeys(`#card-title`, "Oferta para {{nome}}"),
		chromedp.SendKeys(`#card-description`, "Só hoje."), chromedp.SendKeys(`#card-media`, "https://media.example/oferta.png"),
		chromedp.Click(`button[value="add card-s"]`), chromedp.WaitVisible(`#card-s1-text`), chromedp.SendKeys(`#card-s1-text`, "Quero"),
		chromedp.WaitVisible(`#preview .replies`), imageLoaded)
	b.check("template-card")
	b.sendRefused(`main form`, http.StatusUnprocessableEntity)
	b.run("wait for the error and the image", chromedp.WaitVisible(`[role="alert"]`), imageLoaded)
	b.check("template-card-refused")
	word := rand.Text()[:8]
	b.run("enter the name", chromedp.SendKeys(`#name`, "Oferta "+word))
	b.click(`.actions button:not(.no-script)`, `a[href$="/edit"]`)
	b.run("wait for the template's image", imageLoaded)
	b.upload("Oferta "+word, "phone;uid;nome\n21"+number()+";a;Ana\n", "")
	b.run("wait for the first message's image", imageLoaded)
	b.check("sending-review-card")
}

// serveImage returns an image for all requests to a host.
func (b *browser) serveImage(host string) {
	b.t.Helper()
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		b.t.Fatal(err)
	}
	err = chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			go func() { // the browser sends no further events until this function returns
				_, _ = chromedp.Call(b.ctx, fetch.FulfillRequest, fetch.FulfillRequestParams{
					RequestID: e.RequestID, ResponseCode: http.StatusOK, Body: png,
					ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "image/png"}},
				})
			}()
		}
	})
	if err == nil {
		_, err = chromedp.Call(b.ctx, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: host + "*"}}})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// expireSession submits a form with a wrong CSRF token, then one after the session's
// cookies are deleted.
func (b *browser) expireSession() {
	b.t.Helper()
	b.visit(credentials + "/new")
	b.run("change the CSRF token", chromedp.Evaluate[chromedp.Void](`document.querySelector("main input[name=csrf]").value = "x"`))
	b.sendRefused(`main form`, http.StatusForbidden)
	b.check("forbidden")
	b.visit("/dashboard/templates/new")
	if _, err := chromedp.Call(b.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		b.t.Fatal(err)
	}
	b.run("enter a text", chromedp.SendKeys(`#body`, "Oi"), chromedp.WaitVisible(`#over [role="alert"]`))
	b.check("session-over-within")
	b.sendRefused(`main form`, http.StatusUnauthorized)
	b.check("session-over")
}

// signInWithoutRole signs in a user without a role, then signs out.
func (b *browser) signInWithoutRole() {
	b.t.Helper()
	email, ctx := "nobody-"+random.UUID()+"@example.com", b.t.Context()
	pool := cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(b.env.AWS()), ID: b.env["USER_POOL_ID"]}
	_, err := pool.Client.AdminCreateUser(ctx, &cognitoidentityprovider.AdminCreateUserInput{
		UserPoolId: &pool.ID, Username: &email, MessageAction: types.MessageActionTypeSuppress,
		UserAttributes: []types.AttributeType{{Name: aws.String("email"), Value: &email}, {Name: aws.String("email_verified"), Value: aws.String("true")}},
	})
	if err == nil {
		err = pool.SetPassword(ctx, email, b.env["DASHBOARD_PASSWORD"])
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.signIn(email)
	if at := b.path(); !strings.HasPrefix(at, "/dashboard/sign-in/callback?") {
		b.t.Errorf("a user without a role is at %.40s, want /dashboard/sign-in/callback", at)
	}
	b.check("no-place")
	b.click(`form[action="/dashboard/sign-out"] button`, `main a.button[href="/dashboard"]`)
	if at := b.path(); at != "/dashboard/signed-out" {
		b.t.Errorf("sign-out leads to %s, want /dashboard/signed-out", at)
	}
	b.check("signed-out")
}
