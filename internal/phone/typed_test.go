package phone_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/localstack/testsize"
)

// A refused number has the number that may be meant, in its reason too, at each door.
func TestRejection_Suggestion(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"(11) 98765-4321":                       "+5511987654321", // as a call has it
		"11\u200b987654321":                     "+5511987654321",
		"011987654321":                          "+5511987654321",
		"0 15 11 98765-4321":                    "+5511987654321",
		"005511987654321":                       "+5511987654321",
		"00351912345678":                        "+351912345678",
		"+44 (0)7911 840966":                    "+447911840966",
		"1187654321":                            "+5511987654321",
		"(011) 8765-4321":                       "+5511987654321",
		"+011987654321":                         "+5511987654321",
		"+005511987654321":                      "+5511987654321",
		"0011987654321":                         "+5511987654321", // as some programs fill it up
		"0000011987654321":                      "+5511987654321",
		"１１９８７６５４３２１":                           "+5511987654321",
		"11 98765-4321 (casa)":                  "+5511987654321",
		"tel:+5511987654321":                    "+5511987654321",
		"https://wa.me/55119876543":             "",
		"0051987654321":                         "", // two numbers
		"0219876543210":                         "",
		"11 98765-4321 / 3333-4444":             "",
		"119876543.21":                          "",
		"5,51199E+12":                           "",
		"987654321":                             "",
		"119876543210":                          "",
		"0800 123 4567":                         "",
		"":                                      "",
		strings.Repeat("(", 61) + "11987654321": "",
	} {
		_, call := phone.Parse([]byte(written))
		_, typed := phone.ParseTyped(written)
		for door, r := range map[string]*e164.Rejection{"a call": call, "a file": typed} {
			if r == nil && door == "a file" {
				continue
			}
			got := r.Suggestion.String()
			if want == "" && r.Suggestion != 0 || want != "" && (got != want || !strings.Contains(r.Reason, want) || !strings.Contains(r.InPortuguese(), want)) {
				t.Errorf("%q in %s: %s, %q, %q; want %s", written, door, got, r.Reason, r.InPortuguese(), want)
			}
		}
	}
}

// The reason of each form has a sentence in both languages.
func TestRejection_Portuguese(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"(011) 8765-4321":    "Falta o 9 depois do DDD. Talvez seja +5511987654321.",
		"951234567":          "Falta o DDD: um número do Brasil tem 10 ou 11 dígitos com ele. Um número de outro país começa com + e o código do país.",
		"tel. 11 98765-4321": "O número tem letras ou sinais. Escreva só os dígitos, com DDD. Talvez seja +5511987654321.",
	} {
		if _, r := phone.ParseTyped(written); r == nil || r.InPortuguese() != want {
			t.Errorf("%q: %v, want %q", written, r.InPortuguese(), want)
		}
	}
}

// The reason is found again by the number and its code, of a call or of a file. A number that would get another code today has
// the sentence of its code.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ written, code, want string }{
		{"(11) 98765-4321", e164.InvalidForm, "+5511987654321"},
		{"011 8765-4321", e164.MissingNinthDigit, "+5511987654321"},
		{"011 8765-4321", e164.InvalidForm, "+5511987654321"},
		{"(11) 98765-4321", e164.WrongLength, ""},
		{"11987654321", e164.InvalidForm, ""},
	} {
		r := phone.Refusal(test.written, test.code)
		if test.want == "" && r != e164.ByCode(test.code) || test.want != "" && (r.Code != test.code || r.Suggestion.String() != test.want) {
			t.Errorf("%q with %s: %+v, want %s", test.written, test.code, r, test.want)
		}
	}
	if r := phone.Refusal("11987654321", "new"); r != nil {
		t.Errorf("an unknown code is %+v", r)
	}
}

// What is said of all numbers with a code names none of them. A code with one sentence has it for each number.
func TestByCode(t *testing.T) {
	t.Parallel()
	for code, written := range map[string]string{
		e164.Empty: "", e164.MissingNinthDigit: "1187654321", e164.MissingAreaCode: "951234567", e164.UnknownAreaCode: "10987654321",
		e164.NoAreaCode: "40041234", e164.InvalidForm: "0219876543210", e164.WrongLength: "+5511", e164.InvalidNumber: "11887654321",
	} {
		_, one := phone.ParseTyped(written)
		all := e164.ByCode(code)
		if one == nil || all == nil || one.Code != code || all.Code != code {
			t.Errorf("%s: %+v of one number, %+v of all", code, one, all)
			continue
		}
		several := code == e164.InvalidForm || code == e164.WrongLength || code == e164.InvalidNumber
		if same := one.English == all.English && one.Portuguese == all.Portuguese; same == several || all.Suggestion != 0 || all.English == "" || all.Portuguese == "" {
			t.Errorf("%s: %+v of one number, %+v of all", code, one, all)
		}
	}
}

func TestTyped_WithNine(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"1187654321": "+5511987654321", "(011) 6876-5432": "+5511968765432", "0 15 11 8765-4321": "+5511987654321", "+55 11 8765-4321": "+5511987654321",
		"1133334444": "", "1178654321": "", "11987654321": "", "987654321": "", "": "",
	} {
		got, lacks := phone.ReadTyped(written).WithNine()
		if lacks != (want != "") || lacks && (got.Text != want || got.Number.String() != want || got.Rejection != nil) {
			t.Errorf("%q: %+v, %v; want %s", written, got, lacks, want)
		}
	}
}

func TestCountry(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"11987654321": "BR", "351912345678": "PT", "+14155552671": "US", "+16045551234": "CA", "+442079460958": "GB", "+80012345678": "",
	} {
		if n, _ := phone.ParseTyped(written); phone.Country(n) != want {
			t.Errorf("%s is of %q, want %q", written, phone.Country(n), want)
		}
	}
}

// Each form in which people write a valid number is the same number. What Parse accepts, ParseTyped does not change.
func TestReadTyped_Forms(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(54, 1))}
	for range testsize.Of(5_000, 500_000) {
		number := g.valid(t)
		written := g.written(strings.TrimPrefix(number, "+"))
		got, rejection := phone.ParseTyped(written)
		if rejection != nil && rejection.Suggestion == 0 && g.mayBeTwo(written) {
			continue
		}
		if rejection != nil || got.String() != number {
			t.Fatalf("%q is %s, %+v; want %s", written, got, rejection, number)
		}
		text := phone.ReadTyped(written).Text
		if again, rejection := phone.Parse([]byte(text)); rejection != nil || again != got {
			t.Fatalf("%q has the text %q, which is %s, %+v", written, text, again, rejection)
		}
	}
}

// valid returns a valid number in E.164.
func (g generator) valid(t *testing.T) string {
	t.Helper()
	for range 1000 {
		if n, rejection := phone.Parse([]byte(g.malicious())); rejection == nil {
			return n.String()
		}
	}
	t.Fatal("no number is valid")
	return ""
}

// written returns the digits of a number in E.164 as people write it.
func (g generator) written(digits string) string {
	forms := []string{"+" + digits}
	if len(digits) > len("987654321") { // shorter ones are Brazilian ones without an area code, filled up with zeros
		forms = append(forms, "00"+digits)
	}
	if national, brazilian := strings.CutPrefix(digits, "55"); brazilian {
		forms = append(forms, digits, national, "0"+national, "55 0"+national, "(0xx"+national[:2]+")"+national[2:],
			"0"+g.pick("12", "14", "15", "21", "22", "23", "25", "31", "41", "43", "55", "65", "99")+national)
	} else if len(digits) > 11 {
		forms = append(forms, digits)
	}
	return g.separated(g.pick(forms...))
}

// separated returns a text with separators and invisible characters around some digits. The last two digits follow each
// other: a dot before one or two digits is a fraction.
func (g generator) separated(digits string) string {
	var b strings.Builder
	for i, r := range digits {
		if i < len(digits)-2 && r != 'x' {
			b.WriteString(g.pick("", "", "", "", " ", "-", "\u200b", "\u00a0", "\u202a", "\u2066", "\ufeff"))
		}
		b.WriteRune(r)
	}
	return g.pick("", "\u200e", " ", "\ufeff") + b.String() + g.pick("", "\u200f", "\u2069", "\u00a0 ", " \t")
}

// mayBeTwo reports whether zeros before the digits leave open which number is meant.
func (g generator) mayBeTwo(written string) bool {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, written)
	return len(digits) == 13 && digits[0] == '0'
}

// FuzzReadTyped holds the text of a number against the number, and a number that Parse accepts against itself.
func FuzzReadTyped(f *testing.F) {
	g := generator{rand.New(rand.NewPCG(54, 2))}
	for range 100 {
		f.Add(g.malicious())
		f.Add(g.separated(g.malicious()))
	}
	for _, s := range []string{"'", "(0xx11) 98765-4321", "0xx", "00", "\u200b", "１１９８７６５４３２１", "tel:+5511987654321"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typed := phone.ReadTyped(s)
		number, rejection := phone.Parse([]byte(s))
		if rejection == nil && (typed.Rejection != nil || typed.Number != number) {
			t.Errorf("%q is %s, and typed %+v", s, number, typed)
		}
		if rejection != nil && rejection.Suggestion != 0 && !strings.Contains(rejection.Reason, rejection.Suggestion.String()) {
			t.Errorf("%q: %+v", s, rejection)
		}
		if typed.Rejection != nil {
			return
		}
		if again, rejection := phone.Parse([]byte(typed.Text)); rejection != nil || again != typed.Number {
			t.Errorf("%q has the text %q, which is %s, %+v", s, typed.Text, again, rejection)
		}
	})
}
