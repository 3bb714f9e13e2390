package web_test

import (
	"html/template"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/web"
)

func TestClip_EscapedLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Pedido de maio": "Pedido de maio", strings.Repeat("a", 20): strings.Repeat("a", 20), strings.Repeat("a", 21): strings.Repeat("a", 17) + "…",
		"áááááááááá": "áááááááááá", "&&&&&": "&&&…", "ááááááááááá": "áááááááá…", "<b>'\"+\x00": "<b>'…",
	} {
		if got := web.Short(text, 20); got != want {
			t.Errorf("Short(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzShort(f *testing.F) {
	f.Add("<😀&'\"+\x00", 9)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < len("…") || most > 1<<16 || !utf8.ValidString(text) {
			t.Skip()
		}
		got := web.Short(text, most)
		if n := len(template.HTMLEscapeString(got)); n > most || n > web.Weight(got) {
			t.Errorf("Short(%q, %d) = %q, of %d bytes in a page", text, most, got, n)
		}
		if got != text && !strings.HasPrefix(text, strings.TrimSuffix(got, "…")) {
			t.Errorf("Short(%q, %d) = %q", text, most, got)
		}
	})
}

func TestNames_AtMost(t *testing.T) {
	t.Parallel()
	few, more := web.Few([]string{"ab", "cd", "ef"}, 3, 12)
	if diff := cmp.Diff([]string{"ab", "cd"}, few); diff != "" || more != 1 {
		t.Errorf("left out %d, want 1 (-want +got):\n%s", more, diff)
	}
}
