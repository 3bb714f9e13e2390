package numberformat

import (
	"strconv"
	"strings"
)

// kind is what a token of a format is.
type kind int

const (
	literal   kind = iota // shown as it is
	blank                 // a space that aligns numbers
	digit                 // 0, # or ?
	point                 // before decimals
	comma                 // of thousands
	percent               // %
	exponent              // E+ or E-
	slash                 // of a fraction or a date
	general               // the word General
	anyText               // @
	datePart              // y, m, d, h or s, repeated
	elapsed               // [h], [m] or [s]
	halfOfDay             // AM/PM or A/P
	test                  // [>=1000]
	language              // [$R$-416]
)

type token struct {
	kind kind
	text string
}

// scanner splits the code of a format. Parsers of others read quoted semicolons and placeholders as if they were not in
// quotes.
type scanner struct {
	left     string
	sections [][]token
}

// scan returns the tokens of a format by section.
func scan(code string) [][]token {
	s := &scanner{left: code, sections: [][]token{nil}}
	for s.left != "" {
		s.next()
	}
	return s.sections
}

func (s *scanner) add(k kind, text string) {
	last := len(s.sections) - 1
	s.sections[last] = append(s.sections[last], token{k, text})
}

// take returns the next character.
func (s *scanner) take() string {
	for i := range s.left {
		if i > 0 {
			c := s.left[:i]
			s.left = s.left[i:]
			return c
		}
	}
	c := s.left
	s.left = ""
	return c
}

// until returns the text before an end, and passes the end.
func (s *scanner) until(end string) string {
	text, rest, _ := strings.Cut(s.left, end)
	s.left = rest
	return text
}

func (s *scanner) next() {
	for word, k := range map[string]kind{"general": general, "am/pm": halfOfDay, "a/p": halfOfDay} {
		if len(s.left) >= len(word) && strings.EqualFold(s.left[:len(word)], word) {
			s.left = s.left[len(word):]
			s.add(k, strings.ToUpper(word))
			return
		}
	}
	switch c := s.take(); c {
	case `"`:
		s.add(literal, s.until(`"`))
	case `\`:
		s.add(literal, s.take())
	case "_":
		s.take()
		s.add(blank, " ")
	case "*":
		if s.take() == " " {
			s.add(blank, " ")
		}
	case "[":
		s.bracket(s.until("]"))
	case ";":
		s.sections = append(s.sections, nil)
	default:
		s.sign(c)
	}
}

// signs are the characters with a meaning of their own.
var signs = map[string]kind{"0": digit, "#": digit, "?": digit, ".": point, ",": comma, "%": percent, "/": slash, "@": anyText}

func (s *scanner) sign(c string) {
	k, known := signs[c]
	lower := strings.ToLower(c)
	switch {
	case known:
		s.add(k, c)
	case lower == "e" && (strings.HasPrefix(s.left, "+") || strings.HasPrefix(s.left, "-")):
		s.add(exponent, s.take())
	case strings.ContainsAny(lower, "ymdhs"):
		s.add(datePart, lower+s.more(lower))
	default:
		s.add(literal, c)
	}
}

// more returns the repetitions of a letter.
func (s *scanner) more(letter string) string {
	n := 0
	for n < len(s.left) && strings.ToLower(s.left[n:n+1]) == letter {
		n++
	}
	s.left = s.left[n:]
	return strings.Repeat(letter, n)
}

// bracket adds what is in brackets: a currency, a condition or an elapsed time. Colors are left out.
func (s *scanner) bracket(text string) {
	lower := strings.ToLower(text)
	switch {
	case strings.HasPrefix(text, "$"):
		symbol, place, _ := strings.Cut(text[1:], "-")
		s.add(language, strings.ToLower(place))
		s.add(literal, symbol)
	case text != "" && strings.ContainsRune("<>=", rune(text[0])):
		s.add(test, text)
	case text != "" && strings.ContainsRune("hms", rune(lower[0])) && strings.Trim(lower, lower[:1]) == "":
		s.add(elapsed, lower)
	}
}

// parseCondition parses the condition in a section's brackets.
func parseCondition(text string) *condition {
	number := strings.TrimLeft(text, "<>=")
	limit, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return nil
	}
	return &condition{operator: strings.TrimSuffix(text, number), limit: limit}
}
