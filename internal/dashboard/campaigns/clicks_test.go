package campaigns_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/localstack/stackenv"
)

// The funnel counts messages with a clicked link, and each message shows its clicks.
func TestCampaign_Clicks(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = stackenv.Load(t).LedgerTable(t) })
	template := "template-" + d.tenant
	_, err := d.store.PutTemplate(t.Context(), campaign.Template{
		ID: template, Tenant: d.tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi", Suggestions: []content.Suggestion{
			{Kind: content.OpenURL, Text: "Ver ofertas", URL: "https://e.example/", CountClicks: true},
		}},
	})
	d.must(err)
	b := d.accept(uuid(), "Ofertas", 1, 10, func(b *campaign.Batch) {
		b.TemplateID, b.TapKey, b.CountsClicks, b.Prices = template, []byte("sixteen bytes..."), true, campaign.Prices{Single: 120_000}
	})
	d.record(b, campaign.OutcomeDelivered, "", 0, 9, noon)
	click := func(index int) campaign.Change {
		return campaign.Change{Index: index, Outcome: campaign.OutcomeClicked, Suggestion: 1, At: noon}
	}
	_, err = d.store.AppendTaps(t.Context(), b, ledger.Taps{}, []campaign.Change{click(0), click(7)})
	d.must(err)
	if text := d.admin().Get(pathOf(b)).Text(); !strings.Contains(text, "Link clicked 2 20% of those delivered") || !strings.Contains(text, "Button tapped 0 0%") {
		t.Errorf("the page does not count two clicked messages:\n%s", text)
	}
	if text := d.admin().Get(pathOf(b)).Text(); !strings.Contains(text, "Cost of the delivered ones R$ 1.20 Cost per click R$ 0.60") {
		t.Errorf("the page does not say what a click costs:\n%s", text)
	}
	if text := d.admin().Get(pathOf(b) + "/messages").Text(); strings.Count(text, "Clicked the link “Ver ofertas”") != 2 {
		t.Errorf("the messages do not show the clicks:\n%s", text)
	}
}
