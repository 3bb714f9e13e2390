package content_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/content"
)

func TestRender_Controls(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"a\x00b":           "ab",
		"a\r\nb\tc":        "a\nb\tc",
		"\x01\x1f\x7fa":    "a",
		"a\u0080\u009fb":   "ab",
		"a\u00a0ção — 😀":   "a\u00a0ção — 😀",
		"a\xc2":            "a\xc2",
		"zero\u200bwidth":  "zero\u200bwidth",
		"two\u2028lines":   "two\u2028lines",
		"many" + "\a\a\a ": "many ",
	} {
		c := content.Content{Text: "{{v}}"}
		if got := c.Render([]string{value}).Text; got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
		if got := content.ShownLen([]byte(value)); got != len(want) {
			t.Errorf("%q: %d bytes, want %d", value, got, len(want))
		}
		if got := content.HasControls(value); got != (value != want) {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func link(address string) content.Content {
	return content.Content{Text: "Veja", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: address}}}
}

// {{+v}} keeps what has a meaning in a URL, as RFC 6570's reserved expansion. {{v}} is escaped for its place.
func TestRender_OpenURL(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ address, value, want string }{
		"path and query":    {"https://e.example/{{+v}}", "promo/verao?utm_source=rcs", "https://e.example/promo/verao?utm_source=rcs"},
		"escaped":           {"https://e.example/{{v}}", "promo/verao?utm_source=rcs", "https://e.example/promo%2Fverao%3Futm_source=rcs"},
		"with spaces":       {"https://e.example/{{ + v }}", "a b", "https://e.example/a%20b"},
		"all reserved":      {"https://e.example/{{+v}}", ":/?#[]@!$&()*+,;=", "https://e.example/:/?#[]@!$&()*+,;="},
		"escapes":           {"https://e.example/{{+v}}", "a%20b%C3%A3", "https://e.example/a%20b%C3%A3"},
		"a single per cent": {"https://e.example/{{+v}}", "100%", "https://e.example/100%25"},
		"no escape":         {"https://e.example/{{+v}}", "50%off", "https://e.example/50%25off"},
		"accents":           {"https://e.example/{{+v}}", "promoção/são joão", "https://e.example/promo%C3%A7%C3%A3o/s%C3%A3o%20jo%C3%A3o"},
		"query":             {"https://e.example/?{{+v}}", "a=b&c=d e", "https://e.example/?a=b&c=d%20e"},
		"then a query":      {"https://e.example/{{+v}}{{v}}", "a?b=c d", "https://e.example/a?b=c%20da%3Fb%3Dc+d"},
		"another host":      {"https://e.example/{{+v}}", "//evil.example/", "https://e.example///evil.example/"},
		"dots":              {"https://e.example/{{+v}}", "../a", "https://e.example/../a"},
		"a backslash":       {"https://e.example/{{+v}}", `\evil.example`, "https://e.example/%5Cevil.example"},
		"an at sign":        {"https://e.example/{{+v}}", "@evil.example", "https://e.example/@evil.example"},
		"braces":            {"https://e.example/{{+v}}", "{{a}}", "https://e.example/%7B%7Ba%7D%7D"},
		"control":           {"https://e.example/{{+v}}", "a\r\x00b", "https://e.example/ab"},
		"the whole URL":     {"{{+v}}", "https://e.example/a?b=c", "https://e.example/a?b=c"},
	} {
		rendered := link(test.address).Render([]string{test.value})
		if got := rendered.Suggestions[0].URL; got != test.want || rendered.Unsendable() != "" {
			t.Errorf("%s: %s, code %q, want %s", name, got, rendered.Unsendable(), test.want)
		}
	}
}

// A URL is as a browser requests it, whether the template or a value has it.
func TestRender_BrowserURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://e.example/a?b=c&d=%20#e":           "https://e.example/a?b=c&d=%20#e",
		"https://e.example/promo verão":             "https://e.example/promo%20ver%C3%A3o",
		"https://e.example/?q=São Paulo&r='a'#aí b": "https://e.example/?q=S%C3%A3o%20Paulo&r=%27a%27#a%C3%AD%20b",
		" https://e.example/a\n":                    "https://e.example/a",
		"\u00a0https://e.example/a\u00a0":           "https://e.example/a",
		"https://e.example/a\nb":                    "https://e.example/ab",
		`https://e.example\@evil.example/`:          "https://e.example/@evil.example/",
		`https://e.example/a\b`:                     "https://e.example/a/b",
		`https://e.example/{a}?{b}|c#"d"`:           "https://e.example/%7Ba%7D?{b}|c#%22d%22",
		"https://maçã.com.br/pé":                    "https://xn--ma-tiap.com.br/p%C3%A9",
		"https://MAÇÃ.com.br:8443/":                 "https://xn--ma-tiap.com.br:8443/",
		"https://ação.São-João.example?á":           "https://xn--ao-siap.xn--so-joo-3tae.example?%C3%A1",
		"https://e.example":                         "https://e.example",
		"https://e.example?ã#ã?ã":                   "https://e.example?%C3%A3#%C3%A3?%C3%A3",
		"":                                          "",
		"  ":                                        "  ",
	} {
		if got := link("{{v}}").Render([]string{address}).Suggestions[0].URL; got != want {
			t.Errorf("the value %q: %s, want %s", address, got, want)
		}
		if got := link(address).Render(nil).Suggestions[0].URL; got != want && !strings.Contains(address, "\u00a0") {
			t.Errorf("the template %q: %s, want %s", address, got, want)
		}
	}
}

// No host of another address comes out of a browser's rules.
func TestRender_BrowserURLInvalid(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://a b.example/", "https://ã@evil.example/", "http://maçã.example/", "javascript:alert('ã')",
		"https:/e.example/ã", "e.example/ã", "https://", "https://e.example:0/ã",
	} {
		if got := link("{{v}}").Render([]string{address}); got.Unsendable() != content.CodeInvalidURL {
			t.Errorf("%q is sent as %s", address, got.Suggestions[0].URL)
		}
	}
}

// The time to write a host in ASCII grows with the square of its length: a value may have hundreds of thousands of letters.
func TestRender_LongHost(t *testing.T) {
	t.Parallel()
	letters := make([]rune, 20_000)
	for i := range letters {
		letters[i] = rune(0x4e00 + i)
	}
	address := "https://" + string(letters)
	if got := link("{{v}}").Render([]string{address}).Suggestions[0].URL; got != address {
		t.Errorf("a host of %d letters becomes one of %d bytes", len(letters), len(got))
	}
}

// The host never comes from a value, unless the whole URL is one variable.
func TestFlaws_Host(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]content.FlawCode{
		"{{v}}": "", "{{ v }}": "", "{{+v}}": "", "https://e.example/{{v}}": "", "https://e.example/{{+v}}": "", "https://e.example?{{v}}": "",
		"https://e.example/{{+a}}/{{b}}": "", "https://e.example/#{{v}}": "", "https://maçã.example/á {{v}}": "",
		"https://{{v}}.example/": content.FlawHost, "https://{{+v}}/": content.FlawHost, "https://e.example{{+v}}": content.FlawHost,
		"https://e.example:{{v}}/": content.FlawHost, "https://{{v}}@e.example/": content.FlawHost, "{{v}}/a": content.FlawHost, "{{a}}{{b}}": content.FlawHost,
		"{{+v}}?utm=rcs": content.FlawHost, "http://{{v}}/": content.FlawNotHTTPS, "javascript:{{v}}": content.FlawNotHTTPS, "a{{v}}": content.FlawNotHTTPS,
		"https://e.example/{{+}}": content.FlawBraces, "https://e.example/{{++v}}": content.FlawBraces, "https://e.example/{{a b}}": content.FlawBraces,
	} {
		var got content.FlawCode
		for _, f := range link(address).Flaws() {
			got = f.Code
		}
		if got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestFlaws_PlusOutsideURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]content.Content{
		"text":         {Text: "Olá {{+nome}}"},
		"suggestion":   {Text: "Olá", Suggestions: content.Replies("{{ +nome }}")},
		"media's text": {Card: &content.Card{Media: &content.Media{URL: "https://e.example/a.png", ContentDescription: "{{+nome}}"}}},
	} {
		if flaws := c.Flaws(); len(flaws) != 1 || flaws[0].Code != content.FlawPlus {
			t.Errorf("%s: %+v", name, flaws)
		}
	}
	if flaws := (content.Content{Text: "1 + {{n}}"}).Flaws(); len(flaws) > 0 {
		t.Errorf("%+v", flaws)
	}
}

// The length of a URL is that of the one that is sent.
func TestFlaws_URLLength(t *testing.T) {
	t.Parallel()
	flaws := link("https://e.example/" + strings.Repeat("ã", 400)).Flaws()
	if len(flaws) != 1 || flaws[0].Code != content.FlawTooLong || flaws[0].Have != 2418 {
		t.Errorf("%+v", flaws)
	}
}

func TestFilledURLs(t *testing.T) {
	t.Parallel()
	c := content.Content{Card: &content.Card{Title: "{{a}}", Media: &content.Media{URL: "https://e.example/{{a}}.png", ThumbnailURL: "https://e.example/a.png"}}}
	c.Suggestions = slices.Repeat(link("https://e.example/{{+b}}").Suggestions, 2)
	if diff := cmp.Diff([]string{"https://e.example/1%202.png", "https://e.example/3/4"}, c.FilledURLs([]string{"1 2", "3/4"})); diff != "" {
		t.Errorf("URLs (-want +got):\n%s", diff)
	}
}

// What screen readers say of a media can contain variables, and its place is the last one of the media.
func TestMediaText(t *testing.T) {
	t.Parallel()
	c := content.Content{Card: &content.Card{Media: &content.Media{URL: "https://e.example/{{a}}", ThumbnailURL: "https://e.example/{{b}}", ContentDescription: "Foto de {{c}}"}}}
	if diff := cmp.Diff([]string{"a", "b", "c"}, c.Variables()); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if got := c.Render([]string{"1", "2", "São João"}).Card.Media.ContentDescription; got != "Foto de São João" {
		t.Errorf("rendered %q", got)
	}
	c.Card.Media.ContentDescription = strings.Repeat("ã", 201)
	want := []content.Flaw{{Part: content.PartMediaText, Code: content.FlawTooLong, Have: 201, Most: 200}}
	if diff := cmp.Diff(want, c.Flaws()); diff != "" {
		t.Errorf("flaws (-want +got):\n%s", diff)
	}
}
