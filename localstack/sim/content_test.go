package sim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const validCard = `{"title":"a"}`

// carouselOf returns the members of a content with a carousel of the cards.
func carouselOf(cards string) string {
	return `"richCard":{"carouselCard":{"cardWidth":"SMALL","cardContents":[` + cards + `]}}`
}

func cardOf(content string) string {
	return `"richCard":{"standaloneCard":{"cardOrientation":"VERTICAL","cardContent":` + content + `}}`
}

// action returns an action suggestion of the given kind.
func action(kind string) string {
	return `{"action":{"text":"Ver","postbackData":"x",` + kind + `}}`
}

// below returns a text with the given suggestion.
func below(suggestion string) string { return `"text":"a","suggestions":[` + suggestion + `]` }

func repeated(n int, element string) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

// TestSend_Limits sends each content at a limit and one over it.
func TestSend_Limits(t *testing.T) {
	t.Parallel()
	reply := func(text, postback int) string {
		return fmt.Sprintf(`{"reply":{"text":%q,"postbackData":%q}}`, strings.Repeat("a", text), strings.Repeat("b", postback))
	}
	media := func(height string) string {
		return `{"media":{"height":"` + height + `","contentInfo":{"fileUrl":"https://loja.example/a.png"}}}`
	}
	mediaText := func(length int) string {
		return strings.Replace(media("SHORT"), `{"height"`, `{"contentDescription":"`+strings.Repeat("ã", length)+`","height"`, 1)
	}
	openURL := func(length int) string {
		return action(`"openUrlAction":{"application":"BROWSER","url":"https://loja.example/` + strings.Repeat("a", length-len("https://loja.example/")) + `"}`)
	}
	event := func(start, end string) string {
		return action(`"createCalendarEventAction":{"title":"a","startTime":"` + start + `","endTime":"` + end + `"}`)
	}
	tests := []struct{ name, allowed, refused string }{
		{"characters of a text", `"text":"` + strings.Repeat("ã", 3072) + `"`, `"text":"` + strings.Repeat("ã", 3073) + `"`},
		{"characters of a title", cardOf(`{"title":"` + strings.Repeat("ã", 200) + `"}`), cardOf(`{"title":"` + strings.Repeat("ã", 201) + `"}`)},
		{"characters of a description", cardOf(`{"description":"` + strings.Repeat("ã", 2000) + `"}`), cardOf(`{"description":"` + strings.Repeat("ã", 2001) + `"}`)},
		{"suggestions of a message", below(repeated(11, reply(1, 1))), below(repeated(12, reply(1, 1)))},
		{"suggestions of a card", cardOf(`{"title":"a","suggestions":[` + repeated(4, reply(1, 1)) + `]}`), cardOf(`{"title":"a","suggestions":[` + repeated(5, reply(1, 1)) + `]}`)},
		{"suggestions of a carousel's card", carouselOf(validCard + `,{"title":"a","suggestions":[` + repeated(4, reply(1, 1)) + `]}`), carouselOf(validCard + `,{"title":"a","suggestions":[` + repeated(5, reply(1, 1)) + `]}`)},
		{"characters of a suggestion", below(reply(25, 1)), below(reply(26, 1))},
		{"characters of a postback", below(reply(1, 2048)), below(reply(1, 2049))},
		{"fewest cards", carouselOf(repeated(2, validCard)), carouselOf(validCard)},
		{"most cards", carouselOf(repeated(10, validCard)), carouselOf(repeated(11, validCard))},
		{"height of a small carousel", carouselOf(repeated(2, media("MEDIUM"))), carouselOf(repeated(2, media("TALL")))},
		{"characters of a URL", below(openURL(2048)), below(openURL(2049))},
		{"scheme of a URL", below(openURL(30)), below(strings.Replace(openURL(30), "https", "intent", 1))},
		{"phone number", below(action(`"dialAction":{"phoneNumber":"+551133334444"}`)), below(action(`"dialAction":{"phoneNumber":"1133334444"}`))},
		{"location", below(action(`"viewLocationAction":{"query":"loja"}`)), below(action(`"viewLocationAction":{"query":"loja","latLong":{"latitude":1,"longitude":2}}`))},
		{"one kind of action", below(action(`"shareLocationAction":{}`)), below(action(`"shareLocationAction":{},"dialAction":{"phoneNumber":"+551133334444"}`))},
		{"webview", below(action(`"openUrlAction":{"application":"WEBVIEW","webviewViewMode":"TALL","url":"https://a.example"}`)), below(action(`"openUrlAction":{"application":"WEBVIEW","url":"https://a.example"}`))},
		{"end of an event", below(event("2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z")), below(event("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"))},
		{"alignment of a horizontal card", strings.Replace(cardOf(validCard), `"VERTICAL"`, `"HORIZONTAL","thumbnailImageAlignment":"LEFT"`, 1), strings.Replace(cardOf(validCard), "VERTICAL", "HORIZONTAL", 1)},
		{"characters of a media's description", cardOf(mediaText(200)), cardOf(mediaText(201))},
		{"file", `"contentInfo":{"fileUrl":"https://loja.example/a.pdf"}`, `"contentInfo":{"fileUrl":"a.pdf"}`},
		{"one form", `"text":"a"`, `"text":"a","contentInfo":{"fileUrl":"https://loja.example/a.pdf"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			if w := p.send(t, phone, numbered(1), `{"contentMessage":{`+test.allowed+`}}`); w.Code != http.StatusOK {
				t.Errorf("at the limit: got %d %s, want 200", w.Code, w.Body)
			}
			if w := p.send(t, phone, numbered(2), `{"contentMessage":{`+test.refused+`}}`); w.Code != http.StatusBadRequest || errorStatus(t, w) != "INVALID_ARGUMENT" {
				t.Errorf("over the limit: got %d %s, want 400 INVALID_ARGUMENT", w.Code, w.Body)
			}
		})
	}
}
