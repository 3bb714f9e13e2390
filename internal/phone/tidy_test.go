package phone_test

import (
	"testing"

	"campaign-dispatch/internal/phone"
)

func TestTidy(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"11987654321":                "11987654321",
		"(11) 98765-4321":            "11987654321",
		"+55 11 98765.4321":          "+5511987654321",
		"+55\u00a011\u00a0987654321": "+5511987654321",
		"11 98765\u20134321":         "11987654321",
		"91987654321.0":              "91987654321", // otherwise a number of India
		"5,51199E+12":                "5,51199E+12",
		"5.51199E+12":                "5.51199E+12",
		"11 98765-4321 (casa)":       "11 98765-4321 (casa)",
		"++11987654321":              "++11987654321",
		"-":                          "-",
		"":                           "",
	} {
		if got := phone.Tidy(written); got != want {
			t.Errorf("Tidy(%q) = %q, want %q", written, got, want)
		}
	}
}
