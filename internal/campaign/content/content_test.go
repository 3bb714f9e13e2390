package content_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/content"
)

var day = time.Date(2026, 12, 1, 13, 0, 0, 0, time.UTC)

// suggestions has one suggestion of each kind.
func suggestions() []content.Suggestion {
	return []content.Suggestion{
		{Kind: content.Reply, Text: "Sim"},
		{Kind: content.OpenURL, Text: "Ver", URL: "https://loja.example/{{id}}?nome={{nome}}", Webview: content.TallWebview},
		{Kind: content.Dial, Text: "Ligar", Phone: "+551133334444"},
		{Kind: content.ShowLocation, Text: "Mapa", Location: &content.Location{Latitude: -23.5, Longitude: -46.6, Label: "Loja {{loja}}"}},
	}
}

func card(n int) content.Card {
	return content.Card{
		Title: fmt.Sprintf("Oferta %d", n), Description: "Olá {{nome}}",
		Media:       &content.Media{URL: "https://loja.example/{{id}}.png", Height: content.Short},
		Suggestions: suggestions(),
	}
}

// carousel returns a carousel of n cards with the most suggestions.
func carousel(n int) content.Content {
	c := content.Content{Carousel: &content.Carousel{Width: content.MediumWidth}, Suggestions: slices.Repeat(content.Replies("PARAR"), content.MaxSuggestions)}
	for i := range n {
		c.Carousel.Cards = append(c.Carousel.Cards, card(i+1))
	}
	return c
}

func TestRender_Carousel(t *testing.T) {
	t.Parallel()
	c := carousel(2)
	before, _ := json.Marshal(c)
	if diff := cmp.Diff([]string{"nome", "id", "loja"}, c.Variables()); diff != "" {
		t.Fatalf("variables (-want +got):\n%s", diff)
	}

	got := c.Render([]string{"Ana & Zé", "a/b c", "São Paulo"})

	want := c.Carousel.Cards[0]
	want.Description = "Olá Ana & Zé"
	want.Media = &content.Media{URL: "https://loja.example/a%2Fb%20c.png", Height: content.Short}
	want.Suggestions = suggestions()
	want.Suggestions[1].URL = "https://loja.example/a%2Fb%20c?nome=Ana+%26+Z%C3%A9"
	want.Suggestions[3].Location.Label = "Loja São Paulo"
	if diff := cmp.Diff(want, got.Carousel.Cards[0]); diff != "" {
		t.Errorf("first card (-want +got):\n%s", diff)
	}
	if after, _ := json.Marshal(c); !bytes.Equal(after, before) {
		t.Error("rendering changed the template")
	}
}

func TestRender_URL(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ address, value, want, code string }{
		"path":                  {"https://e.example/{{v}}", "a/../b?c#d", "https://e.example/a%2F..%2Fb%3Fc%23d", ""},
		"query":                 {"https://e.example/?q={{v}}", "a&b=c d", "https://e.example/?q=a%26b%3Dc+d", ""},
		"fragment":              {"https://e.example/?q#{{v}}", "a b", "https://e.example/?q#a%20b", ""},
		"whole":                 {"{{v}}", "https://e.example/?a=b&c", "https://e.example/?a=b&c", ""},
		"whole, http":           {"{{v}}", "http://e.example/", "http://e.example/", content.CodeInvalidURL},
		"whole, script":         {"{{v}}", "javascript:alert(1)", "javascript:alert(1)", content.CodeInvalidURL},
		"whole, without scheme": {"{{v}}", "e.example", "e.example", content.CodeInvalidURL},
		"whole, with user":      {"{{v}}", "https://bank.example@evil.example/", "https://bank.example@evil.example/", content.CodeInvalidURL},
		"host":                  {"https://{{v}}.example/", "loja", "https://loja.example/", ""},
		"host, with path":       {"https://{{v}}.example/", "evil.example/", "https://evil.example%2F.example/", content.CodeInvalidURL},
	} {
		c := content.Content{Text: "Veja", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: test.address}}}
		got := c.Render([]string{test.value})
		if got.Suggestions[0].URL != test.want || got.Unsendable() != test.code {
			t.Errorf("%s: %s, code %q", name, got.Suggestions[0].URL, got.Unsendable())
		}
	}
}

func TestValueURLs(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://e.example/":         false,
		"https://e.example/{{v}}":    false,
		"https://e.example?{{v}}":    false,
		"{{v}}":                      true,
		"https://{{v}}/":             true,
		"https://e.{{v}}/a":          true,
		"https://e.example{{v}}/a":   true,
		"{{v}}://e.example/a":        true,
		"https://e.example/{{a}}{{b": false,
	} {
		c := content.Content{Text: "Veja", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: address}}}
		if got := c.ValueURLs(); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestFlaws_None(t *testing.T) {
	t.Parallel()
	event := content.Suggestion{Kind: content.CalendarEvent, Text: "Agendar", Event: &content.Event{Title: "Feira", Start: day, End: day.Add(time.Hour)}}
	wide := card(0)
	wide.Horizontal, wide.MediaRight = true, true
	for name, c := range map[string]content.Content{
		"text":             {Text: "Olá {{nome}}", Suggestions: append(suggestions(), event, content.Suggestion{Kind: content.RequestLocation, Text: "Onde?"})},
		"longest text":     {Text: strings.Repeat("ã", content.MaxText)},
		"card":             {Card: new(card(1)), Suggestions: suggestions()},
		"horizontal card":  {Card: &wide},
		"file":             {File: &content.File{URL: "https://e.example/{{nome}}.pdf"}},
		"smallest":         carousel(content.MinCards),
		"largest carousel": carousel(content.MaxCards),
	} {
		if flaws := c.Flaws(); len(flaws) > 0 {
			t.Errorf("%s: %+v", name, flaws)
		}
	}
}

// Each content breaks one rule.
func TestFlaws(t *testing.T) {
	t.Parallel()
	text := func(change func(*content.Content)) content.Content {
		c := content.Content{Text: "Olá", Suggestions: suggestions()}
		change(&c)
		return c
	}
	cards := func(change func(*content.Carousel)) content.Content {
		c := carousel(3)
		change(c.Carousel)
		return c
	}
	suggestion := func(s content.Suggestion) content.Content {
		s.Text = "Ver"
		return text(func(c *content.Content) { c.Suggestions = []content.Suggestion{s} })
	}
	const first = 1
	for name, test := range map[string]struct {
		c    content.Content
		want content.Flaw
	}{
		"nothing":              {content.Content{}, content.Flaw{Part: content.PartText, Code: content.FlawBlank}},
		"two forms":            {content.Content{Text: "a", File: &content.File{URL: "https://e.example/"}}, content.Flaw{Part: content.PartContent, Code: content.FlawSeveral, Have: 2, Most: 1}},
		"text too long":        {text(func(c *content.Content) { c.Text = strings.Repeat("ã", 3073) }), content.Flaw{Part: content.PartText, Code: content.FlawTooLong, Have: 3073, Most: 3072}},
		"braces":               {text(func(c *content.Content) { c.Text = "Olá {{ a b }}" }), content.Flaw{Part: content.PartText, Code: content.FlawBraces}},
		"NUL":                  {text(func(c *content.Content) { c.Text = "Olá\x00" }), content.Flaw{Part: content.PartText, Code: content.FlawControl}},
		"not UTF-8":            {text(func(c *content.Content) { c.Text = "Ol\xe1" }), content.Flaw{Part: content.PartText, Code: content.FlawEncoding}},
		"12 suggestions":       {text(func(c *content.Content) { c.Suggestions = slices.Repeat(content.Replies("a"), 12) }), content.Flaw{Part: content.PartSuggestion, Code: content.FlawTooMany, Have: 12, Most: 11}},
		"label too long":       {text(func(c *content.Content) { c.Suggestions = content.Replies(strings.Repeat("ã", 26)) }), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartSuggestion, Code: content.FlawTooLong, Have: 26, Most: 25}},
		"blank label":          {text(func(c *content.Content) { c.Suggestions = content.Replies(" ") }), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartSuggestion, Code: content.FlawBlank}},
		"one card":             {carousel(1), content.Flaw{Part: content.PartCards, Code: content.FlawTooFew, Have: 1, Most: 2}},
		"eleven cards":         {carousel(11), content.Flaw{Part: content.PartCards, Code: content.FlawTooMany, Have: 11, Most: 10}},
		"5 card suggestions":   {cards(func(c *content.Carousel) { c.Cards[1].Suggestions = slices.Repeat(content.Replies("a"), 5) }), content.Flaw{Place: content.Place{Card: 2}, Part: content.PartSuggestion, Code: content.FlawTooMany, Have: 5, Most: 4}},
		"title too long":       {cards(func(c *content.Carousel) { c.Cards[2].Title = strings.Repeat("a", 201) }), content.Flaw{Place: content.Place{Card: 3}, Part: content.PartTitle, Code: content.FlawTooLong, Have: 201, Most: 200}},
		"description too long": {cards(func(c *content.Carousel) { c.Cards[0].Description = strings.Repeat("a", 2001) }), content.Flaw{Place: content.Place{Card: 1}, Part: content.PartDescription, Code: content.FlawTooLong, Have: 2001, Most: 2000}},
		"two heights":          {cards(func(c *content.Carousel) { c.Cards[1].Media.Height = content.Medium }), content.Flaw{Part: content.PartHeight, Code: content.FlawMixed}},
		"unknown height":       {content.Content{Card: &content.Card{Media: &content.Media{URL: "https://e.example/", Height: "huge"}}}, content.Flaw{Part: content.PartHeight, Code: content.FlawUnknown}},
		"unknown width":        {cards(func(c *content.Carousel) { c.Width = "large" }), content.Flaw{Part: content.PartWidth, Code: content.FlawUnknown}},
		"small and tall": {cards(func(c *content.Carousel) {
			c.Width = content.SmallWidth
			for i := range c.Cards {
				c.Cards[i].Media.Height = content.Tall
			}
		}), content.Flaw{Part: content.PartHeight, Code: content.FlawInvalid}},
		"horizontal in a carousel": {cards(func(c *content.Carousel) { c.Cards[0].Horizontal = true }), content.Flaw{Place: content.Place{Card: 1}, Part: content.PartCard, Code: content.FlawInvalid}},
		"blank card":               {content.Content{Card: &content.Card{}}, content.Flaw{Part: content.PartCard, Code: content.FlawBlank}},
		"media without URL":        {content.Content{Card: &content.Card{Title: "a", Media: &content.Media{}}}, content.Flaw{Part: content.PartMedia, Code: content.FlawBlank}},
		"media over http":          {content.Content{Card: &content.Card{Media: &content.Media{URL: "http://e.example/"}}}, content.Flaw{Part: content.PartMedia, Code: content.FlawNotHTTPS}},
		"file without URL":         {content.Content{File: &content.File{}}, content.Flaw{Part: content.PartFile, Code: content.FlawBlank}},
		"unknown kind":             {suggestion(content.Suggestion{Kind: "dance"}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartSuggestion, Code: content.FlawUnknown}},
		"no URL":                   {suggestion(content.Suggestion{Kind: content.OpenURL}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartURL, Code: content.FlawBlank}},
		"port 0":                   {suggestion(content.Suggestion{Kind: content.OpenURL, URL: "https://e.example:0/"}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartURL, Code: content.FlawNotHTTPS}},
		"port 99999":               {content.Content{Card: &content.Card{Media: &content.Media{URL: "https://e.example:99999/"}}}, content.Flaw{Part: content.PartMedia, Code: content.FlawNotHTTPS}},
		"URL over http":            {suggestion(content.Suggestion{Kind: content.OpenURL, URL: "http://e.example"}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartURL, Code: content.FlawNotHTTPS}},
		"URL too long":             {suggestion(content.Suggestion{Kind: content.OpenURL, URL: "https://e.example/" + strings.Repeat("a", 2031)}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartURL, Code: content.FlawTooLong, Have: 2049, Most: 2048}},
		"unknown webview":          {suggestion(content.Suggestion{Kind: content.OpenURL, URL: "https://e.example", Webview: "wide"}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartWebview, Code: content.FlawUnknown}},
		"no phone":                 {suggestion(content.Suggestion{Kind: content.Dial}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartPhone, Code: content.FlawBlank}},
		"phone without +":          {suggestion(content.Suggestion{Kind: content.Dial, Phone: "1133334444"}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartPhone, Code: content.FlawInvalid}},
		"no location":              {suggestion(content.Suggestion{Kind: content.ShowLocation}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartLocation, Code: content.FlawBlank}},
		"latitude 91":              {suggestion(content.Suggestion{Kind: content.ShowLocation, Location: &content.Location{Latitude: 91}}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartLocation, Code: content.FlawInvalid}},
		"no event":                 {suggestion(content.Suggestion{Kind: content.CalendarEvent}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartEventTitle, Code: content.FlawBlank}},
		"event without end":        {suggestion(content.Suggestion{Kind: content.CalendarEvent, Event: &content.Event{Title: "Feira", Start: day}}), content.Flaw{Place: content.Place{Suggestion: first}, Part: content.PartEventDuration, Code: content.FlawInvalid}},
	} {
		if diff := cmp.Diff([]content.Flaw{test.want}, test.c.Flaws()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSuggestion_ReadsString(t *testing.T) {
	t.Parallel()
	var c content.Card
	if err := json.Unmarshal([]byte(`{"title":"T","suggestions":["Sim",{"kind":"dial","text":"Ligar","phone":"+551133334444"}]}`), &c); err != nil {
		t.Fatal(err)
	}
	want := content.Card{Title: "T", Suggestions: []content.Suggestion{{Kind: content.Reply, Text: "Sim"}, {Kind: content.Dial, Text: "Ligar", Phone: "+551133334444"}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
}

func FuzzSafeValueLen(f *testing.F) {
	f.Add("Olá {{a}}", "{{b}}", "https://e.example/{{a}}", "Ana", "&&&")
	f.Add("{{b}}", strings.Repeat("{{a}}", 100), strings.Repeat("{{a}}", 50), strings.Repeat("\u2028", 5), strings.Repeat("<", 19))
	f.Fuzz(func(t *testing.T, text, description, address, a, b string) {
		c := content.Content{
			Carousel:    &content.Carousel{Cards: []content.Card{{Title: text, Description: description, Media: &content.Media{URL: address}}}},
			Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: a + "{{b}}", URL: address}},
		}
		values := map[string]string{"a": a, "b": b}
		var filled []string
		for _, name := range c.Variables() {
			filled = append(filled, values[name])
		}
		if max(len(a), len(b)) <= c.SafeValueLen() && c.Render(filled).Unsendable() == content.CodeTextTooLong {
			t.Errorf("%+v is too long with %q", c, filled)
		}
	})
}
