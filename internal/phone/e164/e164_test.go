package e164_test

import (
	"math"
	"testing"

	"campaign-dispatch/internal/phone/e164"
)

// Package phone tests the formats and Brazilian numbers against libphonenumber. This
// tests foreign numbers in a search.
func TestUnchecked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"+14155552671":       "+14155552671",
		"351912345678":       "+351912345678",
		"+442079460958":      "+442079460958",
		"+4402079460958":     "+4402079460958", // with Britain's trunk 0: another number to a search
		"+390612345678":      "+390612345678",  // Italy's 0 belongs to the number
		"+5411912345678":     "+5411912345678",
		"11987654321":        "+5511987654321",
		"1187654321":         "+551187654321",
		"987654321":          "+987654321",
		"+12345678901234567": "",
		"+0441234567890":     "",
		"+1 415":             "",
		"+":                  "",
		"":                   "",
	} {
		if got := e164.Unchecked([]byte(in)).String(); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

// Append writes the text of String behind what is there, and FromText reads it.
func TestNumber_Append(t *testing.T) {
	t.Parallel()
	for number, want := range map[e164.Number]string{
		0: "", 5511987654321: "+5511987654321", 14155552671: "+14155552671", math.MaxUint64: "+18446744073709551615",
	} {
		if got := string(number.Append([]byte("to "))); got != "to "+want {
			t.Errorf("%d is appended as %q, want %q", uint64(number), got, "to "+want)
		}
		if got := number.String(); got != want || e164.FromText(got) != number {
			t.Errorf("%d is %q, which is %d, want %q", uint64(number), got, uint64(e164.FromText(got)), want)
		}
	}
}
