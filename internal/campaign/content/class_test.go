package content_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

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

// The class without rendering is the class of the rendered message.
func TestClassifier(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"", "Olá", strings.Repeat("ã", 70), strings.Repeat("a", 161)})
		c := content.Content{Text: text.Draw(t, "before") + "{{a}} {{ b }}{{a}}" + text.Draw(t, "after")}
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			c.Suggestions = content.Replies("Sim")
		case 1:
			c = content.Content{Card: &content.Card{Title: "{{a}}", Description: "{{b}}"}}
		}
		var values []string
		var sizes []int
		for range c.Variables() {
			value := rapid.SampledFrom([]string{"", "ã", strings.Repeat("x", 40), "{{a}}"}).Draw(t, "value")
			values, sizes = append(values, value), append(sizes, len(value))
		}
		want, k := c.Render(values).Class(), c.Classifier()
		if got := k.Class(sizes); got != want || k.Fixed() != "" && k.Fixed() != want {
			t.Errorf("%s (%s), want %s", got, k.Fixed(), want)
		}
	})
}
