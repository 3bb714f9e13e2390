package privacy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/reaction"
	"campaign-dispatch/internal/privacy"
)

// An export lists what the person wrote to the tenant, each event once, and an erasure
// deletes it. What others wrote stays, and what the person wrote to others.
func TestErase_Replies(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	const another = "another"
	at := w.now.UTC()
	save := func(tenant string, at time.Time, event string, number uint64, text string) {
		w.must(w.store.SaveReply(t.Context(), tenant, reaction.NewReply(at, event, written(number), text)))
	}
	long := strings.Repeat("ção ", 400)
	save(w.tenant.ID, at, "events/a/1", ana, "Oi")
	save(w.tenant.ID, at.Add(time.Second), "events/a/1", ana, "Oi") // repeated by the provider, without a time
	save(w.tenant.ID, at.Add(-time.Hour), "events/a/2", ana, long)
	save(w.tenant.ID, at, "events/a/3", bruno, "Oi de Bruno")
	save(another, at, "events/a/4", ana, "Oi, outra loja")
	x := w.export(ana)
	if len(x.Replies) != 2 || x.Replies[1].Text != "Oi" {
		t.Fatalf("exported %+v", x.Replies)
	}
	if text := x.Replies[0].Text; len(text) > reaction.MaxReplyText || len(text) < reaction.MaxReplyText-3 || !strings.HasPrefix(long, text) {
		t.Errorf("a long reply is kept as %d bytes", len(text))
	}
	if done := w.erase(ana); done.Replies != 3 || done.Nothing() {
		t.Errorf("erased %+v, want both rows of the repeated reply and the long one", done)
	}
	if x := w.export(ana); !x.Nothing() {
		t.Errorf("after the erasure: %+v", x.Replies)
	}
	want := []privacy.Reply{{At: at, Text: "Oi de Bruno"}}
	if diff := cmp.Diff(want, w.export(bruno).Replies); diff != "" {
		t.Errorf("another person's replies (-want +got):\n%s", diff)
	}
	if kept, err := w.store.RepliesOf(t.Context(), another, written(ana)); err != nil || len(kept) != 1 {
		t.Errorf("another tenant has %d replies, error %v", len(kept), err)
	}
	w.now = w.now.Add(campaign.EventLife)
	if x := w.export(bruno); !x.Nothing() {
		t.Errorf("after 30 days: %+v", x.Replies)
	}
}
