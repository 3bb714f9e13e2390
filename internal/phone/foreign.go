package phone

import (
	"strconv"

	"github.com/nyaruka/phonenumbers"
)

// noRegion makes the library take the country from the number alone.
const noRegion = "ZZ"

// parseForeign lets the library judge digits that begin with a country code.
func parseForeign(digits []byte) (Number, *Rejection) {
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
	e164 := phonenumbers.Format(parsed, phonenumbers.E164)
	n, err := strconv.ParseUint(e164[1:], 10, 64)
	if err != nil {
		return 0, &rejectForeignLength
	}
	return Number(n), nil
}

// hasCallingCode reports whether any country's code begins the digits. No code
// is the beginning of another.
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

// rejectForeign says what is wrong with a number that has a country.
func rejectForeign(parsed *phonenumbers.PhoneNumber) *Rejection {
	if phonenumbers.IsPossibleNumberWithReason(parsed) != phonenumbers.IS_POSSIBLE {
		return &rejectForeignLength
	}
	return &rejectForeignNumber
}
