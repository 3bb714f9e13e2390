package phone

import (
	"slices"
	"strings"

	"campaign-dispatch/internal/phone/e164"
)

// Sought is a number that somebody searches for. Dispatch may refuse it: then only files, lists and answers have it.
type Sought struct {
	Digits string      // as written, with a leading + if there is one
	Valid  e164.Number // as dispatch parses it, 0 if it refuses it
	// Numbers are the valid number, if there is one, and the digits as an unchecked number, if it is another one.
	Numbers []e164.Number
}

// Seek reads the number that somebody searches for. found is false for a text without digits.
func Seek(text string) (s Sought, found bool) {
	s.Digits = digitsOf(text)
	forms := formsOf(s.Digits)
	for _, form := range forms {
		if n, rejection := Parse([]byte(form)); rejection == nil && s.Valid == 0 {
			s.Valid = n
			s.add(n)
		}
	}
	for _, form := range forms {
		s.add(e164.Unchecked([]byte(form)))
	}
	return s, s.Digits != ""
}

func (s *Sought) add(n e164.Number) {
	if n != 0 && !s.Is(n) {
		s.Numbers = append(s.Numbers, n)
	}
}

// Is reports whether a number is the sought one.
func (s Sought) Is(n e164.Number) bool { return slices.Contains(s.Numbers, n) }

// E164 returns the E.164 forms of the numbers.
func (s Sought) E164() []string {
	all := make([]string, len(s.Numbers))
	for i, n := range s.Numbers {
		all[i] = n.String()
	}
	return all
}

// String returns the number in E.164, and the digits if they are no number of any form.
func (s Sought) String() string {
	if len(s.Numbers) == 0 {
		return s.Digits
	}
	return s.Numbers[0].String()
}

// WrittenAs reports whether a rejected number is the sought one: as received, or as corrected in the reason.
func (s Sought) WrittenAs(phone, reason string) bool {
	return s.Digits == digitsOf(phone) || s.WrittenIn(phone) || s.namedBy(reason)
}

// WrittenIn reports whether a text of any kind is the number, as dispatch would parse it without its
// separators. It also recognizes trunk prefixes, carrier codes, and a missing ninth digit. A number in any
// other refused form is found as it was written, if it is long enough to be a number.
func (s Sought) WrittenIn(text string) bool {
	return slices.ContainsFunc(formsOf(digitsOf(text)), s.meant)
}

// meant reports whether digits, with or without a +, are the number.
func (s Sought) meant(digits string) bool {
	number, rejection := Parse([]byte(digits))
	switch {
	case rejection == nil:
		return s.Is(number)
	case s.namedBy(rejection.Reason):
		return true
	}
	return len(digits) >= shortestText && (digits == s.Digits || s.Is(e164.Unchecked([]byte(digits))))
}

// shortestText is the number of digits of a local number. Shorter ones in a text are amounts and dates.
const shortestText = 8

// namedBy reports whether the reason of a rejection has the number, as the corrected one.
func (s Sought) namedBy(reason string) bool {
	return s.Valid != 0 && strings.Contains(reason, s.Valid.String())
}

// digitsOf returns the digits of a text, with a leading + if there is one, and without the .0 that spreadsheets append.
func digitsOf(text string) string {
	text = strings.TrimSuffix(strings.TrimSpace(text), ".0")
	first := strings.IndexFunc(text, isDigit)
	if first < 0 {
		return ""
	}
	digits := strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, text)
	if strings.Contains(text[:first], "+") {
		return "+" + digits
	}
	return digits
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// formsOf returns digits as written, and in E.164 if they are dialled: 00 precedes another country's
// code, 0 a Brazilian number. It returns none for no digits.
func formsOf(digits string) []string {
	if abroad, ok := strings.CutPrefix(digits, "00"); ok {
		return []string{digits, "+" + abroad}
	}
	if strings.HasPrefix(digits, "0") {
		return []string{digits, "+55" + digits}
	}
	if digits == "" {
		return nil
	}
	return []string{digits}
}
