package privacy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/localstack/stackenv"
)

// An export lists the links that the person clicked. After an erasure there are none, and
// the clicks of the batch still count.
func TestExport_Clicks(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = stackenv.Load(t).LedgerTable(t) })
	const url = "https://e.example/"
	_, err := w.store.PutTemplate(t.Context(), campaign.Template{
		ID: template, Tenant: w.tenant.ID, Version: 2, Name: "t", Content: content.Content{Text: "Oi", Suggestions: []content.Suggestion{
			{Kind: content.OpenURL, Text: "Ver", URL: url, CountClicks: true},
		}},
	})
	w.must(err)
	w.version, w.tapKey, w.clicks = 2, []byte("sixteen bytes..."), true
	b := w.accept(1, ana, bruno)
	at := w.now.UTC()
	_, err = w.store.AppendTaps(t.Context(), b, ledger.Taps{}, []campaign.Change{
		{Index: 0, Outcome: campaign.OutcomeClicked, Suggestion: 1, At: at}, {Index: 1, Outcome: campaign.OutcomeClicked, Suggestion: 1, At: at},
	})
	w.must(err)
	x := w.export(bruno)
	if len(x.Messages) != 1 {
		t.Fatalf("exported: %+v", x.Messages)
	}
	want := []search.Tap{{At: at, TappedSuggestion: &campaign.TappedSuggestion{Text: "Ver", Kind: content.OpenURL, URL: url}}}
	if diff := cmp.Diff(want, x.Messages[0].Clicks); diff != "" || len(x.Messages[0].Taps) > 0 {
		t.Errorf("exported %d taps, clicks (-want +got):\n%s", len(x.Messages[0].Taps), diff)
	}
	w.erase(bruno)
	if x := w.export(bruno); !x.Nothing() {
		t.Errorf("after the erasure: %+v", x.Messages)
	}
	clicks, err := w.store.Clicks(t.Context(), b.Key)
	w.must(err)
	if clicks.Messages() != 2 {
		t.Errorf("%d messages are clicked after the erasure, want 2", clicks.Messages())
	}
}
