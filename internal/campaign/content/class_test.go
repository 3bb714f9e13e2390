package content_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign/content"
)

func TestClass(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		c    content.Content
		want content.Class
	}{
		"short":                {content.Content{Text: "Olá"}, content.Basic},
		"160 bytes":            {content.Content{Text: strings.Repeat("a", 160)}, content.Basic},
		"161 bytes":            {content.Content{Text: strings.Repeat("a", 161)}, content.Single},
		"80 accented letters":  {content.Content{Text: strings.Repeat("ã", 80)}, content.Basic},
		"81 accented letters":  {content.Content{Text: strings.Repeat("ã", 81)}, content.Single},
		"short, with a button": {content.Content{Text: "Olá", Suggestions: content.Replies("Sim")}, content.Single},
		"card":                 {content.Content{Card: &content.Card{Title: "Olá"}}, content.Single},
		"carousel":             {carousel(2), content.Single},
		"file":                 {content.Content{File: &content.File{URL: "https://e.example/a.pdf"}}, content.Single},
	} {
		if got := test.c.Class(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
