package campaign_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign"
)

func TestTemplate_TooLong(t *testing.T) {
	t.Parallel()
	card := func(change func(*campaign.Card)) campaign.Template {
		c := campaign.Card{Title: "t", Description: "d", MediaURL: "https://e.example/a", Suggestions: []string{"Sim", "Não"}}
		change(&c)
		return campaign.Template{Card: &c}
	}
	text := func(n int, of string) string { return strings.Repeat(of, n) }
	for name, test := range map[string]struct {
		rendered campaign.Template
		tooLong  bool
	}{
		"empty":                  {campaign.Template{}, false},
		"longest text":           {campaign.Template{Text: text(3072, "a")}, false},
		"longest text, 4 bytes":  {campaign.Template{Text: text(3072, "😀")}, false},
		"text":                   {campaign.Template{Text: text(3073, "a")}, true},
		"text, 2 bytes":          {campaign.Template{Text: text(3073, "ã")}, true},
		"longest title":          {card(func(c *campaign.Card) { c.Title = text(200, "ã") }), false},
		"title":                  {card(func(c *campaign.Card) { c.Title = text(201, "ã") }), true},
		"longest description":    {card(func(c *campaign.Card) { c.Description = text(2000, "ã") }), false},
		"description":            {card(func(c *campaign.Card) { c.Description = text(2001, "a") }), true},
		"longest suggestion":     {card(func(c *campaign.Card) { c.Suggestions[1] = text(25, "ã") }), false},
		"suggestion":             {card(func(c *campaign.Card) { c.Suggestions[1] = text(26, "a") }), true},
		"long address":           {card(func(c *campaign.Card) { c.MediaURL += text(240<<10, "a") }), false},
		"address":                {card(func(c *campaign.Card) { c.MediaURL += text(250<<10, "a") }), true},
		"address, once escaped":  {card(func(c *campaign.Card) { c.MediaURL += text(50<<10, "&") }), true},
		"a text beside its card": {campaign.Template{Text: text(3073, "a"), Card: &campaign.Card{Title: "t"}}, false},
	} {
		if got := test.rendered.TooLong(); got != test.tooLong {
			t.Errorf("%s: TooLong() = %v, want %v", name, got, test.tooLong)
		}
	}
}

func TestTemplate_SafeValueLen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		template campaign.Template
		want     int
	}{
		"no variables":   {campaign.Template{Text: "Olá!"}, 3071},
		"too long":       {campaign.Template{Text: strings.Repeat("ã", 3073)}, -1},
		"full":           {campaign.Template{Text: strings.Repeat("ã", 3072) + "{{a}}"}, 0},
		"once":           {campaign.Template{Text: "Olá {{a}}!"}, 3067},
		"twice":          {campaign.Template{Text: "Olá {{a}}{{a}}!"}, 1533},
		"two":            {campaign.Template{Text: "{{a}} {{b}}"}, 1535},
		"suggestion":     {campaign.Template{Card: &campaign.Card{Title: "{{a}}", Suggestions: []string{"Sim, {{b}}"}}}, 20},
		"only a picture": {campaign.Template{Card: &campaign.Card{MediaURL: "https://e.example/{{a}}"}}, 3071},
	} {
		if got := test.template.SafeValueLen(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func FuzzTemplate_SafeValueLen(f *testing.F) {
	f.Add("Olá {{a}}", "{{b}}", "https://e.example/{{a}}", "Ana", "&&&")
	f.Add("{{b}}", strings.Repeat("{{a}}", 100), strings.Repeat("{{a}}", 50), strings.Repeat("\u2028", 5), strings.Repeat("<", 19))
	f.Fuzz(func(t *testing.T, text, description, media, a, b string) {
		for _, template := range []campaign.Template{
			{Text: text}, {Card: &campaign.Card{Title: text, Description: description, MediaURL: media, Suggestions: []string{a + "{{b}}"}}},
		} {
			values := map[string]string{"a": a, "b": b}
			var filled []string
			for _, name := range template.Variables() {
				filled = append(filled, values[name])
			}
			if max(len(a), len(b)) <= template.SafeValueLen() && template.Render(filled).TooLong() {
				t.Errorf("%+v is too long with %q", template, filled)
			}
		}
	})
}
