package privacy

import (
	"strings"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// wrote reports whether a text writes the person's number, as dispatch would read it
// without what is no digit: with a trunk prefix or a carrier's digits, too, and as
// one that was refused for want of its ninth digit. Only numbers in a form that is
// not accepted rest as they were sent.
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
	// Of a country whose numbers the library knows less well, as it was asked for.
	number, _ = e164.Parse([]byte(digits), e164.AsWritten)
	return number == p.number || strings.Contains(rejection.Reason, p.number.String())
}

// rejected reports whether a rejected number is the person's: as it was sent, or as the
// reason says that it may have been meant.
func (p *person) rejected(phone, reason string) bool {
	return p.wrote(phone) || strings.Contains(reason, p.number.String())
}

// digitsOf returns the digits of a text, behind a + where one stands before them,
// without the .0 that spreadsheets append.
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

// international returns digits that begin as they are dialled, 00 for another country
// and 0 within Brazil, as they are written with a +; "" for others.
func international(digits string) string {
	if abroad, ok := strings.CutPrefix(digits, "00"); ok {
		return "+" + abroad
	}
	if strings.HasPrefix(digits, "0") {
		return "+55" + digits
	}
	return ""
}
