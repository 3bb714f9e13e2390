// Package phone validates telephone numbers: those of calls with Parse, and those that people wrote in files and
// forms with ParseTyped. Both return the same number in E.164. Seek searches for numbers, valid or not.
//
// The format determines the country. The result is that of libphonenumber's IsValidNumber, but a
// service number without an area code, such as 0800, is invalid. Brazilian numbers use a table.
package phone

import (
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"campaign-dispatch/internal/phone/e164"
)

// Parse parses a number of a call, in one of the formats of e164.Parse. The Rejection is nil for a
// valid number. s is not kept.
func Parse(s []byte) (e164.Number, *e164.Rejection) { return e164.Parse(s, parseForeign) }

// ParseTyped parses a number that a person wrote in a file or a form, with separators. It returns the
// same number as Parse.
func ParseTyped(s string) (e164.Number, *e164.Rejection) { return Parse([]byte(Tidy(s))) }

// Tidy removes spaces, brackets, dots and dashes from a number, and the .0 that a
// spreadsheet appends. A text with other characters than digits and a leading + is
// returned unchanged.
func Tidy(s string) string {
	tidy := strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\u00a0\u202f().-\u2010\u2011\u2012\u2013", c) {
			return -1
		}
		return c
	}, withoutFraction(s))
	if digits := strings.TrimPrefix(tidy, "+"); digits == "" || strings.Trim(digits, "0123456789") != "" {
		return s
	}
	return tidy
}

func withoutFraction(s string) string {
	whole, found := strings.CutSuffix(s, ".0")
	if found && whole != "" && strings.Trim(whole, "0123456789") == "" {
		return whole
	}
	return s
}

// Rejections of numbers of other countries.
var (
	rejectCallingCode = e164.Rejection{
		Code:   e164.InvalidNumber,
		Reason: "No country has the code this number begins with. A Brazilian number has 10 or 11 digits, area code included.",
	}
	rejectForeignLength = e164.Rejection{
		Code: e164.WrongLength,
		Reason: "The number is too short or too long for the country whose code it begins with. " +
			"A Brazilian number has 10 or 11 digits, area code included.",
	}
	rejectForeignNumber = e164.Rejection{
		Code:   e164.InvalidNumber,
		Reason: "The country whose code this number begins with has no such number.",
	}
)

// noRegion makes the library determine the country from the number.
const noRegion = "ZZ"

// parseForeign validates digits that start with a country code, with the library.
func parseForeign(digits []byte) (e164.Number, *e164.Rejection) {
	if !hasCallingCode(digits) {
		return 0, &rejectCallingCode
	}
	parsed, err := phonenumbers.Parse("+"+string(digits), noRegion)
	if err != nil {
		return 0, &rejectForeignLength
	}
	if !phonenumbers.IsValidNumber(parsed) {
		return 0, rejectForeign(parsed)
	}
	formatted := phonenumbers.Format(parsed, phonenumbers.E164)
	n, err := strconv.ParseUint(formatted[1:], 10, 64)
	if err != nil {
		return 0, &rejectForeignLength
	}
	return e164.Number(n), nil
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
		return &rejectForeignLength
	}
	return &rejectForeignNumber
}
