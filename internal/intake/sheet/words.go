package sheet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxWords = 5
	maxWord  = 20 // characters
)

// Words adds the words with accents of a text to others, up to a few that differ. They show how a file was read.
func Words(words []string, text string) []string {
	if isASCII(text) || len(words) >= maxWords {
		return words
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		if word = Cut(word, maxWord); !isASCII(word) && !slices.Contains(words, word) && len(words) < maxWords {
			words = append(words, word)
		}
	}
	return words
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// addWords is Words of a text that is not UTF-8.
func addWords(words []string, text string) []string {
	for text != "" && len(words) < maxWords {
		size := 0
		for size < len(text) && inWord(text[size]) {
			size++
		}
		if word := text[:size]; !isASCII(word) && !slices.Contains(words, word) {
			words = append(words, word)
		}
		text = text[min(size+1, len(text)):]
	}
	return words
}

// inWord reports whether a byte is of a word: a letter, or beyond ASCII.
func inWord(b byte) bool {
	letter := b | 0x20
	return b >= utf8.RuneSelf || letter >= 'a' && letter <= 'z'
}
