package reaction

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"campaign-dispatch/internal/campaign/pattern"
)

// wordsOf returns the words of a text as the phrases have them: folded, each in one spelling, and without words of
// courtesy and small words.
func wordsOf(text string) []string { return respelled(tokensOf(text)) }

// respelled returns the words that stand for tokens.
func respelled(tokens []string) (words []string) {
	for len(tokens) > 0 {
		n, spelling := spellingOf(tokens)
		words, tokens = append(words, spelling...), tokens[n:]
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

func folded(text string) string { return strings.Join(tokensOf(text), " ") }

// token matches words, numbers, and signs that can end a sentence. Marks of emphasis and quotes are none, and a + is
// written for "mais".
var token = pattern.AtFirstUse(`\p{L}+|\p{N}+|[^\p{L}\p{N}\s*_~"'“”‘’+]+|[\r\n]+`)

// tokensOf returns the words of a folded text. Signs and line breaks after "não" are signToken, because
// "Não, quero receber" is not "Não quero receber".
func tokensOf(text string) (tokens []string) {
	last := ""
	for _, part := range token().FindAllString(fold(text), -1) {
		if first, _ := utf8.DecodeRuneInString(part); unicode.IsLetter(first) || unicode.IsNumber(first) {
			tokens, last = append(tokens, part), part
		} else if slices.Contains(noes, last) {
			tokens, last = append(tokens, signToken), signToken
		}
	}
	if last == signToken {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) > 1 && slices.Contains(yous, tokens[0]) && slices.Contains(noes, tokens[1]) {
		return slices.Insert(tokens, 1, signToken) // "Vocês não mandam mensagens" is no wish
	}
	return tokens
}

// yous are the ways to write "você" and "vocês".
var yous = []string{"voce", "voces", "vc", "vcs"}

// noes are the ways to write "não".
var noes = []string{"nao", "n", "naum", "num", "nun"}

// signToken is a word that no phrase has.
const signToken = ","

// unspaced returns the tokens with the letters of a spaced word as one word: p a r a r.
func unspaced(tokens []string) (words []string) {
	for i := 0; i < len(tokens); {
		end := i
		for end < len(tokens) && utf8.RuneCountInString(tokens[end]) == 1 {
			end++
		}
		end = max(end, i+1)
		words, i = append(words, strings.Join(tokens[i:end], "")), end
	}
	return words
}

// fold returns a text in lower case without accents, invisible characters and repeated letters: PARAAAR is parar.
// Letters of other widths and styles are the usual ones.
func fold(text string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Cf) || r == last && unicode.IsLetter(r) {
			return -1
		}
		last = r
		return r
	}, strings.ToLower(norm.NFKD.String(text)))
}

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
