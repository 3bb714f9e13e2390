package webhooks_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/webhook/delivery"
)

func TestFailures_Pages(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	address := "https://crm.example.com/"
	e, _ := o.add(t, address+strings.Repeat("a&", (2000-len(address))/2), "message.read", "message.failed", "campaign.completed")
	for h := range 24 {
		if err := o.store.AddPosts(t.Context(), o.tenant, now.Add(-time.Duration(h)*time.Hour), map[string]delivery.PostCount{e.ID: {Accepted: 123456 + h, Failed: 23456}}); err != nil {
			t.Fatal(err)
		}
	}
	const all = 50
	want := map[string]bool{}
	for i := range all {
		f := delivery.Failure{
			Tenant: o.tenant, EndpointID: e.ID, WebhookID: fmt.Sprintf("msg_%039d%02d", 7, i), Kind: delivery.KindCompleted,
			Status: http.StatusNetworkAuthenticationRequired, At: now.Add(-time.Duration(i) * time.Minute),
			Task: delivery.NotifyTask{Tenant: o.tenant, EndpointID: e.ID, DeliveryID: randomKey()},
		}
		if err := o.store.RecordFailure(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		want[f.WebhookID] = true
	}
	pages := 0
	for path := webhooks.Path + "/" + e.ID; path != ""; pages++ {
		page := webtest.Light(t, o.admin, path)
		for id := range want {
			if strings.Contains(page.Body, `value="`+id+`"`) {
				delete(want, id)
			}
		}
		path = page.Next()
	}
	if len(want) > 0 || pages != 3 {
		t.Errorf("%d failures are not on the %d pages, want all on 3", len(want), pages)
	}
}

func TestList_Size(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	for i := range 20 {
		e := delivery.Endpoint{
			ID: strings.ToLower(rand.Text()), Tenant: o.tenant, Secret: "s",
			URL: fmt.Sprintf("https://crm.example.com/%02d/%s", i, strings.Repeat("&", 1900)),
		}
		if err := o.store.SaveEndpoint(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	page := webtest.Light(t, o.admin, webhooks.Path)
	if n := strings.Count(page.Body, "https://crm.example.com/"); n != 20 {
		t.Errorf("lists %d endpoints, want 20", n)
	}
}

func TestResend_RefusalIsNotAudited(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	f := o.fail(t, e, 500)
	path := webhooks.Path + "/" + e.ID
	at := f.At.Format(time.RFC3339Nano)
	before := len(o.Audited())
	unknown := o.admin.Post(path+"/resend", url.Values{"webhook": {"msg_unknown"}, "at": {at}})
	if unknown.Status != http.StatusNotFound || len(o.Audited()) != before {
		t.Errorf("one that did not fail answers %d; audit log %q", unknown.Status, o.Audited())
	}
	o.admin.Post(path+"/off", nil)
	before = len(o.Audited())
	one := o.admin.Post(path+"/resend", url.Values{"webhook": {f.WebhookID}, "at": {at}})
	all := o.admin.Post(path+"/resend-failed", url.Values{"since": {"2100-05-03T12:30"}})
	if one.Status != http.StatusUnprocessableEntity || all.Status != http.StatusUnprocessableEntity {
		t.Errorf("to an endpoint that is off they answer %d and %d, want 422", one.Status, all.Status)
	}
	if after := o.Audited(); len(after) != before {
		t.Errorf("audit log %q", after)
	}
}
