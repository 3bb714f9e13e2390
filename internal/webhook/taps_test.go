package webhook_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// tapPost is a posted webhook of a tap.
type tapPost struct {
	ID, Type string
	Data     struct {
		UID, Phone, MessageID string
		Sequence              int
		Erased                bool
		Suggestion            *campaign.TappedSuggestion
	}
}

// taps returns the posted webhooks of taps by sequence.
func (w *harness) taps() map[int]tapPost {
	w.t.Helper()
	taps := map[int]tapPost{}
	for _, p := range w.receiver.posts {
		var tap tapPost
		w.must(json.Unmarshal(p.body, &tap))
		if tap.Type != "message.tapped" {
			w.t.Errorf("the endpoint received a %s", tap.Type)
		}
		taps[tap.Data.Sequence] = tap
	}
	return taps
}

// A tap is posted with the suggestion as it was sent, under an identifier of its own. After
// an erasure, the webhook contains no value of the message.
func TestHandle_Taps(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 2)
	w.must(w.removeEndpoint(w.endpoint))
	w.newEndpoint(w.receiver.URL, "message.tapped")
	_, err := w.store.PutTemplate(t.Context(), campaign.Template{
		ID: w.batch.TemplateID, Tenant: w.tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi", Suggestions: []content.Suggestion{
			{Kind: content.OpenURL, Text: "Ver", URL: "https://example.com/?q={{value}}"}, {Kind: content.Reply, Text: "Sim, {{value}}"},
		}},
	})
	w.must(err)
	tap := func(index, suggestion int) campaign.Change {
		return campaign.Change{Index: index, Outcome: campaign.OutcomeTapped, Suggestion: suggestion, At: w.Now()}
	}
	w.record(tap(0, 1), tap(0, 2), tap(1, 2))
	w.run(time.Minute, w.notifier())
	w.erase(1)
	w.record(tap(1, 1))
	w.run(time.Minute, w.notifier())

	taps, ids := w.taps(), map[string]bool{}
	got := map[int]any{}
	for sequence, tap := range taps {
		ids[tap.ID] = true
		got[sequence] = []any{tap.Data.UID, tap.Data.Phone, tap.Data.MessageID, tap.Data.Erased, *tap.Data.Suggestion}
	}
	first, second := w.batch.Key.MessageID(0), w.batch.Key.MessageID(1)
	want := map[int]any{
		1: []any{"uid-0", "+5511900000000", first, false, campaign.TappedSuggestion{Text: "Ver", Kind: content.OpenURL, URL: "https://example.com/?q=a+b0"}},
		2: []any{"uid-0", "+5511900000000", first, false, campaign.TappedSuggestion{Text: "Sim, a b0", Kind: content.Reply}},
		3: []any{"uid-1", "+5511900000001", second, false, campaign.TappedSuggestion{Text: "Sim, a b1", Kind: content.Reply}},
		4: []any{"", "", second, true, campaign.TappedSuggestion{Text: "Ver", Kind: content.OpenURL, URL: "https://example.com/?q={{value}}"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks by their sequence (-want +got):\n%s", diff)
	}
	if len(ids) != 4 {
		t.Errorf("the webhooks have %d identifiers, want one for each tap", len(ids))
	}
}

// A failed webhook of a tap is kept and posted again.
func TestHandle_TapRetried(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	w.must(w.removeEndpoint(w.endpoint))
	w.newEndpoint(w.receiver.URL, "message.tapped")
	w.receiver.answer = func(http.ResponseWriter, string) int { return http.StatusInternalServerError }
	w.record(campaign.Change{Index: 0, Outcome: campaign.OutcomeTapped, Suggestion: 1, At: w.Now()})
	w.run(time.Second, w.notifier())
	w.receiver.posts, w.receiver.answer = nil, nil
	w.run(time.Hour, w.notifier())
	if taps := w.taps(); len(taps) != 1 || taps[1].Data.UID != "uid-0" {
		t.Errorf("posted after the failure: %v", taps)
	}
}
