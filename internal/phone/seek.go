package phone

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

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
	s.Digits = Digits(withoutZeros(text))
	forms := dialled(s.Digits)
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
	return s.Digits == Digits(phone) || s.Digits == Digits(withoutZeros(phone)) || s.WrittenIn(phone) || s.namedBy(reason)
}

// WrittenIn reports whether a text of any kind is the number, as dispatch would parse it without its
// separators, or has it among other words and numbers. It also recognizes trunk prefixes, carrier codes, and a
// missing ninth digit. A number in any other refused form is found as it was written, if it is long enough to be a number.
func (s Sought) WrittenIn(text string) bool {
	text = plainDigits(text)
	if len(Digits(text)) < shortestNumber {
		return false
	}
	return s.writtenBy(text) || slices.ContainsFunc(strings.FieldsFunc(text, separates), s.writtenInRun)
}

// separates reports whether a character is not of a number and its separators.
func separates(r rune) bool {
	return notOfNumber(r) && !isSeparator(r)
}

// writtenBy reports whether the digits of a text are the number.
func (s Sought) writtenBy(text string) bool {
	return slices.ContainsFunc(dialled(Digits(text)), s.meant)
}

// writtenInRun reports whether groups of digits that follow each other are the number. A run that is a valid number is
// no other one: +54 11 9876-5432 is not of the area code 11.
func (s Sought) writtenInRun(run string) bool {
	if n, rejection := ParseTyped(run); rejection == nil {
		return s.Is(n)
	}
	groups := groupsOf(run)
	abroad := 0 // digits that a number with a + has at least, and that were not seen
	for i, g := range groups {
		inside := abroad > 0
		if abroad -= g.digits; g.plus {
			inside, abroad = false, shortestText-g.digits
		}
		if !inside && s.writtenFrom(run, groups[i:]) {
			return true
		}
	}
	return false
}

// writtenFrom reports whether the number begins with the first of the groups.
func (s Sought) writtenFrom(run string, groups []group) bool {
	digits := 0
	for _, last := range groups {
		if digits += last.digits; digits > longestText {
			return false
		}
		if digits >= shortestNumber && s.writtenBy(run[groups[0].start:last.end]) {
			return true
		}
	}
	return false
}

// group is a group of digits in a text, with the signs before it.
type group struct {
	start, end, digits int
	plus               bool // among the signs
}

func groupsOf(text string) (all []group) {
	g := group{}
	for i, r := range text {
		switch {
		case isDigit(r):
			g.digits, g.end = g.digits+1, i+1
		case g.digits > 0:
			all, g = append(all, g), group{start: i, plus: r == '+'}
		default:
			g.plus = g.plus || r == '+'
		}
	}
	if g.digits > 0 {
		all = append(all, g)
	}
	return all
}

// shortestNumber is the number of digits of the shortest valid number, with its country code.
const shortestNumber = 7

// longestText is more than the digits of any number with its prefixes.
const longestText = 20

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

// MayBeNumber reports whether a text has as many digits as a local number, and no date.
func MayBeNumber(text string) bool {
	return len(strings.TrimPrefix(Digits(text), "+")) >= shortestText && !date().MatchString(text)
}

var date = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b([0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}|[0-9]{2}[-/.][0-9]{2}[-/.][0-9]{4})\b`)
})

// namedBy reports whether the reason of a rejection has the number, as the corrected one.
func (s Sought) namedBy(reason string) bool {
	_, behind, found := strings.Cut(reason, s.Valid.String())
	return found && s.Valid != 0 && strings.IndexFunc(behind, isDigit) != 0
}

// withoutZeros returns a text without the zeros behind a dot that spreadsheets append to a number.
func withoutZeros(text string) string {
	text = plainDigits(text)
	if whole, fraction := cutFraction(text); fraction != "" && isZeros(fraction) {
		return whole
	}
	return text
}

// Digits returns the digits of a text, with a leading + if there is one.
func Digits(text string) string {
	text = plainDigits(text)
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

// plainDigits returns a text with ASCII digits for those of other scripts and widths, with + for a wide one, and without
// invisible characters.
func plainDigits(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case r == '\uff0b':
			return '+'
		case isInvisible(r):
			return -1
		case !unicode.IsDigit(r):
			return r
		}
		n := rune(0) // the digits of a script are a block that begins with its zero
		for unicode.IsDigit(r - n - 1) {
			n++
		}
		return '0' + n%10
	}, text)
}

// dialled returns digits as written, and in E.164 if they are dialled. It returns none for no digits.
func dialled(digits string) []string {
	if digits == "" {
		return nil
	}
	if number := dial(digits); number != digits {
		return []string{digits, number}
	}
	return []string{digits}
}
