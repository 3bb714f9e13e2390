package content

import (
	"encoding/json"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// The provider's limits. Lengths are in characters, sizes in bytes.
const (
	MaxText            = 3072
	MaxTitle           = 200
	MaxDescription     = 2000
	MaxSuggestion      = 25
	MaxSuggestions     = 11 // below a message
	MaxCardSuggestions = 4
	MinCards           = 2
	MaxCards           = 10
	MaxURL             = 2048
	MaxMediaText       = 200
	MaxLabel           = 100
	MaxEventTitle      = 100
	MaxEventText       = 500
	MaxMessage         = 250 << 10 // size of a request to the provider
)

// Upper bounds of the bytes that a request adds to the JSON of a content: the provider's
// field names, the TTL, and the postback data of each suggestion.
const (
	messageOverhead    = 2 << 10
	suggestionOverhead = 512
)

// The codes of rendered messages that cannot be sent.
const (
	CodeTextTooLong = "text_too_long"
	CodeInvalidURL  = "invalid_url"
)

// Unsendable returns the code of the first reason why a rendered content cannot be sent, or
// "". CodeTextTooLong: a text or the request exceeds the provider's limits. CodeInvalidURL: a
// URL is not an absolute https URL.
func (c Content) Unsendable() string {
	size, code := 0, ""
	for f := range c.fields() {
		size += len(*f.value)
		if longer(*f.value, f.most) {
			return CodeTextTooLong
		}
		if f.url && *f.value != "" && !ValidURL(*f.value) {
			code = CodeInvalidURL
		}
	}
	if c.tooLarge(size) {
		return CodeTextTooLong
	}
	return code
}

// SafeValueLen returns the value length, in bytes, up to which no value can make the content
// too long. It is -1 if the content is too long without values.
func (c Content) SafeValueLen() int {
	const widest = "<" // its escapes are the longest ones, in JSON and in a URL
	values := make([]string, len(c.Variables()))
	firstTooLong := sort.Search(min(MaxText, MaxMessage/max(1, c.occurrences())+1), func(n int) bool {
		for i := range values {
			values[i] = strings.Repeat(widest, n)
		}
		return c.Render(values).Unsendable() == CodeTextTooLong
	})
	return firstTooLong - 1
}

// occurrences returns how many variables the fields have, each as often as it occurs.
func (c Content) occurrences() (n int) {
	for f := range c.fields() {
		for _, variable := range Parts(*f.value) {
			if variable {
				n++
			}
		}
	}
	return n
}

// ValueURLs reports whether a value can make a URL invalid: a variable stands in its scheme or its host.
func (c Content) ValueURLs() bool {
	for f := range c.fields() {
		if f.url && !fixedHost(*f.value) {
			return true
		}
	}
	return false
}

// fixedHost reports whether the scheme and the host of a URL contain no variable.
func fixedHost(address string) bool {
	literal, _, _ := strings.Cut(address, "{{")
	_, rest, _ := strings.Cut(literal, "://")
	return literal == address || strings.ContainsAny(rest, "/?#")
}

// ValidURL reports whether messages can have the URL: https with a host, or http of 127.0.0.1 in a local stack.
func ValidURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || loopback.Load() && localURL(u)) && u.Hostname() != "" && UsablePort(u) && u.User == nil
}

// UsablePort reports whether a URL has no port, or one from 1 to 65535.
func UsablePort(u *url.URL) bool {
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && n > 0
}

// loopback permits http URLs of this machine.
var loopback atomic.Bool

// AllowLoopback permits http URLs of 127.0.0.1 beside https URLs. Only a local stack calls
// it, because its emulator serves uploaded files without TLS.
func AllowLoopback() { loopback.Store(true) }

func localURL(u *url.URL) bool { return u.Scheme == "http" && u.Hostname() == "127.0.0.1" }

func longer(text string, most int) bool {
	return len(text) > most && utf8.RuneCountInString(text) > most
}

// tooLarge reports whether the request of a content with size bytes of texts is too large.
func (c Content) tooLarge(size int) bool {
	const longestEscape = len(`\u003c`)
	most := MaxMessage - messageOverhead - suggestionOverhead*len(c.AllSuggestions())
	if size <= most/longestEscape {
		return false
	}
	encoded, err := json.Marshal(c)
	return err != nil || len(encoded) > most
}
