package numberformat_test

import (
	_ "embed"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"campaign-dispatch/internal/intake/sheet/numberformat"
)

//go:embed testdata/formats.json
var formats []byte

// otherwise are the cells where LibreOffice, which wrote testdata/formats.json, shows another text than Excel.
var otherwise = map[string]string{
	// Excel keeps the sign of what it rounds to zero, and a comma without decimals.
	`"R$" #,##0.00 | -0.001`: "-R$ 0,00",
	`#.## | 5`:               "5,",
	`0.## | 5`:               "5,",
	// LibreOffice takes the 5 of +55 for an error.
	`+55 (00) 00000-0000 | 11987654321`: "+55 (11) 98765-4321",
	// Excel rounds the 15 digits that it keeps, LibreOffice the binary number.
	`0% | 0.285`:    "29%",
	`0.0% | 0.0705`: "7,1%",
	// Excel takes the last convergent, LibreOffice the nearest fraction.
	`# ??/?? | 3.14159`: "3 1/7",
	`# ???/??? | 0.123`: "23/187",
	// Excel shows 11 characters of a number without a format.
	`General | 33.3333333333333`:  "33,33333333",
	`General | 0.333333333333333`: "0,333333333",
	`General | 123456789.123`:     "123456789,1",
	// Excel has a 29th of February in 1900.
	`dd/mm/yyyy | 0`:  "00/01/1900",
	`dd/mm/yyyy | 1`:  "01/01/1900",
	`dd/mm/yyyy | 59`: "28/02/1900",
	`dd/mm/yyyy | 60`: "29/02/1900",
	// Excel rounds seconds.
	`dd/mm/yyyy\ hh:mm:ss | 46000.756944`: "09/12/2025 18:10:00",
	`hh:mm:ss | 0.756944`:                 "18:10:00",
	`mm:ss | 0.0103`:                      "14:50",
	// Windows has short dates of two digits in Brazil, and negative amounts with a sign.
	`14 | 46000.75`: "09/12/2025",
	`15 | 46000.75`: "09/dez/25",
	`16 | 46000.75`: "09/dez",
	`22 | 46000.75`: "09/12/2025 18:00",
	`5 | -1234.5`:   "-R$ 1.235",
	`6 | -1234.5`:   "-R$ 1.235",
	`7 | -1234.5`:   "-R$ 1.234,50",
	`8 | -1234.5`:   "-R$ 1.234,50",
	`37 | -1234.5`:  "-1.235",
	`38 | -1234.5`:  "-1.235",
	`39 | -1234.5`:  "-1.234,50",
	`40 | -1234.5`:  "-1.234,50",
	`41 | -1234.5`:  "-1.235",
	`42 | -1234.5`:  "-R$ 1.235",
	`43 | -1234.5`:  "-1.234,50",
	`44 | -1234.5`:  "-R$ 1.234,50",
}

func format(code string) *numberformat.Format {
	if number, err := strconv.Atoi(code); err == nil && number > 0 {
		return numberformat.Builtin(number)
	}
	return numberformat.Parse(code)
}

func TestFormat_AsShown(t *testing.T) {
	t.Parallel()
	var cells []struct{ Format, Value, Shown, SheetJS string }
	if err := json.Unmarshal(formats, &cells); err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, c := range cells {
		codes[c.Format] = true
		want := c.Shown
		if excel, differs := otherwise[c.Format+" | "+c.Value]; differs {
			want = excel
		}
		if got := strings.TrimSpace(format(c.Format).Number(c.Value, false)); got != want {
			t.Errorf("%s | %s: got %q, want %q (SheetJS %q)", c.Format, c.Value, got, want, c.SheetJS)
		}
	}
	if len(codes) < 60 {
		t.Errorf("%d formats, want 60 or more", len(codes))
	}
}

func TestFormat_Text(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]string{
		{"General", "Ana", "Ana"},
		{"@", "Ana", "Ana"},
		{`"Sr. "@`, "João", "Sr. João"},
		{`0;-0;0;@" (texto)"`, "Ana", "Ana (texto)"},
		{";;;", "Ana", ""},
		{"0.00", "Ana", "Ana"},
		{`_-@_-`, "Ana", "Ana"},
		{`[$-416]d\ mmm\ yy;@`, "Ana", "Ana"},
	} {
		if got := numberformat.Parse(test[0]).Text(test[1]); got != test[2] {
			t.Errorf("%s of %s: got %q, want %q", test[1], test[0], got, test[2])
		}
	}
}

// Old workbooks of Macs count days from 1904. Neither numbers beyond all dates nor texts are dates.
func TestFormat_Numbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code, value string
		since1904   bool
		want        string
	}{
		{"dd/mm/yyyy", "44538", true, "09/12/2025"},
		{"ddd", "44538", true, "ter"},
		{"ddd", "1", false, "dom"},
		{"dd/mm/yyyy", "-5", false, "-5"},
		{"dd/mm/yyyy", "11987654321", false, "11987654321"},
		{"dd/mm/yyyy", "1e300", false, numberformat.Plain("1e300")},
		{"0.00", "abc", false, "abc"},
		{"0.00", "NaN", false, "NaN"},
		{"0", "1e400", false, "1e400"},
		{`"Sr. "@`, "5", false, "Sr. 5"},
		{`[>=10]0"+";[>=5]0`, "1", false, "1"},
		{`[$-en-US]mmmm`, "46000", false, "December"},
		{`[$-pt-BR]mmmm`, "46000", false, "dezembro"},
		{`.00`, "12.5", false, "12,50"},
		{`# ?/?`, "0", false, "0"},
		{`?/?`, "1.25", false, "5/4"},
		{strings.Repeat("0", 300), "5", false, "5"},
	} {
		if got := numberformat.Parse(test.code).Number(test.value, test.since1904); got != test.want {
			t.Errorf("%s in %s: got %q, want %q", test.value, test.code, got, test.want)
		}
	}
}

func FuzzFormat(f *testing.F) {
	for _, code := range []string{`"R$" #,##0.00`, `# ??/??`, `[h]:mm:ss.00`, `##0.0E+0`, `[>5]0;;;@`, `dd "de" mmmm`} {
		f.Add(code, "1234.5")
	}
	f.Fuzz(func(t *testing.T, code, value string) {
		format := numberformat.Parse(code)
		if got := format.Number(value, false); len(got) > 4*len(code)+len(value)+2000 {
			t.Errorf("%q in %q has %d bytes", value, code, len(got))
		}
		format.Text(value)
	})
}
