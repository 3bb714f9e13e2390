package content_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/content"
)

func TestRender(t *testing.T) {
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
		template := content.Content{Text: text}
		if diff := cmp.Diff(test.variables, template.Variables()); diff != "" {
			t.Errorf("%q: variables (-want +got):\n%s", text, diff)
		}
		if got := template.Render([]string{"A", "B", "C"}).Text; got != test.rendered {
			t.Errorf("%q: rendered %q, want %q", text, got, test.rendered)
		}
	}
}

func TestRender_ValueWithBraces(t *testing.T) {
	t.Parallel()
	template := content.Content{Text: "{{a}} {{b}}"}
	if got := template.Render([]string{"{{b}}", "$1"}).Text; got != "{{b}} $1" {
		t.Errorf("rendered %q", got)
	}
}
