package content_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/content"
)

// Each link is that of its suggestion's number, and the content itself does not change.
func TestWithLinks(t *testing.T) {
	t.Parallel()
	counted := func(n int) content.Suggestion {
		return content.Suggestion{Kind: content.OpenURL, Text: "Ver", URL: fmt.Sprint("https://a.example/", n), CountClicks: true}
	}
	reply := content.Suggestion{Kind: content.Reply, Text: "Sim"}
	for name, c := range map[string]content.Content{
		"text":     {Text: "Oi", Suggestions: []content.Suggestion{counted(1), reply, counted(3)}},
		"card":     {Card: &content.Card{Title: "Oi", Suggestions: []content.Suggestion{reply, counted(2)}}, Suggestions: []content.Suggestion{counted(3)}},
		"carousel": {Carousel: &content.Carousel{Cards: []content.Card{{Suggestions: []content.Suggestion{reply}}, {Suggestions: []content.Suggestion{counted(2)}}}}, Suggestions: []content.Suggestion{counted(3)}},
		"file":     {File: &content.File{URL: "https://a.example/a.pdf"}, Suggestions: []content.Suggestion{counted(1), reply}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			linked := c.WithLinks(func(n int) string { return fmt.Sprint("https://l.example/", n) })
			for i, s := range c.AllSuggestions() {
				got, target := linked.AllSuggestions()[i].URL, ""
				if s.CountClicks {
					target = fmt.Sprint("https://a.example/", i+1)
					s.URL = fmt.Sprint("https://l.example/", i+1)
				}
				if got != s.URL || c.Target(i+1) != target {
					t.Errorf("suggestion %d has the link %q and the target %q, want %q and %q", i+1, got, c.Target(i+1), s.URL, target)
				}
			}
			if !c.CountsClicks() {
				t.Error("the content counts no clicks")
			}
		})
	}
}

func TestCountsClicks_None(t *testing.T) {
	t.Parallel()
	c := content.Content{Text: "Oi", Suggestions: []content.Suggestion{
		{Kind: content.OpenURL, Text: "Ver", URL: "https://a.example/"}, {Kind: content.Reply, Text: "Sim", CountClicks: true},
	}}
	if c.CountsClicks() || c.Target(1) != "" || c.Target(2) != "" || c.Target(0) != "" || c.Target(3) != "" {
		t.Error("a content without counted links counts clicks")
	}
	if diff := cmp.Diff(c, c.WithLinks(func(int) string { return "https://l.example/" })); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}
