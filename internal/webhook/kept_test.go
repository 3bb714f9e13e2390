package webhook_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// kept returns the kept posts of the harness's endpoint, with their contents.
func (w *harness) kept() (posts []delivery.KeptPost) {
	w.t.Helper()
	for p, err := range w.store.AllKeptPosts(w.t.Context(), w.tenant) {
		w.must(err)
		posts = append(posts, p)
	}
	return posts
}

func answering(status int, body string) func(http.ResponseWriter, string) int {
	return func(h http.ResponseWriter, _ string) int {
		h.WriteHeader(status)
		_, _ = h.Write([]byte(body))
		return status
	}
}

// A delivered and a failed post are kept as posted, with what the endpoint answered.
func TestHandle_KeepsPayloadAndAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		w := newHarness(t, 1)
		w.receiver.set(answering(status, "thanks"))
		w.record(sent(1)...)
		w.run(time.Second, w.notifier())
		posts := w.kept()
		if len(posts) != 1 {
			t.Fatalf("%d posts are kept, want 1", len(posts))
		}
		p := posts[0]
		if !bytes.Equal(p.Payload, w.receiver.posts[0].body) || p.Answer.Text != "thanks" || p.Status != status {
			t.Errorf("kept %d, payload %s, answer %+v", p.Status, p.Payload, p.Answer)
		}
		if fresh, err := ledger.UnpackNewEntries(p.Entry); err != nil || len(fresh) != 1 || fresh[0].Key != w.batch.Key || len(fresh[0].Entries) != 1 {
			t.Errorf("kept the entries %+v, %v; want the one that was posted", fresh, err)
		}
		failures, err := w.store.Failures(t.Context(), w.tenant, w.endpoint.ID, 10)
		if err != nil || status != http.StatusOK && (len(failures) != 1 || !failures[0].Kept || !failures[0].At.Equal(p.At)) {
			t.Errorf("failures %+v, %v; want the kept post", failures, err)
		}
	}
}

func TestHandle_AnswersOfAttackers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want delivery.EndpointAnswer
	}{
		"long":                 {strings.Repeat("x", 1<<20), delivery.EndpointAnswer{Text: strings.Repeat("x", 1024), Cut: true}},
		"cut within a letter":  {"x" + strings.Repeat("é", 2000), delivery.EndpointAnswer{Text: "x" + strings.Repeat("é", 511), Cut: true}},
		"not UTF-8":            {"\xff\xfe", delivery.EndpointAnswer{NotText: true}},
		"compressed file":      {"PK\x03\x04\x80\x81", delivery.EndpointAnswer{NotText: true}},
		"an incomplete letter": {"ok\xc3", delivery.EndpointAnswer{Text: "ok", Cut: true}},
		"empty":                {"", delivery.EndpointAnswer{}},
		"exactly one kilobyte": {strings.Repeat("y", 1024), delivery.EndpointAnswer{Text: strings.Repeat("y", 1024)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 1)
			w.receiver.set(answering(http.StatusOK, test.body))
			w.record(sent(1)...)
			w.run(time.Second, w.notifier())
			if posts := w.kept(); len(posts) != 1 || posts[0].Answer != test.want {
				t.Errorf("kept %+v, want %+v", posts, test.want)
			}
		})
	}
}

// An endpoint that repeats its request shows nobody the signature or the secret.
func TestHandle_KeepsNoSecret(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	echo := http.HandlerFunc(func(h http.ResponseWriter, r *http.Request) {
		signature, secret := r.Header.Get("Webhook-Signature"), w.endpoint.Secret
		_, _ = h.Write([]byte(strings.ReplaceAll(signature, "/", `\/`) + " " + signature + strings.Repeat("-", 800) + secret))
	})
	w.receiver.Config.Handler = echo
	w.record(sent(1)...)
	w.run(time.Second, w.notifier())
	posts := w.kept()
	if len(posts) != 1 || !strings.HasPrefix(posts[0].Answer.Text, "v1,… v1,…---") || strings.Contains(posts[0].Answer.Text, w.endpoint.Secret[6:12]) {
		t.Errorf("kept %+v", posts)
	}
}

// Of many posts in an hour, a process keeps the first 10 and then one of 100.
func TestHandle_KeepsASample(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 250)
	w.record(sent(250)...)
	process := w.notifier()
	w.run(time.Second, process)
	if n := len(w.kept()); n != 12 {
		t.Errorf("%d of 250 posts are kept, want 12", n)
	}
	w.mu.Lock()
	w.now = start.Add(time.Hour)
	w.mu.Unlock()
	w.record(sent(1)...)
	w.run(time.Second, process)
	if n := len(w.kept()); n != 13 {
		t.Errorf("%d posts are kept after an hour, want 13", n)
	}
}

// A delivery awaits only the webhooks that it has not posted yet.
func TestAwaits(t *testing.T) {
	t.Parallel()
	entries := func(indexes ...int) []byte {
		fresh := ledger.NewEntries{Key: campaign.BatchKey{7}}
		for _, i := range indexes {
			change := campaign.Change{Index: i, Outcome: campaign.OutcomeRead, At: start}
			fresh.Entries = append(fresh.Entries, ledger.Entry{Sequence: i + 1, Change: change})
		}
		return ledger.PackNewEntries([]ledger.NewEntries{fresh})
	}
	all := delivery.Delivery{Entries: entries(1, 2, 3)}
	part := delivery.Delivery{Entries: entries(1, 2, 3), Pending: []int{0, 2}}
	event := delivery.Delivery{Blob: "events/a/b", Kind: delivery.KindReplied}
	for name, test := range map[string]struct {
		d     delivery.Delivery
		entry []byte
		blob  string
		want  bool
	}{
		"of all":        {all, entries(2), "", true},
		"posted":        {part, entries(2), "", false},
		"pending":       {part, entries(3), "", true},
		"of no entry":   {all, entries(4), "", false},
		"damaged":       {all, []byte{1}, "", false},
		"event":         {event, nil, "events/a/b", true},
		"another event": {event, nil, "events/a/c", false},
	} {
		if got := webhook.Awaits(test.d, test.entry, test.blob); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
