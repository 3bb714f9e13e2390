package reaction

import (
	"strings"
	"unicode"
)

// OptChangeOf reports whether an answer changes the opt-out (changes), and to which value
// (out). An answer is an opt-out or opt-in event, or a reply with the keyword PARAR or
// COMEÇAR as its text or postback data.
func OptChangeOf(kind EventKind, text, postback string) (out, changes bool) {
	reply := kind == EventReply
	text, postback = plain(text), plain(postback)
	switch {
	case kind == EventOptOut, reply && (text == "parar" || postback == "parar"):
		return true, true
	case kind == EventOptIn, reply && (text == "comecar" || postback == "comecar"):
		return false, true
	}
	return false, false
}

// plain returns the text in lower case, with c for ç, and without leading and trailing characters that are not letters.
func plain(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	return strings.NewReplacer("ç", "c", "\u0327", "").Replace(strings.ToLower(text))
}
