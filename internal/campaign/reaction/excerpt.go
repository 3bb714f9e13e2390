package reaction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	ellipsis = "…" // where an excerpt is cut
	// Excerpts overlap by more than a phrase, which is searched for in the first part of each: other words follow it.
	excerptStep   = MaxReplyText / 2
	excerptSearch = MaxReplyText * 3 / 4
)

// excerptOf returns a text of at most MaxReplyText bytes: the first part that may ask for no further messages, for a
// person to decide on, and else the beginning.
func excerptOf(text string) string {
	if len(text) <= MaxReplyText {
		return text
	}
	for from := 0; from < len(text); from += excerptStep {
		if AsksToStop(excerptFrom(text, from, excerptSearch)) != No {
			return excerptFrom(text, from, MaxReplyText)
		}
	}
	return excerptFrom(text, 0, MaxReplyText)
}

// excerptFrom returns the part of a text from about a byte, of at most a number of bytes, with an ellipsis where it is
// cut. It is cut between words, or in a very long one.
func excerptFrom(text string, from, most int) string {
	start := ""
	if from > 0 {
		start, text = ellipsis, afterWord(text[from:])
	}
	if room := most - len(start); len(text) > room {
		text = beforeWord(text[:room-len(ellipsis)]) + ellipsis
	}
	return start + text
}

const longestWord = 40 // bytes

// afterWord returns a text without the part of a word that it may begin with.
func afterWord(text string) string {
	for i, r := range text {
		if i > 0 && (unicode.IsSpace(r) || i > longestWord) {
			return strings.TrimSpace(text[i:])
		}
	}
	return ""
}

// beforeWord returns a text without the part of a word or of a character that it may end with.
func beforeWord(text string) string {
	if space := strings.LastIndexFunc(text, unicode.IsSpace); space > len(text)-longestWord {
		return text[:space]
	}
	end := len(text)
	for end > 0 && !utf8.RuneStart(text[end-1]) {
		end--
	}
	return text[:max(0, end-1)] // without the last character: it may be a part
}
