package e164

import (
	"bytes"
	"fmt"
	"sync"
)

const brazil = 55

func parseBrazilian(digits []byte) (Number, *Rejection) {
	national := cutTrunkPrefix(digits)
	if !validBrazilian(national) {
		return 0, rejectBrazilian(national)
	}
	return appendDigits(brazil, national), nil
}

// Source of the area codes: Anatel, resolution 263/2001, annex.
var areaCodes = [100]bool{
	11: true, 12: true, 13: true, 14: true, 15: true, 16: true, 17: true, 18: true, 19: true,
	21: true, 22: true, 24: true, 27: true, 28: true,
	31: true, 32: true, 33: true, 34: true, 35: true, 37: true, 38: true,
	41: true, 42: true, 43: true, 44: true, 45: true, 46: true, 47: true, 48: true, 49: true,
	51: true, 53: true, 54: true, 55: true,
	61: true, 62: true, 63: true, 64: true, 65: true, 66: true, 67: true, 68: true, 69: true,
	71: true, 73: true, 74: true, 75: true, 77: true, 79: true,
	81: true, 82: true, 83: true, 84: true, 85: true, 86: true, 87: true, 88: true, 89: true,
	91: true, 92: true, 93: true, 94: true, 95: true, 96: true, 97: true, 98: true, 99: true,
}

// HasAreaCode reports whether Brazil has an area code.
func HasAreaCode(code int) bool { return 0 <= code && code < len(areaCodes) && areaCodes[code] }

// carriers are the two-digit codes of long-distance carriers.
var carriers = [100]bool{
	12: true, 14: true, 15: true, 21: true, 22: true, 23: true, 25: true, 31: true,
	41: true, 43: true, 55: true, 65: true, 99: true,
}

// cutTrunkPrefix removes the trunk prefix 0 and a carrier code. The 90 of a collect
// call is not removed: such a number is refused.
func cutTrunkPrefix(digits []byte) []byte {
	if len(digits) == 0 || digits[0] != '0' {
		return digits
	}
	if len(digits) >= 13 && carriers[pair(digits[1:])] {
		return digits[3:]
	}
	return digits[1:]
}

// validBrazilian reports whether libphonenumber accepts the national digits as a number with an area
// code.
func validBrazilian(national []byte) bool {
	switch len(national) {
	case 11:
		return areaCodes[pair(national)] && national[2] == '9'
	case 10:
		return areaCodes[pair(national)] && landlineOrTrunked(national[2])
	}
	return false
}

// service reports whether the national digits are a number without an area code: of companies,
// as 0800, 0300 and 4004. No phone receives messages at it. libphonenumber accepts all but 0304.
func service(national []byte) bool {
	switch len(national) {
	case 10:
		return service10(national[:3])
	case 9:
		return service9(national[:3])
	case 8:
		return service8(national[:4])
	}
	return false
}

// landlineOrTrunked reports whether an eight-digit number may begin with the digit: 2
// to 5 for fixed lines, 7 for trunked radio, which has no ninth digit.
func landlineOrTrunked(first byte) bool {
	return '2' <= first && first <= '5' || first == '7'
}

// service10 reports whether ten-digit service numbers begin with the prefix: those of
// nine digits, shared-cost, telemarketing and collection of debts.
func service10(prefix []byte) bool {
	return service9(prefix) || string(prefix) == "300" || string(prefix) == "303" || string(prefix) == "304"
}

// service9 reports whether nine-digit service numbers begin with the prefix: toll-free, donations, premium.
func service9(prefix []byte) bool {
	switch string(prefix) {
	case "800", "500", "900":
		return true
	}
	return false
}

// service8 reports whether eight-digit local-rate numbers begin with the prefix.
func service8(prefix []byte) bool {
	switch string(prefix) {
	case "4020", "4370", "4864":
		return true
	}
	return bytes.HasPrefix(prefix, []byte("300")) || bytes.HasPrefix(prefix, []byte("400"))
}

func rejectBrazilian(national []byte) *Rejection {
	switch {
	case service(national):
		return rejectService
	case len(national) != 10 && len(national) != 11:
		return rejectBrazilianLength
	case !areaCodes[pair(national)]:
		return rejectAreaCodes()[pair(national)]
	case len(national) == 11:
		return rejectBrazilianMobile
	case national[2] == '0' || national[2] == '1':
		return rejectBrazilianStart
	}
	return rejectNinthDigit(national)
}

// rejectAreaCodes returns the rejections of all area codes.
var rejectAreaCodes = sync.OnceValue(func() (all [100]*Rejection) {
	for code := range all {
		named := *rejectAreaCode
		named.Reason = fmt.Sprintf("Brazil has no area code %02d. ", code) + foreignEnglish
		all[code] = &named
	}
	return all
})

func rejectNinthDigit(national []byte) *Rejection {
	r := *rejectMissingNinthDigit
	r.Reason = "The ninth digit of the mobile number is missing: it may be +55" + string(national[:2]) + "9" + string(national[2:]) + "."
	r.Suggestion = appendDigits(appendDigits(brazil, national[:2])*10+9, national[2:])
	return &r
}

func pair(digits []byte) int {
	return int(digits[0]-'0')*10 + int(digits[1]-'0')
}
