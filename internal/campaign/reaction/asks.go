package reaction

import (
	"slices"
	"strings"
)

// Certainty is how certain it is that a reply asks for no further messages.
type Certainty int

// The certainties. A reply opts out only if it is Sure; an admin decides on Perhaps.
const (
	No Certainty = iota
	Perhaps
	Sure
)

// AsksToStop returns how certain it is that a person who wrote a text asks for no further messages. Sure is a text of
// phrases alone, with words of courtesy. Perhaps is a text that contains such a phrase, or is a less clear one.
func AsksToStop(text string) Certainty {
	tokens := tokensOf(text)
	doubtful := max(certaintyOf(without(tokens, signToken)), certaintyOf(unspaced(tokens)))
	return max(certaintyOf(tokens), min(doubtful, Perhaps))
}

func certaintyOf(tokens []string) Certainty {
	words := withoutStress(respelled(tokens))
	return max(certaintyOfWords(words), certaintyOfWords(without(words, wordMore)))
}

func without(words []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == word })
}

// withoutStress returns the words without "agora" and "aqui" where they only stress a phrase: pare agora. They change
// the meaning of "não quero receber" and of "sair".
func withoutStress(words []string) []string {
	if slices.Contains(words, "sair") || slices.Contains(words, "nao") && !slices.Contains(words, wordMore) {
		return words
	}
	return without(words, wordNow)
}

func certaintyOfWords(words []string) Certainty {
	switch {
	case contains(words, Sure) && consists(words, Sure):
		return Sure
	case contains(words, Sure), contains(words, Perhaps) && consists(words, Perhaps), refusesTwice(words):
		return Perhaps
	}
	return No
}

// refusesTwice reports whether two words of refusal follow each other: chega de incomodar.
func refusesTwice(words []string) bool {
	for i := range max(0, len(words)-1) {
		if words[i] != words[i+1] && slices.Contains(refusals, words[i]) && slices.Contains(refusals, words[i+1]) {
			return true
		}
	}
	return false
}

// contains reports whether the words have a phrase of at least a certainty among them.
func contains(words []string, least Certainty) bool {
	for i := range words {
		if len(beginnings(words[i:], least)) > 0 {
			return true
		}
	}
	return false
}

// consists reports whether the words are nothing but phrases of at least a certainty, and names of messages.
func consists(words []string, least Certainty) bool {
	ends := make([]bool, len(words)+1) // whether the words before are
	ends[0] = true
	for i := range words {
		if !ends[i] {
			continue
		}
		ends[i+1] = ends[i+1] || slices.Contains(messageWords, words[i]) || least == Perhaps && words[i] == wordNow
		for _, n := range beginnings(words[i:], least) {
			ends[i+n] = true
		}
	}
	return ends[len(words)]
}

// beginnings returns the lengths of the phrases of at least a certainty with which the words begin.
func beginnings(words []string, least Certainty) (lengths []int) {
	for n := 1; n <= min(maxPhrase, len(words)); n++ {
		if phrases()[strings.Join(words[:n], " ")] >= least {
			lengths = append(lengths, n)
		}
	}
	return lengths
}
