package privacy

import (
	"strings"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// wrote reports whether a text contains the person's number, as dispatch would parse it
// without its separators. It also recognizes trunk prefixes, carrier codes, and a
// missing ninth digit. A number in any other refused form is not found.
func (p *person) wrote(text string) bool {
	digits := digitsOf(text)
	for _, form := range []string{digits, international(digits)} {
		if form != "" && p.meant(form) {
			return true
		}
	}
	return false
}

// meant reports whether digits, with or without a +, are the person's number.
func (p *person) meant(digits string) bool {
	number, rejection := phone.Parse([]byte(digits))
	if rejection == nil {
		return number == p.number
	}
	// For foreign countries, compare the digits as written.
	number, _ = e164.Parse([]byte(digits), e164.AsWritten)
	return number == p.number || strings.Contains(rejection.Reason, p.number.String())
}

// rejected reports whether a rejected number is the person's: as received, or as corrected in the reason.
func (p *person) rejected(phone, reason string) bool {
	return p.wrote(phone) || strings.Contains(reason, p.number.String())
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

// international returns dialled digits in E.164 with a +: 00 precedes another country's
// code, 0 a Brazilian number. It returns "" for other digits.
func international(digits string) string {
	if abroad, ok := strings.CutPrefix(digits, "00"); ok {
		return "+" + abroad
	}
	if strings.HasPrefix(digits, "0") {
		return "+55" + digits
	}
	return ""
}
