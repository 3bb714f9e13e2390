package content_test

import (
	"slices"
	"testing"

	"campaign-dispatch/internal/campaign/content"
)

func TestEdge_Doubles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, value string
		want        bool
	}{
		{"Total: R$ {{v}}.", "R$ 129,90", true},
		{"Total: R${{v}}.", "R$129,90", true},
		{"(R$ {{v}})", "R$ 129,90", true},
		{"Total: R$ {{v}}", "129,90", false},
		{"Total: {{v}}", "R$ 129,90", false},
		{"{{v}}% de desconto", "13%", true},
		{"{{v}} % de desconto", "13%", true},
		{"{{v}}%", "13", false},
		{"{{v}} kg", "3 kg", true},
		{"Sr. {{v}}", "sr. João", true},
		{"Olá, {{v}}!", "Ana", false},
		{"de {{v}}", "dezembro", false},
		{"dia {{v}}", "dia 5", true},
		{"{{v}} ano", "humano", false},
		{"{{v}}, tudo bem?", "Ana,", false},
		{"{{v}}", "", false},
		{"R$ {{v}}", "R", false},
		{"São {{v}}", "São Paulo", true},
	} {
		edges := content.Content{Text: test.text}.Edges()
		got := slices.ContainsFunc(edges, func(e content.Edge) bool { return e.Variable == "v" && e.Doubles(test.value) })
		if got != test.want {
			t.Errorf("%q with %q: got %v, want %v (%v)", test.text, test.value, got, test.want, edges)
		}
	}
}
