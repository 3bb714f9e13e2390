package privacy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
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
	doubt := reaction.NewReply(at.Add(-time.Minute), "events/a/5", written(ana), "cancelar")
	doubt.Doubtful = true
	w.must(w.store.SaveReply(t.Context(), w.tenant.ID, doubt))
	long := strings.Repeat("ção ", 400)
	save(w.tenant.ID, at, "events/a/1", ana, "Oi")
	save(w.tenant.ID, at.Add(time.Second), "events/a/1", ana, "Oi") // repeated by the provider, without a time
	save(w.tenant.ID, at.Add(-time.Hour), "events/a/2", ana, long)
	save(w.tenant.ID, at, "events/a/3", bruno, "Oi de Bruno")
	save(another, at, "events/a/4", ana, "Oi, outra loja")
	x := w.export(ana)
	if len(x.Replies) != 3 || x.Replies[1].Text != "cancelar" || x.Replies[2].Text != "Oi" {
		t.Fatalf("exported %+v", x.Replies)
	}
	text := x.Replies[0].Text
	kept, cut := strings.CutSuffix(text, "…")
	if len(text) > reaction.MaxReplyText || len(text) < reaction.MaxReplyText-len("ção ") || !strings.HasPrefix(long, kept) || !cut {
		t.Errorf("a long reply is kept as %d bytes: %s", len(text), text)
	}
	if done := w.erase(ana); done.Replies != 4 || done.Nothing() {
		t.Errorf("erased %+v, want both rows of the repeated reply, the long one and the doubtful one", done)
	}
	if left, err := w.store.DoubtfulReplies(t.Context(), w.tenant.ID, "", 0); err != nil || len(left) > 0 {
		t.Errorf("after the erasure, %d doubtful replies, error %v", len(left), err)
	}
	if x := w.export(ana); !x.Nothing() {
		t.Errorf("after the erasure: %+v", x.Replies)
	}
	want := []privacy.Reply{{At: at, Text: "Oi de Bruno"}}
	if diff := cmp.Diff(want, w.export(bruno).Replies); diff != "" {
		t.Errorf("another person's replies (-want +got):\n%s", diff)
	}
	if kept, err := w.store.RepliesOf(t.Context(), another, []string{written(ana)}); err != nil || len(kept) != 1 {
		t.Errorf("another tenant has %d replies, error %v", len(kept), err)
	}
	w.now = w.now.Add(campaign.EventLife)
	if x := w.export(bruno); !x.Nothing() {
		t.Errorf("after 30 days: %+v", x.Replies)
	}
}

// An erasure keeps the content of an opt-out until it is recorded, however long its task
// is queued. The content of another reply is deleted after an hour.
func TestErase_PendingOptOut(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	const dora = 5561987650977 // no other test erases this number at the agent
	say := func(event string, c reaction.EventContent) {
		c.Phone = written(dora)
		body, err := json.Marshal(c)
		w.must(err)
		w.put("events/"+w.tenant.AgentID+"/"+w.tenant.ID+event, body)
	}
	say("1", reaction.EventContent{Text: "Oi"})
	say("2", reaction.EventContent{Text: "parar", Pending: true})
	w.now = w.now.Add(2 * time.Hour)
	done := w.erase(dora)
	if done.Events != 1 || done.Early != 1 || done.Complete() || !done.Again.Equal(w.now.Add(time.Hour)) {
		t.Errorf("while the opt-out is queued: %+v", done)
	}
	say("2", reaction.EventContent{Text: "parar"})
	w.now = w.now.Add(time.Hour)
	if done := w.erase(dora); done.Events != 1 || done.Early > 0 {
		t.Errorf("after it was recorded: %+v", done)
	}
	if x := w.export(dora); !x.Nothing() {
		t.Errorf("after the erasures: %+v", x.Events)
	}
}

// An erasure removes the number from the log of opt-outs. A recount of the day counts as before.
func TestErase_LoggedOptOuts(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	at := w.now.UTC()
	for event, number := range map[string]uint64{"1": ana, "2": ana, "3": bruno} {
		task := reaction.EventTask{At: at, ArrivedAt: at, Blob: "events/a/" + event}
		w.must(w.store.LogOptOut(t.Context(), w.tenant.ID, reaction.NewLoggedOptOut(task, written(number))))
	}
	if done := w.erase(ana); done.Logged != 2 || done.Nothing() {
		t.Errorf("erased %+v, want both entries", done)
	}
	left := map[string]int{}
	for o, err := range w.store.LoggedOptOuts(t.Context(), w.tenant.ID, at) {
		w.must(err)
		left[o.Phone]++
	}
	if diff := cmp.Diff(map[string]int{"": 1, written(bruno): 1}, left); diff != "" {
		t.Errorf("entries by number (-want +got):\n%s", diff)
	}
	if done := w.erase(ana); done.Logged != 0 {
		t.Errorf("a repeated erasure erased %+v", done)
	}
}
