package privacy_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"campaign-dispatch/internal/webhook/delivery"
)

// keepPost keeps a post to a new endpoint.
func (w *tenantFixture) keepPost(payload, answer string) {
	w.t.Helper()
	e := delivery.Endpoint{ID: rand.Text(), Tenant: w.tenant.ID, URL: "https://crm.example.com/", Secret: "s"}
	w.must(w.store.SaveEndpoint(w.t.Context(), e))
	w.must(w.store.KeepPost(w.t.Context(), delivery.KeptPost{
		Tenant: w.tenant.ID, EndpointID: e.ID, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindRead, At: w.now,
		Status: 200, Payload: []byte(payload), Answer: delivery.EndpointAnswer{Text: answer},
	}))
}

func (w *tenantFixture) keptPosts() (contents []string) {
	w.t.Helper()
	for p, err := range w.store.AllKeptPosts(w.t.Context(), w.tenant.ID) {
		w.must(err)
		contents = append(contents, string(p.Payload)+p.Answer.Text)
	}
	return contents
}

// Kept webhooks belong to the person if the payload or the answer contains the number.
func TestPosts(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.keepPost(`{"data":{"phone":"+5561987650001","uid":"u-ana"}}`, "ok")
	w.keepPost(`{"data":{"phone":"+5561987650002","uid":"u-bruno"}}`, "unknown: 12 5561987650001")
	w.keepPost(`{"data":{"phone":"+5561987650002","uid":"u-bruno"}}`, "contact (61) 98765-0001")
	w.keepPost(`{"data":{"phone":"+5561987650002","uid":"u-bruno"}}`, "ok")
	x := w.export(ana)
	if len(x.Posts) != 3 || x.Nothing() {
		t.Fatalf("the export has %d webhooks, want 3", len(x.Posts))
	}
	for _, p := range x.Posts {
		if strings.Contains(string(p.Payload), "u-bruno") {
			t.Error("the export contains the payload of another person")
		}
	}
	if done := w.erase(ana); done.Posts != 3 {
		t.Errorf("%d webhooks erased, want 3", done.Posts)
	}
	if left := w.keptPosts(); len(left) != 1 || !strings.Contains(left[0], "u-bruno") {
		t.Errorf("left are %q, want that of another person", left)
	}
	if done := w.erase(ana); done.Posts != 0 || len(w.export(ana).Posts) != 0 {
		t.Errorf("a repeated erasure finds %d webhooks", done.Posts)
	}
}
