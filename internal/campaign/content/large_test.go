package content_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign/content"
)

// A client can send a large content that cannot be saved. Its flaws, its preview and its hint
// are computed within a fraction of the function's timeout of 29 seconds.
func TestLarge_Fast(t *testing.T) {
	t.Parallel()
	const most = 10 * time.Second
	var many strings.Builder
	for i := range 30_000 {
		many.WriteString("{{" + strconv.Itoa(i) + "}}")
	}
	link := content.Suggestion{Kind: content.OpenURL, Text: "Ver", URL: "https://a.example/" + strings.Repeat("{{a}}", 50_000)}
	for name, c := range map[string]content.Content{
		"open braces":    {Text: strings.Repeat("{", 250_000) + "}}"},
		"long names":     {Text: strings.Repeat("{{", 60_000) + strings.Repeat(" ", 60_000) + "}}"},
		"many variables": {Text: many.String()},
		"a long URL":     {Text: "Oi", Suggestions: []content.Suggestion{link}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			if len(c.Flaws()) == 0 {
				t.Error("the content has no flaws")
			}
			c.Render(make([]string, len(c.Variables())))
			c.Classifier()
			c.SafeValueLen()
			if took := time.Since(start); took > most {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A long value that a template contains often does not exhaust the memory of the functions
// that render it.
func TestLarge_Value(t *testing.T) {
	t.Parallel()
	const uses = "{{a}}"
	values := []string{strings.Repeat("a", 200_000)}
	for name, c := range map[string]content.Content{
		"text": {Text: strings.Repeat(uses, 500)},
		"file": {File: &content.File{URL: "https://a.example/" + strings.Repeat(uses, 500), ThumbnailURL: "https://a.example/" + uses}},
		"card": {Card: &content.Card{Media: &content.Media{URL: "https://a.example/" + strings.Repeat(uses, 500)}}},
	} {
		rendered := c.Render(values)
		size := len(rendered.Text)
		for address := range rendered.MediaURLs() {
			size += len(address.URL)
		}
		if size > content.MaxMessage+1000 {
			t.Errorf("%s: rendered %d bytes", name, size)
		}
		if code := rendered.Unsendable(); code != content.CodeTextTooLong {
			t.Errorf("%s: the code is %q, want %q", name, code, content.CodeTextTooLong)
		}
	}
}
