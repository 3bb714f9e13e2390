package numberformat

import (
	"math"
	"strconv"
	"strings"
)

const (
	maxWhole       = 1e15 // the largest number with exact fractions
	maxDenominator = 9999
)

// denominator returns the denominator behind the slash at an index, if the format says it, or else the greatest one
// with its digits. It is 0 if there is none.
func (s *section) denominator(slash int) int {
	places, said := s.denominatorTokens(slash)
	if !said {
		return min(maxDenominator, int(math.Pow10(len(places)))-1)
	}
	n, _ := strconv.Atoi(places)
	return min(n, maxDenominator)
}

// denominatorTokens returns the digits and placeholders behind a slash, and whether they are a number.
func (s *section) denominatorTokens(slash int) (places string, said bool) {
	for _, t := range s.tokens[slash+1:] {
		isDigit := t.kind == literal && len(t.text) == 1 && t.text[0] >= '1' && t.text[0] <= '9'
		if !isDigit && t.kind != digit {
			break
		}
		places, said = places+t.text, said || isDigit
	}
	return places, said
}

// fraction shows a number that is not negative with a fraction.
func (s *section) fraction(v float64) string {
	if v >= maxWhole {
		return Plain(strconv.FormatFloat(v, 'g', -1, 64))
	}
	before, mixed, after := s.aroundFraction()
	whole, part := 0.0, v
	if mixed {
		whole, part = math.Modf(v)
	}
	n, d := s.approximate(part)
	if mixed && n == d {
		whole, n = whole+1, 0
	}
	shown := strconv.FormatInt(int64(whole), 10)
	switch ratio := strconv.Itoa(n) + "/" + strconv.Itoa(d); {
	case !mixed, whole == 0 && n > 0:
		shown = ratio
	case n > 0:
		shown += " " + ratio
	}
	return strings.TrimSpace(before + shown + after)
}

// aroundFraction returns the literals around a fraction, and whether whole numbers stand before it.
func (s *section) aroundFraction() (before string, mixed bool, after string) {
	numerator := s.slash
	for numerator > 0 && s.tokens[numerator-1].kind == digit {
		numerator--
	}
	first := numerator
	for i, t := range s.tokens[:numerator] {
		if t.kind == digit {
			first, mixed = i, true
			break
		}
	}
	places, _ := s.denominatorTokens(s.slash)
	return texts(s.tokens[:first]), mixed, texts(s.tokens[s.slash+1+len(places):])
}

func texts(tokens []token) string {
	var all strings.Builder
	for _, t := range tokens {
		all.WriteString(t.text)
	}
	return all.String()
}

// approximate returns the fraction for a number: the last convergent of its continued fraction whose denominator has
// the places of the format.
func (s *section) approximate(x float64) (n, d int) {
	most := s.denominator(s.slash)
	if _, said := s.denominatorTokens(s.slash); said {
		return int(math.Round(x * float64(most))), most
	}
	const exact = 5e-8
	n, d = int(x), 1
	for lastN, lastD, rest := 1, 0, x-math.Floor(x); rest > exact; {
		rest = 1 / rest
		whole := math.Floor(rest)
		nextN, nextD := whole*float64(n)+float64(lastN), whole*float64(d)+float64(lastD)
		if nextD > float64(most) {
			break
		}
		lastN, lastD, n, d = n, d, int(nextN), int(nextD)
		rest -= whole
	}
	return n, d
}
