// Package phone validates telephone numbers: those of calls with Parse, and those that people wrote in files and
// forms with ParseTyped. Both return the same number in E.164. Seek searches for numbers, valid or not.
//
// The format determines the country. The result is that of libphonenumber's IsValidNumber, but a
// service number without an area code, such as 0800, is invalid. Brazilian numbers use a table.
package phone

import (
	"github.com/nyaruka/phonenumbers"

	"campaign-dispatch/internal/phone/e164"
)

// Parse parses a number of a call, in one of the formats of e164.Parse. The Rejection is nil for a
// valid number, and suggests the number that ReadTyped reads. s is not kept.
func Parse(s []byte) (e164.Number, *e164.Rejection) { return e164.Parse(s, parseForeign, meant) }

func meant(s []byte) e164.Number {
	if len(s) > longestWritten {
		return 0
	}
	return ReadTyped(string(s)).meant()
}

// parse parses what ReadTyped has read: it has no other meaning.
func parse(s []byte) (e164.Number, *e164.Rejection) {
	return e164.Parse(s, parseForeign, func([]byte) e164.Number { return 0 })
}

// ParseTyped parses a number as ReadTyped does.
func ParseTyped(s string) (e164.Number, *e164.Rejection) {
	t := ReadTyped(s)
	return t.Number, t.Rejection
}

// Refusal returns why a number of a file or of a call was refused with a code. If the number alone does not say it, it is what
// is true of all numbers with the code, nil for an unknown code.
func Refusal(written, code string) *e164.Rejection {
	if _, rejection := ParseTyped(written); rejection != nil && rejection.Code == code {
		return rejection
	}
	if _, rejection := Parse([]byte(written)); rejection != nil && rejection.Code == code {
		return rejection
	}
	return e164.ByCode(code)
}

// Country returns the country of a valid number, as its code of two letters of ISO 3166. It is "" for a number of no
// country, such as an international toll-free one.
func Country(n e164.Number) string {
	if n.Brazilian() {
		return "BR"
	}
	parsed, err := phonenumbers.Parse(n.String(), noRegion)
	if err != nil {
		return ""
	}
	if country := phonenumbers.GetRegionCodeForNumber(parsed); len(country) == 2 {
		return country
	}
	return ""
}

// noRegion makes the library determine the country from the number.
const noRegion = "ZZ"

// parseForeign validates digits that start with a country code, with the library.
func parseForeign(digits []byte) (e164.Number, *e164.Rejection) {
	if !hasCallingCode(digits) {
		return 0, e164.RejectCallingCode
	}
	parsed, err := phonenumbers.Parse("+"+string(digits), noRegion)
	if err != nil {
		return 0, e164.RejectForeignLength
	}
	if !phonenumbers.IsValidNumber(parsed) {
		return 0, rejectForeign(parsed)
	}
	return e164.FromText(phonenumbers.Format(parsed, phonenumbers.E164)), nil
}

// hasCallingCode reports whether the digits start with a country code. No code is a prefix of another.
func hasCallingCode(digits []byte) bool {
	code := 0
	for _, c := range digits[:min(3, len(digits))] {
		code = code*10 + int(c-'0')
		if len(phonenumbers.GetRegionCodesForCountryCode(code)) > 0 {
			return true
		}
	}
	return false
}

func rejectForeign(parsed *phonenumbers.PhoneNumber) *e164.Rejection {
	if phonenumbers.IsPossibleNumberWithReason(parsed) != phonenumbers.IS_POSSIBLE {
		return e164.RejectForeignLength
	}
	return e164.RejectForeignNumber
}
