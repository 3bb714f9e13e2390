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
	"campaign-dispatch/localstack/uuid"
)

// Pages that no link leads to: what is refused, a session that is over, an account
// without a role, and the end of a session.
func TestPagesThatNobodyHopesFor(t *testing.T) {
	t.Parallel()
	b := open(t, "pt-BR")
	b.signIn(b.env["DASHBOARD_EMAIL"])
	b.visitRefused("/dashboard/nowhere", http.StatusNotFound)
	b.check("not-found")
	b.refusedForms()
	b.writeCard()
	b.loseSession()
	b.noPlace()
}

// refusedForms sends forms that the browser would not have sent.
func (b *browser) refusedForms() {
	b.t.Helper()
	for _, test := range []struct{ name, page, form, fill string }{
		{"credentials", credentials + "/new", `main form`, ""},
		{"webhooks", "/dashboard/settings/webhooks/new", `main form`, `document.querySelector("#url").value = "http://[::1"`},
		{"sending", "/dashboard/campaigns/new", `main form`, ""},
		{"template-test", "/dashboard/templates/" + b.env["TEMPLATE_ID"], `#test form`, `document.querySelector("#test-phone").value = "12"`},
	} {
		b.visit(test.page)
		b.run("fill in "+test.form, chromedp.Evaluate[chromedp.Void](test.fill+`; undefined`))
		b.sendRefused(test.form, http.StatusUnprocessableEntity)
		b.run("see why", chromedp.WaitVisible(`[role="alert"]`))
		b.check(test.name + "-refused")
	}
}

// pictured waits for the picture that a phone shows.
var pictured = chromedp.Poll[chromedp.Void](`document.querySelector(".phone img")?.naturalWidth > 0`)

// writeCard writes a rich card, at first without a name, up to the review of a
// campaign. Every phone on the way shows its picture.
func (b *browser) writeCard() {
	b.t.Helper()
	b.picture("https://media.example/")
	b.visit("/dashboard/templates/new")
	b.run("write", chromedp.Click(`#kind-card`), chromedp.SendKeys(`#title`, "Oferta para {{nome}}"),
		chromedp.SendKeys(`#description`, "Só hoje."), chromedp.SendKeys(`#media`, "https://media.example/oferta.png"),
		chromedp.SendKeys(`input[name="suggestion"]`, "Quero"),
		chromedp.WaitVisible(`#preview .replies`), pictured)
	b.check("template-card")
	b.sendRefused(`main form`, http.StatusUnprocessableEntity)
	b.run("see why, and the picture still", chromedp.WaitVisible(`[role="alert"]`), pictured)
	b.check("template-card-refused")
	word := rand.Text()[:8]
	b.run("name it", chromedp.SendKeys(`#name`, "Oferta "+word))
	b.click(`.actions button:not(.no-script)`, `a[href$="/edit"]`)
	b.run("see the picture of the template", pictured)
	b.upload("Oferta "+word, "phone;uid;nome\n21"+number()+";a;Ana\n", "")
	b.run("see the picture of the first message", pictured)
	b.check("sending-review-card")
}

// picture answers what the browser asks of a host with a picture.
func (b *browser) picture(host string) {
	b.t.Helper()
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		b.t.Fatal(err)
	}
	err = chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			go func() { // the browser tells of nothing more until this function returns
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

// loseSession goes on writing when the session is over, and then sends what was
// written: once from another session's page, once from none.
func (b *browser) loseSession() {
	b.t.Helper()
	b.visit(credentials + "/new")
	b.run("spoil the token", chromedp.Evaluate[chromedp.Void](`document.querySelector("main input[name=csrf]").value = "x"`))
	b.sendRefused(`main form`, http.StatusForbidden)
	b.check("forbidden")
	b.visit("/dashboard/templates/new")
	if _, err := chromedp.Call(b.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		b.t.Fatal(err)
	}
	b.run("write", chromedp.SendKeys(`#text`, "Oi"), chromedp.WaitVisible(`#over [role="alert"]`))
	b.check("session-over-within")
	b.sendRefused(`main form`, http.StatusUnauthorized)
	b.check("session-over")
}

// noPlace signs in somebody who has no role, and out again.
func (b *browser) noPlace() {
	b.t.Helper()
	email, ctx := "nobody-"+uuid.New()+"@example.com", b.t.Context()
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
		b.t.Errorf("somebody without a role is at %.40s", at)
	}
	b.check("no-place")
	b.click(`form[action="/dashboard/sign-out"] button`, `main a.button[href="/dashboard"]`)
	if at := b.path(); at != "/dashboard/signed-out" {
		b.t.Errorf("signing out leads to %s", at)
	}
	b.check("signed-out")
}
