package content_test

import (
	"slices"
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign/content"
)

// FuzzParts checks that the parts of a text are the whole text, and that filling each
// variable with itself keeps the parts.
func FuzzParts(f *testing.F) {
	for _, s := range []string{"Olá {{nome}}!", "{{{{a}}}}", "{{ a b }}{{c-1}}", "{{", "}}{{x", "{{\xff}}", "{{ é_2. }}", "{{+a}}{{ + b }}{{++c}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest := text
		for part, variable := range content.Parts(text) {
			if part == "" {
				t.Fatalf("%q has an empty part", text)
			}
			if variable {
				inner, after, closed := strings.Cut(strings.TrimPrefix(rest, "{{"), "}}")
				name := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(inner), "+"))
				if !closed || !strings.HasPrefix(rest, "{{") || name != part {
					t.Fatalf("%q has no variable %q at %q", text, part, rest)
				}
				rest = after
				continue
			}
			if !strings.HasPrefix(rest, part) {
				t.Fatalf("%q has no part %q at %q", text, part, rest)
			}
			rest = rest[len(part):]
		}
		if rest != "" {
			t.Fatalf("%q loses %q", text, rest)
		}
		template := content.Content{Card: &content.Card{Title: text, Media: &content.Media{URL: text}, Suggestions: content.Replies(text)}}
		names := template.Variables()
		own := make([]string, len(names))
		for i, name := range names {
			own[i] = "{{" + name + "}}"
		}
		if again := template.Render(own).Variables(); !slices.Equal(again, names) {
			t.Errorf("%q has variables %q, and filled with themselves %q", text, names, again)
		}
		_ = template.Flaws()
	})
}
