package campaign

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// CodeTextTooLong is the code of a message whose rendered text exceeds the provider's
// limits.
const CodeTextTooLong = "text_too_long"

// requestOverhead is an upper bound of the request's bytes beside the card's texts: field
// names, TTL and the postback data of suggestions.
const requestOverhead = 2 << 10

// longestEscape is the maximum number of JSON bytes per byte of text.
const longestEscape = len(`\u003c`)

// TooLong reports whether a rendered template exceeds the provider's limits: the characters
// of a text, or the bytes of the request.
func (t Template) TooLong() bool {
	if t.Card == nil {
		return longer(t.Text, MaxTemplateText) // far below the limit of a request
	}
	return longer(t.Card.Title, MaxCardTitle) || longer(t.Card.Description, MaxCardDescription) ||
		slices.ContainsFunc(t.Card.Suggestions, func(s string) bool { return longer(s, MaxSuggestion) }) ||
		t.Card.requestTooLarge()
}

// SafeValueLen returns the value length, in bytes, up to which no value can make the
// template too long. It is -1 if the template is too long without values.
func (t Template) SafeValueLen() int {
	const widest = "&" // the longest escape
	values := make([]string, len(t.Variables()))
	firstTooLong := sort.Search(MaxTemplateText, func(n int) bool {
		for i := range values {
			values[i] = strings.Repeat(widest, n)
		}
		return t.Render(values).TooLong()
	})
	return firstTooLong - 1
}

func longer(text string, most int) bool {
	return len(text) > most && utf8.RuneCountInString(text) > most
}

// requestTooLarge reports whether the request of a card with valid texts is too large. Only
// the media address can cause that.
func (c Card) requestTooLarge() bool {
	const most = MaxRenderedBytes - requestOverhead
	size := len(c.Title) + len(c.Description) + len(c.MediaURL)
	for _, s := range c.Suggestions {
		size += len(s)
	}
	if size <= most/longestEscape {
		return false
	}
	encoded, err := json.Marshal(c)
	return err != nil || len(encoded) > most
}
