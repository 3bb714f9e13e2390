package browser_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/chromedp/chromedp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/webhook/delivery"
)

// A user registers, tests, rotates and disables an endpoint.
func TestWebhookEndpoint(t *testing.T) {
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
		t.Errorf("the secret starts with %.6s, want whsec_", secret)
	}
	b.check("webhooks-secret")
	b.click(`main .actions a.button`, `form[action$="/test"] button`)
	if strings.Contains(read(b, "read the page", chromedp.OuterHTML(`html`)), secret) {
		t.Error("the next page shows the secret again")
	}
	endpoint := b.path()
	b.run("send a test webhook", chromedp.Click(`form[action$="/test"] button`), chromedp.WaitVisible(`#tested .notice`))
	b.check("webhooks-tested")
	for _, page := range []string{"kinds", "rotate", "off"} {
		b.click(`a[href$="/`+page+`"]`, `form.narrow[action$="/`+page+`"]`)
		b.check("webhooks-" + page)
		b.visit(endpoint)
	}
	b.click(`a[href$="/rotate"]`, `form.narrow[action$="/rotate"]`)
	b.click(`main form button`, `#signing-secret`)
	if b.text(`#signing-secret`) == secret {
		t.Error("the rotated secret is the same")
	}
	b.check("webhooks-rotated")
	b.fail(path.Base(endpoint))
	b.visit(endpoint)
	b.run("wait for the failures", chromedp.WaitVisible(`.hook-log form button`), chromedp.WaitVisible(`.hook-bars .failed`))
	b.check("webhooks-failures")
	b.click(`.hook-log a`, `#webhook-id`)
	b.check("webhooks-attempt")
	b.visit(endpoint)
	b.click(`form[action$="/resend-failed"] button`, `main .notice`)
	b.check("webhooks-resent")
	b.visit(endpoint)
	b.click(`a[href$="/off"]`, `button.danger`)
	b.click(`button.danger`, `form[action$="/on"] button`)
	b.check("webhooks-switched-off")
}

// fail records failed webhooks of an endpoint of the other tenant, as the notify function
// does.
func (b *browser) fail(endpoint string) {
	b.t.Helper()
	store := dynamotest.New(dynamo.FromEnv(dynamodb.NewFromConfig(b.env.AWS()), b.env.Get, time.Now))
	tenant, now := b.env["OTHER_TENANT"], time.Now()
	if err := store.AddPosts(b.t.Context(), tenant, now, map[string]delivery.PostCount{endpoint: {Accepted: 7, Failed: 2}}); err != nil {
		b.t.Fatal(err)
	}
	for i, status := range []int{0, 503} {
		err := store.RecordFailure(b.t.Context(), delivery.Failure{
			Tenant: tenant, EndpointID: endpoint, WebhookID: "msg_" + random.UUID(), Kind: delivery.KindDelivered, Status: status, Code: "timeout",
			Attempt: i, At: now.Add(-time.Duration(i) * time.Minute),
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}
