// Package phonetest has forms in which numbers are written, with the verdict of each door: a door takes a number of
// a call, a file or a form. The tests of all doors read this one table.
package phonetest

import (
	"fmt"
	"slices"
	"strings"

	"campaign-dispatch/internal/phone/e164"
)

// Form is a form of a number. A verdict is the number in E.164, or the code of the rejection.
type Form struct {
	Text  string
	Call  string // verdict of dispatch and of the API for lists
	Typed string // verdict of files and forms
}

// Accepted reports whether a verdict is a number.
func Accepted(verdict string) bool { return strings.HasPrefix(verdict, "+") }

// Numbers returns the different numbers that a door accepts, in order.
func Numbers(verdict func(Form) string) (all []string) {
	for _, f := range Forms() {
		if v := verdict(f); Accepted(v) && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// Forms returns all forms.
func Forms() []Form {
	var all []Form
	for _, f := range both {
		all = append(all, Form{f.text, f.verdict, f.verdict})
	}
	for _, f := range onlyTyped {
		all = append(all, Form{f.text, e164.InvalidForm, f.verdict})
	}
	return all
}

type form struct{ text, verdict string }

// both have one verdict at all doors.
var both = []form{
	{"5511987654321", "+5511987654321"},
	{"+5511987654321", "+5511987654321"},
	{"11987654321", "+5511987654321"},
	{"1133334444", "+551133334444"},
	{"551133334444", "+551133334444"},
	{"+551133334444", "+551133334444"},
	{"55987654321", "+5555987654321"}, // area code 55
	{"5533334444", "+555533334444"},
	{"5555987654321", "+5555987654321"},
	{"551178654321", "+551178654321"}, // trunked radio
	{"01133334444", "+551133334444"},  // trunk 0
	{"+55011987654321", "+5511987654321"},
	{"+5501511987654321", "+5511987654321"}, // and a carrier
	{"+14155552671", "+14155552671"},
	{"+5491123456789", "+5491123456789"},
	{"+540111523456789", "+5491123456789"},
	{"+4407911123456", "+447911123456"},
	{"+4407911840966", "+447911840966"},
	{"447911123456", "+447911123456"},
	{"+390612345678", "+390612345678"}, // its own 0
	{"351912345678", "+351912345678"},
	{"+80012345678", "+80012345678"},
	{"+48641234", "+48641234"},
	{"+49301234", "+49301234"},
	{"+951234567", "+951234567"},
	{"+431234567", "+431234567"},

	{"951234567", e164.MissingAreaCode},
	{"49301234", e164.MissingAreaCode},
	{"431234567", e164.MissingAreaCode},
	{"987654321", e164.MissingAreaCode},
	{"33334444", e164.MissingAreaCode},
	{"033334444", e164.MissingAreaCode},
	{"55", e164.MissingAreaCode},
	{"40041234", e164.NoAreaCode},
	{"30031234", e164.NoAreaCode},
	{"48641234", e164.NoAreaCode},
	{"800123456", e164.NoAreaCode},
	{"8001234567", e164.NoAreaCode},
	{"08001234567", e164.NoAreaCode},
	{"+558001234567", e164.NoAreaCode},
	{"+5540041234", e164.NoAreaCode},
	{"1187654321", e164.MissingNinthDigit},
	{"551187654321", e164.MissingNinthDigit},
	{"+551168654321", e164.MissingNinthDigit},
	{"10987654321", e164.UnknownAreaCode},
	{"5520987654321", e164.UnknownAreaCode},
	{"11887654321", e164.InvalidNumber},
	{"1113334444", e164.InvalidNumber},
	{"14155552671", e164.InvalidNumber},
	{"+11987654321", e164.InvalidNumber},
	{"+999123456789", e164.InvalidNumber},
	{"+441111111111", e164.InvalidNumber},
	{"55119876543210", e164.WrongLength},
	{"+55119876543", e164.WrongLength},
	{"+4479", e164.WrongLength},
	{"++5511987654321", e164.InvalidForm},
	{"5511987654321+", e164.InvalidForm},
	{"11 9CASA-1234", e164.InvalidForm},
	{"１１９８７６５４３２１", e164.InvalidForm},
	{"119876543210", e164.InvalidNumber},
	{"0987654321", e164.WrongLength},
	{"00951234567", e164.UnknownAreaCode}, // no area code, filled up with zeros
	{"0051987654321", e164.InvalidForm},   // Peruvian, or the same
	{"0219876543210", e164.InvalidForm},   // a digit too many, or a carrier
	{"0219976543210", e164.InvalidForm},
	{"+005511987654321", e164.InvalidForm},
	{"+011987654321", e164.InvalidForm},
}

// onlyTyped have separators or what is dialled before a number, which a call must not have.
var onlyTyped = []form{
	{"011987654321", "+5511987654321"},
	{"(011) 98765-4321", "+5511987654321"},
	{"(011) 3333-4444", "+551133334444"},
	{"0 15 11 98765-4321", "+5511987654321"},
	{"01511987654321", "+5511987654321"},
	{"0211133334444", "+551133334444"},
	{"0 23 91 3333-4444", "+559133334444"},
	{"(0xx11) 98765-4321", "+5511987654321"},
	{"+55 (0XX11) 98765-4321", "+5511987654321"},
	{"0**11 3333-4444", "+551133334444"},
	{"0055 11 98765-4321", "+5511987654321"},
	{"005511987654321", "+5511987654321"},
	{"0055 (011) 98765-4321", "+5511987654321"},
	{"00351 912 345 678", "+351912345678"},
	{"001 415 555 2671", "+14155552671"},
	{"0011987654321", e164.InvalidNumber}, // filled up with zeros
	{"(011) 8765-4321", e164.MissingNinthDigit},
	{"0 15 11 8765-4321", e164.MissingNinthDigit},
	{"011 88765-4321", e164.InvalidNumber},
	{"020 98765-4321", e164.UnknownAreaCode},
	{"0 13 11 98765-4321", e164.WrongLength},    // no carrier
	{"90 15 11 98765-4321", e164.InvalidNumber}, // a collect call
	{"0xx11 98765-4321 xx", e164.InvalidForm},
	{"011 98765-43210", e164.WrongLength},
	{"00 98765-4321", e164.UnknownAreaCode},
	{"0 0800 123 4567", e164.WrongLength},
	{"0 15 0800 123 4567", e164.UnknownAreaCode},
	{"0055 0800 123 4567", e164.NoAreaCode},
	{"0055 0300 123 4567", e164.NoAreaCode},
	{"0055 4004-1234", e164.NoAreaCode},
	{"0300 123 4567", e164.NoAreaCode},
	{"0500 123 4567", e164.NoAreaCode},
	{"0900 123 4567", e164.NoAreaCode},
	{"0303 123 4567", e164.NoAreaCode},
	{"0800 123 456", e164.NoAreaCode},
	{"3003-1234", e164.NoAreaCode},
	{"11\u200b98765\u200b4321", "+5511987654321"},
	{"\u200e+55\u202a11\u2069987654321\u202c", "+5511987654321"},
	{"\u206511987654321\ufeff", "+5511987654321"},
	{"11\u00ad98765\u00ad4321", "+5511987654321"},
	{"\ufeff11987654321.0\u200b", "+5511987654321"},
	{"11\u2212987654321", "+5511987654321"},
	{"11\u2003987654321\u3000", "+5511987654321"},
	{"'+55 (11) 98765-4321", "+5511987654321"},
	{"11 98765-4321 (casa)", e164.InvalidForm},
	{"11 98765-4321 / 11 91234-5678", e164.InvalidForm},
	{"(11) 98765-4321", "+5511987654321"},
	{"+55 11 98765.4321", "+5511987654321"},
	{"11 98765\u20134321", "+5511987654321"},
	{"+55\u00a011\u00a0987654321", "+5511987654321"},
	{"91987654321.0", "+5591987654321"}, // as spreadsheets write it
	{"+5511987654321.00", "+5511987654321"},
	{"+551198765432.0", e164.MissingNinthDigit}, // without the 0 of a fraction, which would make another person's number
	{"999123456.00", e164.MissingAreaCode},
	{"98765432.00", e164.MissingAreaCode},
	{"(11) 9876-5432.0", e164.InvalidForm},
	{"(11) 98765-432.00", e164.InvalidForm},
	{"119876543.21", e164.InvalidForm},
	{"+44 7911 123456", "+447911123456"},
	{"+44 (0)7911 840966", "+447911840966"},
	{"(11) 8765-4321", e164.MissingNinthDigit},
	{"98765-4321", e164.MissingAreaCode},
	{"0800 123 4567", e164.NoAreaCode},
	{"4004-1234", e164.NoAreaCode},
}

// File returns a CSV file with a column of the forms.
func File() string {
	var file strings.Builder
	file.WriteString("telefone\n")
	for _, f := range Forms() {
		fmt.Fprintf(&file, "\"%s\"\n", f.Text)
	}
	return file.String()
}
