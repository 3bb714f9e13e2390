package e164_test

import (
	"testing"

	"campaign-dispatch/internal/phone/e164"
)

// An accepted number parses to itself in its E.164 form.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"+5511987654321", "11987654321", "1133334444", "+14155552671", "0800", "+", "٣", "+550011987654321"} {
		f.Add([]byte(s))
	}
	unchecked := func(digits []byte) (e164.Number, *e164.Rejection) {
		if n := e164.Unchecked(append([]byte{'+'}, digits...)); n != 0 {
			return n, nil
		}
		return 0, e164.NewRejection(e164.WrongLength, "too long", "longo demais")
	}
	none := func([]byte) e164.Number { return 0 }
	f.Fuzz(func(t *testing.T, s []byte) {
		number, rejection := e164.Parse(s, unchecked, none)
		if rejection != nil {
			if number != 0 || rejection.Code == "" || rejection.Reason == "" {
				t.Errorf("%q: number %d, rejection %+v", s, number, rejection)
			}
			return
		}
		again, rejection := e164.Parse([]byte(number.String()), unchecked, none)
		if rejection != nil || again != number {
			t.Errorf("%q is %s, which is %s (%+v)", s, number, again, rejection)
		}
	})
}
