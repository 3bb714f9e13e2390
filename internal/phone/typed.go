package phone

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"campaign-dispatch/internal/phone/e164"
)

// Typed is a number that a person wrote in a file or a form.
type Typed struct {
	// Text is the number in a form that Parse reads. A refused number is without its separators, and a text with
	// other characters as it was written.
	Text      string
	Number    e164.Number
	Rejection *e164.Rejection // nil for a valid number
}

// ReadTyped reads a number that a person wrote. It reads what Parse reads, also with separators, with characters
// that nobody sees, and with the .0 that a spreadsheet appends. It reads what is dialled before a number too: 0,
// perhaps with the code of a carrier, and 00 before the code of a country.
func ReadTyped(s string) Typed {
	text := tidy(s)
	n, rejection := parseDialled(text)
	switch {
	case rejection == nil && text[0] == '0':
		return Typed{Text: n.String(), Number: n}
	case rejection == nil:
		return Typed{Text: text, Number: n}
	case text != "" && !isPlain(text):
		rejection = e164.RejectSigns
	}
	return Typed{Text: text, Rejection: rejection.Suggesting(suggestion(text))}
}

// meant returns the number, or the one that may be meant, and 0 if there is none.
func (t Typed) meant() e164.Number {
	if t.Rejection != nil {
		return t.Rejection.Suggestion
	}
	return t.Number
}

// WithNine returns the number with the ninth digit. It reports whether that is what the number lacks.
func (t Typed) WithNine() (_ Typed, lacks bool) {
	if t.Rejection == nil || t.Rejection.Code != e164.MissingNinthDigit {
		return t, false
	}
	n := t.Rejection.Suggestion
	return Typed{Text: n.String(), Number: n}, true
}

// GotNine reports whether a number is a written one with the ninth digit that it lacks.
func (t Typed) GotNine(number e164.Number) bool {
	added, lacks := t.WithNine()
	return lacks && added.Number == number
}

// national is the number of digits of a Brazilian mobile number with its area code.
const national = 11

// parseDialled parses a tidy number, with what is dialled before it.
func parseDialled(text string) (e164.Number, *e164.Rejection) {
	if len(text) <= national || text[0] != '0' {
		return parse([]byte(text))
	}
	n, rejection := parse([]byte(dial(text)))
	if rejection == nil && unclear(text) {
		return 0, e164.RejectUnclear
	}
	return n, rejection
}

// dial returns digits as a number in E.164, if they begin as they are dialled: 00 precedes another country's code, 0 a
// Brazilian number.
func dial(digits string) string {
	if abroad, ok := strings.CutPrefix(digits, "00"); ok {
		return "+" + abroad
	}
	if strings.HasPrefix(digits, "0") {
		return "+55" + digits
	}
	return digits
}

// unclear reports whether digits that begin as they are dialled may also be a Brazilian mobile number: one that a program
// has filled up with zeros, as 0051987654321, which is also Peruvian, or one with a digit too many, as 0219876543210, in
// which 21 is also a carrier.
func unclear(digits string) bool {
	if abroad, ok := strings.CutPrefix(digits, "00"); ok {
		return isMobile(abroad)
	}
	return len(digits) == len("0")+national+1 && isMobile(digits[1:len(digits)-1])
}

// isMobile reports whether digits are a Brazilian mobile number with its area code.
func isMobile(digits string) bool {
	if len(digits) != national || digits[0] == '0' {
		return false
	}
	_, rejection := parse([]byte(digits))
	return rejection == nil
}

// longestWritten is the number of bytes up to which a refused text can be a number with a fault.
const longestWritten = 60

// suggestion returns the number that a refused text may be: the only one in a text with other words, or the Brazilian one
// behind zeros. It returns 0 if there is none.
func suggestion(text string) e164.Number {
	switch {
	case len(text) > longestWritten:
	case !isPlain(text):
		if bare := strings.TrimFunc(plainDigits(text), notOfNumber); bare != text && bare != "" {
			return ReadTyped(bare).meant()
		}
	case strings.HasPrefix(strings.TrimPrefix(text, "+"), "0"):
		if _, rejection := parse([]byte(dial(text))); rejection == nil { // the other one of two
			return 0
		}
		if n, _ := parse([]byte(strings.TrimLeft(text, "+0"))); n.Brazilian() {
			return n
		}
	}
	return 0
}

func notOfNumber(r rune) bool { return !isDigit(r) && r != '+' }

// tidy removes separators, invisible characters, and the .0 that a spreadsheet appends. A text with other characters than
// digits and a leading +, or with another fraction, is returned unchanged.
func tidy(s string) string {
	if isPlain(s) {
		return s
	}
	whole, fraction := cutFraction(withoutPlaceholder(strings.TrimPrefix(visible(s), "'")))
	if fraction != "" && (!isPlain(whole) || !isZeros(fraction)) {
		return s // its digits are not all of the number
	}
	plain := strings.Map(func(r rune) rune {
		if isSeparator(r) {
			return -1
		}
		return r
	}, whole)
	if !isPlain(plain) {
		return s
	}
	return plain
}

// isSeparator reports whether people or programs write a character between the digits of a number.
func isSeparator(r rune) bool {
	if r < utf8.RuneSelf {
		return strings.ContainsRune(" \t().-", r)
	}
	const minus = '\u2212'
	return r == minus || unicode.In(r, unicode.Zs, unicode.Pd) || isInvisible(r)
}

// isInvisible reports whether a character changes only how a text is laid out.
func isInvisible(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.Is(unicode.Cf, r) || '\u2060' <= r && r <= '\u2069')
}

// visible returns a text without invisible characters and outer white space.
func visible(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, s))
}

// withoutPlaceholder removes the letters that stand for the code of any carrier, as in (0xx11) 98765-4321.
func withoutPlaceholder(s string) string {
	for _, carrier := range []string{"xx", "XX", "**"} {
		before, after, found := strings.Cut(s, carrier)
		if found && slices.Contains([]string{"0", "550", "+550"}, Digits(before)) {
			return before + after
		}
	}
	return s
}

// cutFraction splits a text before a fraction: the digits behind the last dot, if they are zeros behind a whole number,
// one digit, or two behind the only dot. Longer groups, and pairs as in 33.44.55.66, are of the number.
func cutFraction(s string) (whole, fraction string) {
	s = strings.TrimSpace(s)
	dot := strings.LastIndexByte(s, '.')
	if dot < 0 || !isDigits(s[dot+1:]) {
		return s, ""
	}
	whole, fraction = s[:dot], s[dot+1:]
	if isZeros(fraction) && isPlain(whole) || len(fraction) == 1 || len(fraction) == 2 && !strings.Contains(whole, ".") {
		return whole, fraction
	}
	return s, ""
}

// isPlain reports whether a text is digits with at most a leading +.
func isPlain(s string) bool { return isDigits(strings.TrimPrefix(s, "+")) }

func isZeros(s string) bool { return strings.Trim(s, "0") == "" }

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
