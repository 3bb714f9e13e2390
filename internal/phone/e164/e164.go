// Package e164 parses telephone numbers in the formats found in campaign files. It
// validates Brazilian numbers with a table. The table agrees with libphonenumber except for service
// numbers, is a thousand times faster, and needs no loading.
package e164

import (
	"bytes"
	"strconv"
	"strings"
)

// Number is a telephone number: the digits of its E.164 form, country code first. Equal numbers have equal values.
type Number uint64

// String returns the E.164 form, such as +5511987654321, and "" for 0, which is no number.
func (n Number) String() string {
	var text [21]byte // a + and the digits of the largest Number
	return string(n.Append(text[:0]))
}

// Append appends the text of String to b and returns the longer slice. It allocates only if b is too small.
func (n Number) Append(b []byte) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendUint(append(b, '+'), uint64(n), 10)
}

// FromText returns the number of a text that String has returned, and 0 for any other text. The + may be missing.
func FromText(text string) Number {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
	if err != nil {
		return 0
	}
	return Number(n)
}

// Brazilian reports whether a valid number is one of Brazil: no other country's code begins with 55.
func (n Number) Brazilian() bool {
	for n >= 100 {
		n /= 10
	}
	return n == brazil
}

// Parse parses ASCII digits with an optional leading +. Without the +, fewer than 10 digits are
// rejected, and 10 or 11 digits are a Brazilian number with its area code; more are read as if
// they had a +. foreign parses numbers of other countries; its digits start with the country code. meant returns the
// number that may be meant by other signs, 0 if there is none.
// The Rejection is nil for a valid number. s is not kept.
func Parse(s []byte, foreign func(digits []byte) (Number, *Rejection), meant func(s []byte) Number) (Number, *Rejection) {
	digits, plus := bytes.CutPrefix(s, []byte{'+'})
	switch {
	case len(s) == 0:
		return 0, rejectEmpty
	case !allDigits(digits):
		return 0, rejectCharacters.Suggesting(meant(s))
	case !plus && len(digits) < withAreaCode:
		return 0, rejectShort(digits)
	case !plus && len(digits) <= withAreaCode+1:
		return parseBrazilian(digits)
	case len(digits) >= 2 && digits[0] == '5' && digits[1] == '5':
		return parseBrazilian(digits[2:])
	case digits[0] == '0':
		return 0, rejectLeadingZero.Suggesting(meant(s))
	}
	return foreign(digits)
}

// rejectShort returns why digits without a + and without an area code are rejected.
func rejectShort(digits []byte) *Rejection {
	if service(digits) {
		return rejectService
	}
	return rejectMissingAreaCode
}

// Unchecked returns the number that Parse would return if every number existed and had no trunk prefix.
// It is 0 if s is not a country code with a number. Use it to search for numbers that were never checked.
func Unchecked(s []byte) Number {
	digits, plus := bytes.CutPrefix(s, []byte{'+'})
	if !allDigits(digits) || len(digits) > longest {
		return 0
	}
	if n := len(digits); !plus && withAreaCode <= n && n <= withAreaCode+1 {
		return appendDigits(brazil, digits)
	}
	if digits[0] == '0' {
		return 0
	}
	return appendDigits(0, digits)
}

func appendDigits(n Number, digits []byte) Number {
	for _, c := range digits {
		n = n*10 + Number(c-'0')
	}
	return n
}

// withAreaCode is the number of digits of a Brazilian landline number with its area code. A mobile number has
// one more.
const withAreaCode = 10

// shortest and longest are the numbers of digits that a number may have, with its country code.
const (
	shortest = 7
	longest  = 15
)

// WellFormed reports whether s has the format of E.164: a + and 7 to 15 ASCII digits,
// starting with a country code. The number may not exist.
func WellFormed(s string) bool {
	digits, plus := strings.CutPrefix(s, "+")
	return plus && len(digits) >= shortest && len(digits) <= longest && digits[0] != '0' && allDigits([]byte(digits))
}

func allDigits(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0
}

// Codes of a Rejection. They are stable, because clients use them.
const (
	Empty             = "empty"
	InvalidForm       = "invalid_form"
	MissingNinthDigit = "missing_ninth_digit"
	MissingAreaCode   = "missing_area_code" // left out of a number that has one
	UnknownAreaCode   = "unknown_area_code"
	NoAreaCode        = "no_area_code" // of a service number
	WrongLength       = "wrong_length"
	InvalidNumber     = "invalid_number"
)

// Cause is what numbers that are refused for the same reason have in common: a code for programs and a sentence
// for people, without digits of the number.
type Cause struct{ Code, English, Portuguese string }

// Rejection is the reason why a number is refused. It may be shared: do not change it. Its Reason may contain the number,
// so never log it.
type Rejection struct {
	*Cause
	Reason     string // in English, with the Suggestion
	Suggestion Number // that may be meant, 0 if there is none
}

// NewRejection returns a rejection with a sentence in two languages.
func NewRejection(code, english, portuguese string) *Rejection {
	return &Rejection{Cause: &Cause{code, english, portuguese}, Reason: english}
}

// ByCode returns what is true of all numbers that are rejected with a code, nil for an unknown code.
func ByCode(code string) *Rejection { return byCode[code] }

// Suggesting returns the rejection with the number that may be meant. 0 is none.
func (r *Rejection) Suggesting(n Number) *Rejection {
	if n == 0 || r.Suggestion != 0 {
		return r
	}
	suggesting := *r
	suggesting.Reason, suggesting.Suggestion = r.Reason+suggests+n.String()+".", n
	return &suggesting
}

// Meant returns the Suggestion in E.164, "" if there is none.
func (r *Rejection) Meant() string { return r.Suggestion.String() }

// InPortuguese returns the Reason in Portuguese.
func (r *Rejection) InPortuguese() string {
	if r.Suggestion == 0 {
		return r.Portuguese
	}
	return r.Portuguese + " Talvez seja " + r.Suggestion.String() + "."
}

// Rejections with a constant sentence.
var (
	rejectEmpty = NewRejection(Empty, "The phone number is empty.", "O telefone está vazio.")

	rejectCharacters = NewRejection(
		InvalidForm,
		"A phone number is written with digits only and at most one + before them: no spaces, dashes, brackets or letters.",
		"O número tem letras ou sinais. Escreva só os dígitos, com DDD.",
	)
	rejectLeadingZero = NewRejection(
		InvalidForm,
		"No country code begins with 0: write +55, the area code and the number, without any 0 before them.",
		"Nenhum código de país começa com 0: escreva +55, o DDD e o número, sem 0 na frente.",
	)

	rejectBrazilianLength = NewRejection(
		WrongLength,
		"A Brazilian number has 10 or 11 digits, area code included, after the country code 55.",
		"Um número do Brasil tem 10 ou 11 dígitos com o DDD, depois do código 55.",
	)
	rejectMissingAreaCode = NewRejection(
		MissingAreaCode,
		"The area code was left out: a Brazilian number has 10 or 11 digits, area code included. "+foreignEnglish,
		"Falta o DDD: um número do Brasil tem 10 ou 11 dígitos com ele. "+foreignPortuguese,
	)
	rejectService = NewRejection(
		NoAreaCode,
		"Service numbers, such as 0800, 0300 or 4004, cannot get messages. Use a number with an area code.",
		"Número de serviço, que não tem DDD, como 0800, 0300 ou 4004. Use um número com DDD.",
	)
	rejectBrazilianMobile = NewRejection(
		InvalidNumber,
		"After the area code a Brazilian mobile number begins with 9. "+foreignEnglish,
		"Depois do DDD, um celular do Brasil começa com 9. "+foreignPortuguese,
	)
	rejectBrazilianStart = NewRejection(
		InvalidNumber,
		"After the area code no Brazilian number begins with 0 or 1.",
		"Depois do DDD, nenhum número do Brasil começa com 0 ou 1.",
	)
)

// Rejections of numbers of other countries, by the parser of those.
var (
	RejectCallingCode = NewRejection(
		InvalidNumber,
		"No country has the code this number begins with. A Brazilian number has 10 or 11 digits, area code included.",
		"Nenhum país tem o código com que este número começa. Um número do Brasil tem 10 ou 11 dígitos com o DDD.",
	)
	RejectForeignLength = NewRejection(
		WrongLength,
		"The number is too short or too long for the country whose code it begins with. "+
			"A Brazilian number has 10 or 11 digits, area code included.",
		"O número tem dígitos a mais ou a menos para o país do código com que começa. Um número do Brasil tem 10 ou 11 dígitos com o DDD.",
	)
	RejectForeignNumber = NewRejection(
		InvalidNumber,
		"The country whose code this number begins with has no such number.",
		"Não existe número assim no país do código com que ele começa.",
	)
)

// Rejections of numbers that a person wrote, by the parser of those.
var (
	RejectSigns = NewRejection(
		InvalidForm,
		"The number has letters or other signs. Write digits only, with the area code.",
		"O número tem letras ou sinais. Escreva só os dígitos, com DDD.",
	)
	RejectUnclear = NewRejection(
		InvalidForm,
		"The zeros before the number leave open which number is meant. Write a + and the country code before it, +55 for Brazil.",
		"Os zeros na frente deixam dúvida sobre qual é o número. Escreva + e o código do país antes dele, +55 para o Brasil.",
	)
)

// How a number of another country is written.
const (
	foreignEnglish    = "A number of another country is written with a + and its country code."
	foreignPortuguese = "Um número de outro país começa com + e o código do país."
)

// Rejections whose Reason has digits of the number.
var (
	rejectAreaCode = NewRejection(
		UnknownAreaCode, "Brazil has no such area code. "+foreignEnglish, "Este DDD não existe no Brasil. "+foreignPortuguese,
	)
	rejectMissingNinthDigit = NewRejection(
		MissingNinthDigit, "The ninth digit of the mobile number is missing.", "Falta o 9 depois do DDD.",
	)
)

// byCode has the rejection of each code. A code that has several has one that is true of all their numbers.
var byCode = map[string]*Rejection{
	Empty:             rejectEmpty,
	InvalidForm:       NewRejection(InvalidForm, "The number cannot be read.", "Não dá para ler o número."),
	MissingNinthDigit: rejectMissingNinthDigit,
	MissingAreaCode:   rejectMissingAreaCode,
	UnknownAreaCode:   rejectAreaCode,
	NoAreaCode:        rejectService,
	WrongLength: NewRejection(
		WrongLength, "The number has too many or too few digits.", "O número tem dígitos a mais ou a menos.",
	),
	InvalidNumber: NewRejection(InvalidNumber, "There is no such number.", "Não existe número assim."),
}
