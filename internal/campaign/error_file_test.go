package campaign_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

func TestErrorLine(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                 "",
		"order-1001":       "order-1001",
		"a=b+c-d@e":        "a=b+c-d@e",
		"a b; c":           "a b; c",
		"ação, \"x\"\nfim": "ação, \"x\"\nfim",
		"x,=1":             "x,=1", // quotes keep the comma
		"'=1":              "'=1",
		"=1+1":             "'=1+1",
		"-5":               "'-5",
		"@x":               "'@x",
		"+5511987654321":   "'+5511987654321",
		"\tx":              "'\tx",
		"\rx":              "'\rx",
		"  =1":             "  '=1",
		"\u00a0\u3000=1":   "\u00a0\u3000'=1",
		"\ufeff\u200b=1":   "\ufeff\u200b'=1",
		"\x00\x1f=1":       "\x00\x1f'=1",
		"\n=1":             "'\n'=1", "\nx": "'\nx",
		"\r\n=1":               "'\r\n'=1",
		"＝1":                   "'＝1",
		"＋1":                   "'＋1",
		"－1":                   "'－1",
		"＠SUM(1)":              "'＠SUM(1)",
		";=1|calc":             ";'=1|calc",
		"\";=1|calc":           "\";'=1|calc",
		";\"=1|calc\"":         ";\"'=1|calc\"",
		";\" \"\t-1":           ";\" \"\t'-1",
		"a;b;＝1":               "a;b;'＝1",
		"a\n=1\r+2\u2028@3":    "a\n'=1\r'+2\u2028'@3",
		"a;=1;=2 =3":           "a;'=1;'=2 =3",
		"a\u0085=1":            "a\u0085'=1",
		"a\x7f=1":              "a\x7f'=1",
		"cut\xff;=1":           "cut\xff;'=1",
		"==1":                  "'==1",
		"=\n=":                 "'=\n'=",
		strings.Repeat(`"`, 3): `"""`,
	} {
		file := campaign.ErrorLine{UID: sent}.AppendTo(nil)
		if !strings.HasPrefix(string(file), `"","","`) {
			t.Errorf("%q: a cell without quotes: %s", sent, file)
		}
		got, err := csv.NewReader(bytes.NewReader(file)).Read()
		if diff := cmp.Diff([]string{"", "", strings.ReplaceAll(want, "\r\n", "\n"), "", ""}, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", sent, err, diff)
		}
	}
}

// Only numbers in groups that a spreadsheet cannot calculate stay as they are.
func TestAppendRow_Phone(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"+5511987654321": "+5511987654321", "+55 11 98765-4321": "+55 11 98765-4321", "+44791112 3456": "+44791112 3456",
		"+55-11": "'+55-11", "+55 -11": "'+55 -11", "+55 ": "'+55 ", "+ 1": "'+ 1", "+1 2+3": "'+1 2+3", "+1 A1": "'+1 A1", "=1 2": "'=1 2",
	} {
		if got := string(campaign.AppendRow(nil, ';', sent)); got != `"`+want+"\"\r\n" {
			t.Errorf("%q: %s", sent, got)
		}
	}
}

// A spreadsheet splits a file at its separator, or at another one in spite of the quotes: no cell is a formula.
func TestAppendRow_OtherSeparator(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		separator  byte
		sent, want string
	}{
		{';', "a,=1", "a,'=1"},
		{';', "Oi, @loja", "Oi, '@loja"},
		{';', `a,"=1"`, `a,"'=1"`},
		{';', "1,-2", "1,'-2"},
		{';', ",＝1", ",'＝1"},
		{';', "a;=1", "a;'=1"},
		{';', "Ana, 10", "Ana, 10"},
		{',', "a;=1", "a;'=1"},
		{',', "a,=1", "a,=1"},
	} {
		file := string(campaign.AppendRow(nil, test.separator, "x", test.sent, "y"))
		row, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(file, `";"`, `","`))).Read()
		if err != nil || row[1] != test.want {
			t.Errorf("%q with %c: %q, error %v", test.sent, test.separator, row, err)
		}
		for _, separators := range []string{",", ";", "\t", ",;", ",;\t"} {
			if all := cells(file, separators); slices.ContainsFunc(all, beginsFormula) {
				t.Errorf("%q with %c, split at %q: %q", test.sent, test.separator, separators, all)
			}
		}
	}
}

// A cell that comes back in a file is what it was before the download.
func TestWithoutEscapes(t *testing.T) {
	t.Parallel()
	for escaped, want := range map[string]string{
		"": "", "Ana": "Ana", "'-10%": "-10%", "'@loja": "@loja", "'+55-11": "+55-11", " '=1": " =1", "\"'=1": "\"=1", "a;'=1": "a;=1", "Oi, '@loja": "Oi, @loja",
		"a\n'-b": "a\n-b", "'＝1": "＝1", "'\t'=1": "\t=1", "d'água": "d'água", "'Ana": "'Ana", "a '-b": "a '-b", "''=1": "''=1", "'": "'", "a'=1": "a'=1",
	} {
		if got := campaign.WithoutEscapes(escaped); got != want {
			t.Errorf("%q: got %q, want %q", escaped, got, want)
		}
	}
}

func FuzzWithoutEscapes(f *testing.F) {
	for _, cell := range []string{"a,=1", `",=1`, ";,\"\"=1\"", "a\n,\"", " ,\u200b+1", "+55 11 98765-4321", "\t=\r\n-"} {
		f.Add(cell)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		if campaign.WithoutEscapes(cell) != cell {
			t.Skip("it has an apostrophe where a download adds one")
		}
		for _, separator := range []byte{',', ';'} {
			file := string(campaign.AppendRow(nil, separator, cell))
			escaped := strings.ReplaceAll(file[1:len(file)-len("\"\r\n")], `""`, `"`)
			if got := campaign.WithoutEscapes(escaped); got != cell {
				t.Errorf("%q became %q and came back as %q", cell, escaped, got)
			}
		}
	})
}

func FuzzAppendRow(f *testing.F) {
	for _, cell := range []string{"a,=1", `",=1`, ";,\"\"=1\"", "a\n,\"", " ,\u200b+1", "+55 11 98765-4321"} {
		f.Add(cell, cell)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, separator := range []byte{',', ';'} {
			file := string(campaign.AppendRow(nil, separator, "x", first, second))
			for _, separators := range []string{",", ";", "\t", ",;", ",;\t"} {
				for _, cell := range cells(file, separators) {
					if beginsFormula(cell) && cell != first && cell != second {
						t.Errorf("separated by %q, a cell is %q in\n%q", separators, cell, file)
					}
				}
			}
		}
	})
}

func TestErrorLine_Phone(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"+5511987654321": "+5511987654321", "11987": "11987", "+": "'+", "+1 2": "'+1 2", "+5511;+55": "'+5511;'+55", ";=1": ";'=1",
	} {
		file := campaign.ErrorLine{Phone: sent}.AppendTo(nil)
		if got := string(file); got != `"","`+want+"\",\"\",\"\",\"\"\r\n" {
			t.Errorf("%q: %s", sent, got)
		}
	}
}

// FuzzErrorLine checks that no cell starts a formula, whatever the separator, and that a
// CSV library decodes the input except for the apostrophes.
func FuzzErrorLine(f *testing.F) {
	f.Add("+1", "=1+1")
	f.Add("x;\"", "\";=1|calc")
	f.Add(";", ";\"\"=1\"")
	f.Add("a\n\"", "\r\"\t＝1")
	f.Add(" \u200b;\x00", "\u2028-1")
	f.Fuzz(func(t *testing.T, phone, uid string) {
		l := campaign.ErrorLine{Line: "7", Phone: phone, UID: uid, Code: "invalid_form", Reason: "The phone number is empty."}
		file := l.AppendTo(l.AppendTo(campaign.ErrorFileHeader.AppendTo(nil)))
		for _, separators := range []string{",", ";", "\t", ",;", ",;\t"} {
			for _, cell := range cells(string(file), separators) {
				if beginsFormula(cell) && (cell != phone || !plainNumber.MatchString(cell)) {
					t.Errorf("separated by %q, a cell is %q in\n%q", separators, cell, file)
				}
			}
		}
		for _, part := range strings.FieldsFunc(string(file), separates) { // regardless of quotes
			if beginsFormula(part) {
				t.Errorf("torn apart, a cell is %q in\n%q", part, file)
			}
		}
		rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d lines, %v", len(rows), err)
		}
		sent := strings.ReplaceAll(uid, "\r\n", "\n")
		if got := rows[1][2]; strings.ReplaceAll(got, "'", "") != strings.ReplaceAll(sent, "'", "") || !dangerous(uid) && got != sent {
			t.Errorf("uid %q came back as %q", uid, got)
		}
		again := campaign.ErrorLine{Line: rows[1][0], Phone: rows[1][1], UID: rows[1][2], Code: rows[1][3], Reason: rows[1][4]}
		// The reader converts \r\n in a cell to one line break, each time it reads.
		if twice := again.AppendTo(nil); !bytes.Equal(withoutCR(twice), withoutCR(l.AppendTo(nil))) {
			t.Errorf("a line that was read and written again: %q", twice)
		}
	})
}

func withoutCR(file []byte) []byte { return bytes.ReplaceAll(file, []byte("\r"), nil) }

// dangerous reports whether a UID can start a formula when it is split.
func dangerous(uid string) bool {
	parts := strings.FieldsFunc(uid, separates)
	return slices.ContainsFunc(append(parts, uid), beginsFormula) || strings.IndexAny(uid, "\t\r\n") == 0
}

var plainNumber = regexp.MustCompile(`^\+[0-9]+$`)

func separates(c rune) bool {
	return c == ';' || unicode.IsControl(c) || c == '\u2028' || c == '\u2029'
}

func beginsFormula(cell string) bool {
	cell = strings.TrimLeftFunc(cell, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '"'
	})
	return strings.ContainsAny(firstOf(cell), "=+-@＝＋－＠﹦﹢﹣﹫")
}

func firstOf(s string) string {
	for _, c := range s {
		return string(c)
	}
	return ""
}

// cells splits a file like Excel: only a quote at the start of a cell opens a quoted part,
// and text after the closing quote belongs to the cell.
func cells(file, separators string) (all []string) {
	var cell strings.Builder
	quoted, fresh := false, true
	end := func() {
		all = append(all, cell.String())
		cell.Reset()
		fresh = true
	}
	runes := []rune(file)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quoted && c == '"' && i+1 < len(runes) && runes[i+1] == '"':
			cell.WriteRune(c)
			i++
		case quoted && c == '"':
			quoted = false
		case quoted:
			cell.WriteRune(c)
		case fresh && c == '"':
			quoted, fresh = true, false
		case strings.ContainsRune(separators+"\r\n", c):
			end()
		default:
			cell.WriteRune(c)
			fresh = false
		}
	}
	end()
	return all
}

// The files of exports and erasures are read by one rule.
func TestReadErrorFile(t *testing.T) {
	t.Parallel()
	want := campaign.ErrorLine{Line: "7", Phone: "12", UID: "u", Code: "wrong_length", Reason: "Too short."}
	file := want.AppendTo(campaign.ErrorFileHeader.AppendTo(nil))
	if got, err := campaign.ReadErrorFile(file); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %v, %v", got, err)
	}
	for name, damaged := range map[string]string{"empty": "", "columns": "line,phone\r\n", "quotes": string(file) + `"8,`} {
		if got, err := campaign.ReadErrorFile([]byte(damaged)); !errors.Is(err, campaign.ErrDamaged) || len(got) > 0 {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}
