package webhooks_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/webhook/delivery"
)

// keep keeps a post to an endpoint.
func (o tenantFixture) keep(t *testing.T, e delivery.Endpoint, at time.Time, answer delivery.EndpointAnswer) delivery.KeptPost {
	t.Helper()
	p := delivery.KeptPost{
		Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindDelivered, At: at, Status: http.StatusOK,
		Took: 1234 * time.Millisecond, Payload: []byte(`{"type":"message.delivered","data":{"phone":"+5511900000000"}}`), Answer: answer,
	}
	if err := o.store.KeepPost(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPost(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.delivered")
	path := webhooks.Path + "/" + e.ID
	lacks(t, o.viewer.Get(path), "Nothing is kept yet")
	p := o.keep(t, e, now.Add(-time.Hour), delivery.EndpointAnswer{Text: "<script>alert(1)</script> \u202e", Cut: true})
	page := o.viewer.Get(path)
	lacks(t, page, "Message delivered", "Delivered")
	_, rest, _ := strings.Cut(page.Body, `href="`+path+`/posts/`)
	found, _, _ := strings.Cut(rest, `"`)
	link := path + "/posts/" + found
	post := o.viewer.Get(link)
	lacks(t, post, "Technical details", `"phone": "+5511900000000"`, "Answered 200 OK", "1,234 ms", p.WebhookID, "Only the start", "<script>alert(1)</script> \ufffd")
	if strings.Contains(post.Body, "<script>alert") {
		t.Error("HTML in an answer is not shown as text")
	}
	stranger := newTenantFixture(t, false)
	for _, wrong := range []string{link + "x", path + "/posts/x", path + "/posts/1-" + p.WebhookID} {
		if a := o.viewer.Get(wrong); a.Status != http.StatusNotFound {
			t.Errorf("%s answers %d, want 404", wrong, a.Status)
		}
	}
	if a := stranger.admin.Get(link); a.Status != http.StatusNotFound {
		t.Errorf("another tenant gets %d, want 404", a.Status)
	}
}

// After 7 days a post cannot be seen, even if its row is still there.
func TestPost_Expired(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.delivered")
	at := now.Add(-campaign.KeptPostLife)
	o.keep(t, e, at, delivery.EndpointAnswer{Text: "old"})
	f := o.fail(t, e, 500)
	f.At, f.Kept = at, true
	if err := o.store.RecordFailure(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	page := o.viewer.Get(fmt.Sprintf("%s/%s/posts/%d-%s", webhooks.Path, e.ID, at.UnixMilli(), f.WebhookID))
	lacks(t, page, "The content and the answer of this attempt were not kept")
	if strings.Contains(page.Text(), "old") {
		t.Error("the page shows an expired post")
	}
}

func TestPost_NotText(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.delivered")
	p := o.keep(t, e, now.Add(-time.Hour), delivery.EndpointAnswer{NotText: true})
	f := delivery.Failure{Tenant: o.tenant, EndpointID: e.ID, WebhookID: p.WebhookID, Kind: p.Kind, Status: 500, At: p.At, Kept: true}
	if err := o.store.RecordFailure(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	page := o.viewer.Get(webhooks.Path + "/" + e.ID)
	_, rest, _ := strings.Cut(page.Body, `<a href="`+webhooks.Path+"/"+e.ID+"/posts/")
	link, _, _ := strings.Cut(rest, `"`)
	lacks(t, o.viewer.Get(webhooks.Path+"/"+e.ID+"/posts/"+link), "The answer is not text")
}
