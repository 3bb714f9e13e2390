package preview_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
)

func TestText_MarksVariables(t *testing.T) {
	t.Parallel()
	got := preview.Of(campaign.Template{Text: "Olá {{ nome }}, {{x"}, "label")
	want := preview.Phone{Label: "label", Text: []preview.Part{{Text: "Olá "}, {Text: "nome", Variable: true}, {Text: ", {{x"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("phone (-want +got):\n%s", diff)
	}
}

func TestImage_KnownAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]preview.Phone{
		"":                      {Card: true},
		"https://e.example/a":   {Card: true, Media: true, MediaURL: "https://e.example/a"},
		"http://e.example/a":    {Card: true, Media: true},
		"{{foto}}":              {Card: true, Media: true},
		"https://e.example/{{x": {Card: true, Media: true},
	} {
		got := preview.Of(campaign.Template{Card: &campaign.Card{MediaURL: address}}, "")
		if diff := cmp.Diff(want, got); diff != "" || got.Empty() != (address == "") {
			t.Errorf("%q: empty %v (-want +got):\n%s", address, got.Empty(), diff)
		}
	}
}
