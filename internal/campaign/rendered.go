package campaign

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// CodeTextTooLong is the code of a message that the provider would refuse because
// rendering made its template too long.
const CodeTextTooLong = "text_too_long"

// requestOverhead is no less than the bytes of a request beside the texts of its
// card: the names of the fields, the ttl, and the suggestions' postback data, which
// repeat their texts.
const requestOverhead = 2 << 10

// longestEscape is how many bytes of JSON one byte of text may become.
const longestEscape = len(`\u003c`)

// TooLong reports whether a rendered template exceeds what the provider takes: the
// characters of one of its texts, or the bytes of the whole request.
func (t Template) TooLong() bool {
	if t.Card == nil {
		return longer(t.Text, MaxTemplateText) // far below the bytes of a request
	}
	return longer(t.Card.Title, MaxCardTitle) || longer(t.Card.Description, MaxCardDescription) ||
		slices.ContainsFunc(t.Card.Suggestions, func(s string) bool { return longer(s, MaxSuggestion) }) ||
		t.Card.requestTooLarge()
}

// SafeValueLen returns a number of bytes: values of which none has more never make
// the template too long. It is -1 for a template that is too long by itself.
func (t Template) SafeValueLen() int {
	const widest = "&" // no byte takes more room in a request
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

// requestTooLarge reports whether a card whose texts are short enough makes too
// large a request: only the address of its media can.
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
