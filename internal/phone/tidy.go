package phone

import "strings"

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
