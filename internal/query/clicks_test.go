package query_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// acceptClicked accepts a batch with a link that counts clicks, and records clicks on the
// links of two messages and a tap on one.
func (d *service) acceptClicked() {
	d.t.Helper()
	template := random.UUID()
	_, err := d.store.PutTemplate(d.t.Context(), campaign.Template{
		ID: template, Tenant: d.id.Tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi", Suggestions: []content.Suggestion{
			{Kind: content.Reply, Text: "Sim"}, {Kind: content.OpenURL, Text: "Ver", URL: "https://example.com/", CountClicks: true},
		}},
	})
	d.must(err)
	b := d.accept(1, "a", 3, func(b *campaign.Batch) {
		b.TemplateID, b.TemplateVersion, b.TapKey, b.CountsClicks = template, 1, []byte("sixteen bytes..."), true
	})
	clicks, err := d.store.Clicks(d.t.Context(), b.Key)
	d.must(err)
	_, err = d.store.AppendTaps(d.t.Context(), b, clicks, []campaign.Change{clickOn(2), clickOn(0)})
	d.must(err)
	taps, err := d.store.Taps(d.t.Context(), b.Key)
	d.must(err)
	_, err = d.store.AppendTaps(d.t.Context(), b, taps, []campaign.Change{tapOf(0, 1)})
	d.must(err)
}

func clickOn(index int) campaign.Change {
	return campaign.Change{Index: index, Outcome: campaign.OutcomeClicked, Suggestion: 2, At: noon.Add(2 * time.Hour)}
}

// Clicks are counted apart from taps, and each message lists its own.
func TestClicks(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.acceptClicked()
	status, answer := d.get("")
	batch := answer["batches"].([]any)[0].(object)
	if status != http.StatusOK || answer["clicked"] != 2.0 || batch["clicked"] != 2.0 || answer["tapped"] != 1.0 {
		t.Errorf("%d, %v clicked and %v tapped messages, of the batch %v, want 2, 1 and 2", status, answer["clicked"], answer["tapped"], batch["clicked"])
	}
	_, answer = d.get("/messages")
	got := map[string]any{}
	for _, m := range answer["messages"].([]any) {
		got[m.(object)["uid"].(string)] = m.(object)["clicks"]
	}
	link := []any{object{"at": "2037-11-21T14:00:00Z", "text": "Ver", "kind": "openUrl", "url": "https://example.com/"}}
	if diff := cmp.Diff(map[string]any{"u0": link, "u1": nil, "u2": link}, got); diff != "" {
		t.Errorf("clicks by message (-want +got):\n%s", diff)
	}
}
