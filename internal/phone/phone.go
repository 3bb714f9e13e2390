// Package phone reads telephone numbers as people write them into campaign
// files and decides whether they can exist.
//
// The form decides the country, and then the verdict is that of
// libphonenumber's IsValidNumber. Brazilian numbers, nearly all there are, are
// judged by a table that agrees with the library exactly and is a thousand
// times faster.
package phone

import (
	"bytes"
	"strconv"
)

// Number is a valid telephone number: the digits of its E.164 form, country
// code first. Two ways of writing one number give the same Number.
type Number uint64

// String returns the E.164 form, such as +5511987654321.
func (n Number) String() string {
	return string(strconv.AppendUint([]byte{'+'}, uint64(n), 10))
}

// Parse reads a number made of ASCII digits and one optional leading +.
// Without the + 10 or 11 digits are a Brazilian number with its area code, and
// anything else is read as if the + were there. A number that cannot exist
// comes back as a Rejection, which is nil otherwise. s is not kept.
func Parse(s []byte) (Number, *Rejection) {
	digits, plus := bytes.CutPrefix(s, []byte{'+'})
	switch {
	case len(s) == 0:
		return 0, &rejectEmpty
	case !allDigits(digits):
		return 0, &rejectCharacters
	case !plus && (len(digits) == 10 || len(digits) == 11):
		return parseBrazilian(digits)
	case len(digits) >= 2 && digits[0] == '5' && digits[1] == '5':
		return parseBrazilian(digits[2:])
	case digits[0] == '0':
		return 0, &rejectLeadingZero
	}
	return parseForeign(digits)
}

// allDigits reports whether s is one ASCII digit or more and nothing else.
func allDigits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}
