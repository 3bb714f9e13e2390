package reaction

import (
	"slices"
	"strings"
	"unicode"
)

// OptChangeOf reports whether an answer changes the opt-out (changes), and to which value (out). An answer is an
// opt-out or opt-in event, or a reply. A typed reply opts out if it asks for it surely, see AsksToStop. A tap, which has
// postback data, opts out only if its text or its data is the keyword PARAR: the suggestion "Cancelar" of an appointment
// is none. The keyword COMEÇAR opts in, typed or tapped. A typed reply that perhaps asks for no further messages is
// doubtful: an admin decides.
func OptChangeOf(kind EventKind, text, postback string) (out, changes, doubtful bool) {
	if kind != EventReply {
		return kind == EventOptOut, kind == EventOptOut || kind == EventOptIn, false
	}
	keywords, asks := []string{plain(text), plain(postback)}, No
	if postback == "" {
		asks = AsksToStop(text)
	} else {
		keywords = []string{strings.TrimFunc(keywords[0], notLetter), strings.TrimFunc(keywords[1], notLetter)} // "1. Parar"
	}
	switch {
	case slices.Contains(keywords, "parar"), asks == Sure:
		return true, true, false
	case slices.Contains(keywords, "comecar"):
		return false, true, false
	}
	return false, false, asks == Perhaps
}

// OnlyReadsAsStop reports whether the text of a suggestion reads as an opt-out, and a tap on it is none.
func OnlyReadsAsStop(text string) bool {
	out, _, _ := OptChangeOf(EventReply, text, text)
	return !out && AsksToStop(text) != No
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// plain returns the text in lower case, with c for ç, and without leading and trailing signs. Digits stay: "Parar 18:00"
// is no keyword.
func plain(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return strings.NewReplacer("ç", "c", "\u0327", "").Replace(strings.ToLower(text))
}
