package e164_test

import (
	"testing"

	"campaign-dispatch/internal/phone/e164"
)

// Package phone tests the formats and Brazilian numbers against libphonenumber. This
// tests foreign numbers in a search.
func TestParse_AsWritten(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ want, code string }{
		"+14155552671":       {want: "+14155552671"},
		"351912345678":       {want: "+351912345678"},
		"+442079460958":      {want: "+442079460958"},
		"+4402079460958":     {want: "+4402079460958"}, // with Britain's trunk 0: another number to a search
		"+390612345678":      {want: "+390612345678"},  // Italy's 0 belongs to the number
		"+5411912345678":     {want: "+5411912345678"},
		"11987654321":        {want: "+5511987654321"},
		"+12345678901234567": {code: e164.WrongLength},
		"1187654321":         {code: e164.MissingNinthDigit},
		"+0441234567890":     {code: e164.InvalidForm},
		"+1 415":             {code: e164.InvalidForm},
		"":                   {code: e164.Empty},
	}
	for in, test := range tests {
		n, rejection := e164.Parse([]byte(in), e164.AsWritten)
		switch {
		case test.code == "" && (rejection != nil || n.String() != test.want):
			t.Errorf("%q is %s (%v), want %s", in, n, rejection, test.want)
		case test.code != "" && (rejection == nil || rejection.Code != test.code):
			t.Errorf("%q is %s (%v), want %s", in, n, rejection, test.code)
		}
	}
}
