package campaign_test

import (
	"slices"
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign"
)

// FuzzParts checks that the parts of a text are the whole text, and that filling each
// variable with itself keeps the parts.
func FuzzParts(f *testing.F) {
	for _, s := range []string{"Olá {{nome}}!", "{{{{a}}}}", "{{ a b }}{{c-1}}", "{{", "}}{{x", "{{\xff}}", "{{ é_2. }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest := text
		for part, variable := range campaign.Parts(text) {
			if part == "" {
				t.Fatalf("%q has an empty part", text)
			}
			if variable {
				inner, after, closed := strings.Cut(strings.TrimPrefix(rest, "{{"), "}}")
				if !closed || !strings.HasPrefix(rest, "{{") || strings.TrimSpace(inner) != part {
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
		template := campaign.Template{Text: text, Card: &campaign.Card{Title: text, MediaURL: text, Suggestions: []string{text}}}
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

// FuzzParseMessageID checks that only IDs of MessageID are accepted.
func FuzzParseMessageID(f *testing.F) {
	f.Add(campaign.BatchKey{1, 2, 3}.MessageID(7))
	f.Add("6F0C9F0E-1B2C-4D3E-8F40-000000000001")
	f.Fuzz(func(t *testing.T, id string) {
		key, index, ok := campaign.ParseMessageID(id)
		if ok && key.MessageID(index) != strings.ToLower(id) {
			t.Errorf("%q is taken for %q", id, key.MessageID(index))
		}
		if key, err := campaign.ParseBatchKey(id); err == nil && key.String() != strings.ToLower(id) {
			t.Errorf("%q is taken for %q", id, key)
		}
	})
}
