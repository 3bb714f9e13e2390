package phone_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/phone"
)

func TestSought_WrittenIn(t *testing.T) {
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
		{"61987650001 / 1133334444", mobile, true},
		{"1133334444 / 61987650001", mobile, true},
		{"61987650001 ramal 12", mobile, true},
		{"(61)\u00a098765\u20110001 ramal 12", mobile, true},
		{"(61) 98765-0001 - 12", mobile, true},
		{"61987650001-12", mobile, true},
		{"12 +55 61 98765-0001 12", mobile, true},
		{"+351 912 345 678 (61) 98765-0001", mobile, true},
		{"+54 61 9876-5000", "+5561998765000", false}, // Argentine
		{"+54 61 9876-5000 ramal 1", "+5561998765000", false},
		{"54 9 11 2345-6789", "+551123456789", false},
		{"tel:+5561987650001;ext=3", mobile, true},
		{"６１９８７６５０００１", mobile, true},
		{"＋５５ （６１） ９８７６５－０００１", mobile, true},
		{"٦١٩٨٧٦٥٠٠٠١", mobile, true},
		{"𝟔𝟏𝟗𝟖𝟕𝟔𝟓𝟎𝟎𝟎𝟏", mobile, true},
		{"61987650001.00", mobile, true},
		{"6198765000.10", mobile, false},
		{"999123456.00", "+5599912345600", true}, // as an earlier release read it
		{"61987650002 / 1133334444", mobile, false},
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
		sought, _ := phone.Seek(test.phone)
		if got := sought.WrittenIn(test.text); got != test.want {
			t.Errorf("%q writes %s: %v, want %v", test.text, test.phone, got, test.want)
		}
	}
}

// A number is sought as dispatch parses it and as it was written, so that also refused numbers are found.
func TestSeek(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"+5511987654321":       {"+5511987654321"},
		"(11) 98765-4321":      {"+5511987654321"},
		"0 15 11 98765-4321":   {"+5511987654321"}, // with a carrier code
		"011 3333-4444":        {"+551133334444", "+5501133334444"},
		"0055 11 98765-4321":   {"+5511987654321"},
		"１１９８７６５４３２１":          {"+5511987654321"},
		"999123456.00":         {"+999123456"}, // no area code, and zeros behind a dot
		"(11) 3333.0000":       {"+551133330000"},
		"+4407911840966":       {"+447911840966", "+4407911840966"}, // Britain's trunk 0
		"351912345678":         {"+351912345678"},
		"987654321":            {"+987654321"}, // no area code
		"1187654321":           {"+551187654321"},
		"66912345678":          {"+5566912345678"}, // Brazilian, and not Thai
		"+66912345678":         {"+66912345678"},
		"12":                   {"+12"},
		"12345678901234567890": {}, // no number of any form
	} {
		sought, found := phone.Seek(text)
		if diff := cmp.Diff(want, sought.E164()); diff != "" || !found {
			t.Errorf("%s, found: %v (-want +got):\n%s", text, found, diff)
		}
	}
	for _, text := range []string{"", "+", "Ana <ana@example.com>"} {
		if sought, found := phone.Seek(text); found || len(sought.Numbers) > 0 {
			t.Errorf("%q is %+v", text, sought)
		}
	}
}

// A rejected number is found as it was received, however short, and as corrected in the reason. In other texts,
// such as amounts, short digits are no number.
func TestSought_WrittenAs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sought, phone, reason string
		as, in                bool
	}{
		{"1234", "12-34", "", true, false},
		{"1234", "１２34", "", true, false},
		{"98765-4321", "987654321 ramal 2", "", true, true},
		{"98765-4321", "987654321", "", true, true},
		{"987654321", "+987654321", "", true, true},
		{"1187654321", "(11) 8765-4321", "", true, true},
		{"+5511987654321", "1187654321", "it may be +5511987654321.", true, true},
		{"+5511987654321", "x", "it may be +5511987654321.", true, false},
		{"55", "1187654321", "it may be +5511987654321.", false, false},
		{"987654321", "987654322", "", false, false},
		{"12345678901234567890", "12345678901234567890", "", true, true},
	} {
		sought, _ := phone.Seek(test.sought)
		if as, in := sought.WrittenAs(test.phone, test.reason), sought.WrittenIn(test.phone); as != test.as || in != test.in {
			t.Errorf("%s in %q: as a rejected number %v, as a text %v", test.sought, test.phone, as, in)
		}
	}
}

// A date in a header is no phone number.
func TestMayBeNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"98765-4321": true, "1187654321": true, "987": false, "Nome": false, "2026-11-28": false, "28/11/2026": false, "Lista 28.11.2026": false,
	} {
		if got := phone.MayBeNumber(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
