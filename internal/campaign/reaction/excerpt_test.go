package reaction_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign/reaction"
)

// A person who decides on a reply reads the words that make it doubtful, and sees where the text is cut.
func TestNewReply_Excerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("comparar o preço da ação é bom ", 100)
	for name, test := range map[string]struct{ text, start, has, end string }{
		"short":            {"Quero cancelar, por favor", "Quero", "cancelar", "favor"},
		"exactly the most": {strings.Repeat("é", reaction.MaxReplyText/2), "é", "", "é"},
		"long":             {long, "comparar", "", "…"},
		"at the start":     {"já pedi para sair da lista " + long, "já pedi", "sair da lista", "…"},
		"in the middle":    {long + "já pedi para sair da lista " + long, "…", "sair da lista", "…"},
		"at the end":       {long + "já pedi para sair da lista", "…", "sair da lista", "lista"},
		"at a cut":         {strings.Repeat("é ", 395/3) + "já pedi para sair da lista " + long, "é", "sair da lista", "…"},
		"one long word":    {strings.Repeat("ção", 1000), "ção", "", "…"},
	} {
		got := reaction.NewReply(time.Time{}, "events/a", "+5511987654321", test.text).Text
		if len(got) > reaction.MaxReplyText || len(got) < min(len(test.text), reaction.MaxReplyText/2) && test.end == "…" || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes: %s", name, len(got), got)
		}
		if !strings.HasPrefix(got, test.start) || !strings.Contains(got, test.has) || !strings.HasSuffix(got, test.end) {
			t.Errorf("%s: %s", name, got)
		}
		if doubt := reaction.AsksToStop(test.text); reaction.AsksToStop(got) < min(doubt, reaction.Perhaps) {
			t.Errorf("%s: the words of doubt are missing in %s", name, got)
		}
	}
}

// The words of doubt are kept wherever they are.
func TestNewReply_ExcerptAnywhere(t *testing.T) {
	t.Parallel()
	for before := range 1300 {
		text := strings.Repeat("ó ", before/2) + strings.Repeat("x", before%2) + " pare de mandar mensagens " + strings.Repeat("é o que há ", 150)
		if got := reaction.NewReply(time.Time{}, "b", "+5511987654321", text).Text; !strings.Contains(got, "pare de mandar mensagens") || len(got) > reaction.MaxReplyText {
			t.Fatalf("%d bytes before: %s", before, got)
		}
	}
}
