package reaction

import (
	"strings"
	"sync"
	"unicode"
)

// wordsOf returns the words of a text as the phrases have them: folded, each in one spelling, and without words of
// courtesy and small words.
func wordsOf(text string) (words []string) {
	for rest := foldedWords(text); len(rest) > 0; {
		n, spelling := spellingOf(rest)
		words, rest = append(words, spelling...), rest[n:]
	}
	return words
}

// spellingOf returns the words for which the longest known beginning of words stands, and its length. An unknown word
// stands for itself.
func spellingOf(words []string) (n int, spelling []string) {
	for n := min(maxPhrase, len(words)); n > 0; n-- {
		if one, known := spellings()[strings.Join(words[:n], " ")]; known {
			return n, strings.Fields(one)
		}
	}
	return 1, words[:1]
}

func folded(text string) string { return strings.Join(foldedWords(text), " ") }

func foldedWords(text string) []string {
	return strings.FieldsFunc(fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// fold returns a text in lower case without accents, invisible characters and repeated letters: PARAAAR is parar.
func fold(text string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Cf) || r == last && unicode.IsLetter(r) {
			return -1
		}
		last = r
		return r
	}, accents.Replace(strings.ToLower(text)))
}

var accents = strings.NewReplacer(
	"á", "a", "à", "a", "â", "a", "ã", "a", "ä", "a", "é", "e", "è", "e", "ê", "e", "ë", "e", "í", "i", "ì", "i", "î", "i", "ï", "i",
	"ó", "o", "ò", "o", "ô", "o", "õ", "o", "ö", "o", "ú", "u", "ù", "u", "û", "u", "ü", "u", "ç", "c", "ñ", "n",
)

// spellings maps folded words to those that stand for them, "" for words that do not matter.
var spellings = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, s := range spelled {
		for form := range strings.SplitSeq(s.forms, ", ") {
			all[folded(form)] = folded(s.word)
		}
	}
	return all
})
