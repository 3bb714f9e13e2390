package templates_test

import (
	"testing"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// Counting clicks is offered where the stack has an address for links. A choice that was
// made before stays.
func TestEditor_CountClicks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	link := map[string]string{"name": "n", "kind": "text", "body": "Oi"}
	e := b.open(t, newPage).set(link).press("add s")
	saved := e.set(map[string]string{"s1-text": "Ver", "s1-kind": "openUrl", "s1-url": "https://e.example/", "s1-clicks": "count"}).save()
	if !saved.CountsClicks() {
		t.Errorf("saved %+v, want a link that counts clicks", saved.Suggestions)
	}
	edit := "/dashboard/templates/" + saved.ID + "/edit"
	if again := b.open(t, edit).save(); !again.CountsClicks() {
		t.Error("saving it unchanged ended the count of clicks")
	}
	if ended := b.open(t, edit).press("open s1").set(map[string]string{"s1-clicks": ""}).save(); ended.CountsClicks() {
		t.Error("the clicks are still counted")
	}
}

func TestEditor_NoAddressForLinks(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, "")
	e := b.open(t, newPage).set(map[string]string{"name": "n", "kind": "text", "body": "Oi"}).press("add s")
	if e.fields.Has("s1-clicks") {
		t.Error("counting clicks is offered")
	}
	before, err := b.store.PutTemplate(t.Context(), campaign.Template{
		ID: random.UUID(), Tenant: b.tenant, Version: 1, Name: "n", Content: content.Content{
			Text: "Oi", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: "https://e.example/", CountClicks: true}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept := b.open(t, "/dashboard/templates/"+before.ID+"/edit").press("open s1").set(map[string]string{"s1-text": "Veja"}).save(); !kept.CountsClicks() || kept.Suggestions[0].Text != "Veja" {
		t.Errorf("saved %+v, want a link that counts clicks as before", kept.Suggestions)
	}
}
