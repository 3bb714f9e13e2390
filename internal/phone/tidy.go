package phone

import "strings"

// Tidy returns a number that a person wrote without the spaces, brackets, dots and
// dashes in it, and without the .0 that a spreadsheet puts behind a whole number.
// What holds anything else beside digits and a + in front comes back as it is.
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
