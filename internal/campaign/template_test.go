package campaign_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

func TestTemplate_Render(t *testing.T) {
	t.Parallel()
	for text, test := range map[string]struct {
		variables []string
		rendered  string // with the values A, B, C
	}{
		"Olá {{nome}}!":                {[]string{"nome"}, "Olá A!"},
		"{{a}}{{b}}{{a}}":              {[]string{"a", "b"}, "ABA"},
		"{{ endereço_2.x-y }}":         {[]string{"endereço_2.x-y"}, "A"},
		"no variables":                 {nil, "no variables"},
		"":                             {nil, ""},
		"{{}} {{ }} {{a b}} {{a":       {nil, "{{}} {{ }} {{a b}} {{a"},
		"{{{a}}} {{{{b}}":              {[]string{"a", "b"}, "{A} {{B"},
		"{nome} }} {{x}} {{":           {[]string{"x"}, "{nome} }} A {{"},
		"{{open {{closed}}":            {[]string{"closed"}, "{{open A"},
		"{{a}} {{b}} {{c}} and {{d}}!": {[]string{"a", "b", "c", "d"}, "A B C and d!"},
	} {
		template := campaign.Template{Text: text}
		if diff := cmp.Diff(test.variables, template.Variables()); diff != "" {
			t.Errorf("%q: variables (-want +got):\n%s", text, diff)
		}
		if got := template.Render([]string{"A", "B", "C"}).Text; got != test.rendered {
			t.Errorf("%q: rendered %q, want %q", text, got, test.rendered)
		}
	}
}

func TestTemplate_RenderValueWithBraces(t *testing.T) {
	t.Parallel()
	template := campaign.Template{Text: "{{a}} {{b}}"}
	if got := template.Render([]string{"{{b}}", "$1"}).Text; got != "{{b}} $1" {
		t.Errorf("rendered %q", got)
	}
}

func TestTemplate_RenderCard(t *testing.T) {
	t.Parallel()
	card := campaign.Card{Title: "{{a}}", Description: "{{b}}", MediaURL: "https://x.test/{{c}}", Suggestions: []string{"{{a}}?"}}
	template := campaign.Template{Card: &card}

	got := template.Render([]string{"1", "2", "3"})

	want := &campaign.Card{Title: "1", Description: "2", MediaURL: "https://x.test/3", Suggestions: []string{"1?"}}
	if diff := cmp.Diff(want, got.Card); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
	if card.Title != "{{a}}" {
		t.Error("rendering changed the template")
	}
}
