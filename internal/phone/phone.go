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

// separators are the characters that people write between the digits of a number.
const separators = " \t\u00a0\u202f().-\u2010\u2011\u2012\u2013"

// Tidy removes spaces, brackets, dots and dashes from a number, and the .0 that a
// spreadsheet appends. A text with other characters than digits and a leading +, or with
// another fraction, is returned unchanged.
func Tidy(s string) string {
	whole, fraction := cutFraction(s)
	if fraction != "" && (!isPlain(whole) || !isZeros(fraction)) {
		return s // its digits are not all of the number
	}
	tidy := strings.Map(func(c rune) rune {
		if strings.ContainsRune(separators, c) {
			return -1
		}
		return c
	}, whole)
	if !isPlain(tidy) {
		return s
	}
	return tidy
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
