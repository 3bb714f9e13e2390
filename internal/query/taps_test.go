package query_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// acceptTapped accepts a batch with two suggestions, and records three taps.
func (d *service) acceptTapped() campaign.Batch {
	d.t.Helper()
	template := random.UUID()
	_, err := d.store.PutTemplate(d.t.Context(), campaign.Template{
		ID: template, Tenant: d.id.Tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi", Suggestions: []content.Suggestion{
			{Kind: content.OpenURL, Text: "Ver", URL: "https://example.com/"}, {Kind: content.Reply, Text: "Sim"},
		}},
	})
	d.must(err)
	b := d.accept(1, "a", 4, func(b *campaign.Batch) {
		b.TemplateID, b.TemplateVersion, b.TapKey = template, 1, []byte("sixteen bytes...")
	})
	d.record(b, campaign.OutcomeRead, "", 1, 2)
	taps, err := d.store.Taps(d.t.Context(), b.Key)
	d.must(err)
	_, err = d.store.AppendTaps(d.t.Context(), b, taps, []campaign.Change{tapOf(2, 2), tapOf(1, 1), tapOf(2, 1)})
	d.must(err)
	return b
}

func tapOf(index, suggestion int) campaign.Change {
	return campaign.Change{Index: index, Outcome: campaign.OutcomeTapped, Suggestion: suggestion, At: noon.Add(time.Hour)}
}

func TestTaps_Counts(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.acceptTapped()
	status, answer := d.get("")
	batch := answer["batches"].([]any)[0].(object)
	if status != http.StatusOK || answer["tapped"] != 2.0 || batch["tapped"] != 2.0 {
		t.Errorf("%d, %v tapped messages, of the batch %v, want 2 of 2", status, answer["tapped"], batch["tapped"])
	}
	total := 0.0
	for _, n := range answer["counts"].(object) {
		total += n.(float64)
	}
	if total != answer["accepted"] {
		t.Errorf("the counts add up to %v, want %v", total, answer["accepted"])
	}
}

func TestTaps_Messages(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.acceptTapped()
	_, answer := d.get("/messages")
	got := map[string]any{}
	for _, m := range answer["messages"].([]any) {
		message := m.(object)
		got[fmt.Sprint(message["uid"], " ", message["status"])] = message["taps"]
	}
	at := "2037-11-21T13:00:00Z"
	link := object{"at": at, "text": "Ver", "kind": "openUrl", "url": "https://example.com/"}
	want := map[string]any{
		"u0 pending": nil, "u1 read": []any{link}, "u2 read": []any{object{"at": at, "text": "Sim", "kind": "reply"}, link}, "u3 pending": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("taps by message (-want +got):\n%s", diff)
	}
}

// The log of taps has its own sequence, and leaves the log of changes as it was.
func TestTaps_Events(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.acceptTapped()
	var got []string
	for after, more := 0.0, true; more; {
		status, page := d.get(fmt.Sprintf("/batches/%s/events?log=taps&limit=2&after=%v", b.BatchID, after))
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, page)
		}
		for _, e := range page["events"].([]any) {
			e := e.(object)
			got = append(got, fmt.Sprint(e["sequence"], " ", e["type"], " ", e["uid"], " ", e["status"], " ", e["suggestion"].(object)["text"]))
		}
		after, more = page["nextAfter"].(float64), page["more"].(bool)
	}
	want := []string{"1 message.tapped u2 read Sim", "2 message.tapped u1 read Ver", "3 message.tapped u2 read Ver"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events of taps (-want +got):\n%s", diff)
	}
	for _, e := range d.events(b, 100) {
		if e.(object)["type"] != "message.read" {
			t.Errorf("the log of changes has the event %v", e)
		}
	}
	if status, answer := d.get("/batches/" + b.BatchID + "/events?log=clicks"); status != http.StatusBadRequest || answer["code"] != "invalid_log" {
		t.Errorf("an unknown log answers %d %v", status, answer["code"])
	}
}
