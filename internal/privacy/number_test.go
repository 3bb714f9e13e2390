package privacy

import (
	"testing"

	"campaign-dispatch/internal/phone/e164"
)

func TestWrote(t *testing.T) {
	t.Parallel()
	const mobile, thai, british = "+5561987650001", "+66912345678", "+442079460958"
	for _, test := range []struct {
		text, phone string
		want        bool
	}{
		{"+5561987650001", mobile, true},
		{"5561987650001", mobile, true},
		{"61987650001", mobile, true},
		{"(61) 98765-0001", mobile, true},
		{"'+55 (61) 98765.0001", mobile, true}, // as in an error file
		{"+55 (061) 98765-0001", mobile, true},
		{"+55 0 15 61 98765 0001", mobile, true},
		{"061987650001", mobile, true},
		{"0 21 61 98765-0001", mobile, true},
		{"005561987650001", mobile, true},
		{"61987650001.0", mobile, true},
		{"5561987650001.0", mobile, true},
		{"+55 61 8765-0001", mobile, true}, // the ninth digit is missing
		{"6187650001", mobile, true},
		{"tel: +55 61 98765 0001 (casa)", mobile, true},
		{"61987650002", mobile, false},
		{"+61987650001", mobile, false}, // Australia
		{"987650001", mobile, false},
		{"", mobile, false},
		{"+", mobile, false},
		{"no number", mobile, false},
		{"+66 91 234 5678", thai, true},
		{"0066912345678", thai, true},
		{"66912345678", thai, false}, // a Brazilian mobile
		{"66912345678", "+5566912345678", true},
		{"+66912345678", "+5566912345678", false},
		{"44 20 7946 0958", british, true},
		{"+44 20 7946 0958", british, true},
		{"+999 1234 5678", "+99912345678", true}, // of no country, as received
	} {
		number, rejection := e164.Parse([]byte(test.phone), e164.AsWritten)
		if rejection != nil {
			t.Fatal(rejection)
		}
		if got := (&person{number: number}).wrote(test.text); got != test.want {
			t.Errorf("%q writes %s: %v, want %v", test.text, test.phone, got, test.want)
		}
	}
}
