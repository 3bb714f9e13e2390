package phone_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		code           string // of the rejection, when want is empty
	}{
		{"mobile, country code", "5511987654321", "+5511987654321", ""},
		{"mobile, plus", "+5511987654321", "+5511987654321", ""},
		{"mobile, area code only", "11987654321", "+5511987654321", ""},
		{"area code 55, mobile", "55987654321", "+5555987654321", ""},
		{"area code 55, fixed line", "5533334444", "+555533334444", ""},
		{"area code 55, country code", "5555987654321", "+5555987654321", ""},
		{"area code 55, plus", "+5555987654321", "+5555987654321", ""},
		{"fixed line", "1133334444", "+551133334444", ""},
		{"fixed line, country code", "551133334444", "+551133334444", ""},
		{"trunked radio of eight digits", "551178654321", "+551178654321", ""},
		{"trunk 0", "01133334444", "+551133334444", ""},
		{"trunk 0 after country code", "+55011987654321", "+5511987654321", ""},
		{"trunk 0 and carrier", "+5501511987654321", "+5511987654321", ""},
		{"trunk 0 and no carrier", "+5501311987654321", "", e164.WrongLength},
		{"toll-free", "+558001234567", "", e164.NoAreaCode},
		{"toll-free as dialled", "08001234567", "", e164.NoAreaCode},
		{"toll-free without trunk 0", "8001234567", "", e164.NoAreaCode},
		{"toll-free of nine digits", "+55800123456", "", e164.NoAreaCode},
		{"shared cost", "+5540041234", "", e164.NoAreaCode},
		{"shared cost, 0300", "03001234567", "", e164.NoAreaCode},
		{"premium", "+559001234567", "", e164.NoAreaCode},
		{"donations", "05001234567", "", e164.NoAreaCode},
		{"collection, 0304", "03041234567", "", e164.NoAreaCode},
		{"collection, country code", "+553041234567", "", e164.NoAreaCode},
		{"shared cost without country code", "40041234", "", e164.NoAreaCode},
		{"shared cost without country code, 3003", "30031234", "", e164.NoAreaCode},
		{"toll-free of nine digits without country code", "800123456", "", e164.NoAreaCode},
		{"shared cost with a plus is Romanian", "+40041234", "", e164.InvalidNumber},
		{"shared cost without country code, as Polish numbers begin", "48641234", "", e164.NoAreaCode},
		{"Polish, as a shared cost number begins", "+48641234", "+48641234", ""},
		{"landline without area code", "33334444", "", e164.MissingAreaCode},
		{"mobile without area code", "987654321", "", e164.MissingAreaCode},
		{"mobile without area code, as Myanmar's begin", "951234567", "", e164.MissingAreaCode},
		{"landline without area code, as Germany's begin", "49301234", "", e164.MissingAreaCode},
		{"landline without area code, as Austria's begin", "431234567", "", e164.MissingAreaCode},
		{"German", "+49301234", "+49301234", ""},
		{"trunk 0 and nine digits without area code", "033334444", "", e164.MissingAreaCode},

		{"no ninth digit, country code", "551187654321", "", e164.MissingNinthDigit},
		{"no ninth digit", "1187654321", "", e164.MissingNinthDigit},
		{"no ninth digit, plus", "+551168654321", "", e164.MissingNinthDigit},
		{"starts with 1", "1113334444", "", e164.InvalidNumber},
		{"mobile without 9", "11887654321", "", e164.InvalidNumber},
		{"area code 10", "10987654321", "", e164.UnknownAreaCode},
		{"area code 20, country code", "5520987654321", "", e164.UnknownAreaCode},
		{"collect call", "+559011987654321", "", e164.WrongLength},
		{"collect call to shared cost", "+559030012345", "", e164.UnknownAreaCode},
		{"a digit too many", "55119876543210", "", e164.WrongLength},
		{"a digit too few", "+55119876543", "", e164.WrongLength},
		{"country code only", "+55", "", e164.WrongLength},
		{"country code without plus", "55", "", e164.MissingAreaCode},

		{"North American", "+14155552671", "+14155552671", ""},
		{"Argentine", "+5491123456789", "+5491123456789", ""},
		{"Argentine as dialled", "+540111523456789", "+5491123456789", ""},
		{"British with trunk 0", "+4407911123456", "+447911123456", ""},
		{"Italian with its own 0", "+390612345678", "+390612345678", ""},
		{"Portuguese without plus", "351912345678", "+351912345678", ""},
		{"British without plus", "447911123456", "+447911123456", ""},
		{"international toll-free", "+80012345678", "+80012345678", ""},
		{"North American without plus", "14155552671", "", e164.InvalidNumber},
		{"plus for country code", "+11987654321", "", e164.InvalidNumber},
		{"no such country", "+999123456789", "", e164.InvalidNumber},
		{"no such number", "+441111111111", "", e164.InvalidNumber},
		{"too short abroad", "+4479", "", e164.WrongLength},
		{"one digit", "7", "", e164.MissingAreaCode},
		{"endless", strings.Repeat("4", 100_000), "", e164.WrongLength},

		{"empty", "", "", e164.Empty},
		{"plus alone", "+", "", e164.InvalidForm},
		{"two plus", "++5511987654321", "", e164.InvalidForm},
		{"plus behind", "5511987654321+", "", e164.InvalidForm},
		{"blank", " ", "", e164.InvalidForm},
		{"spaces", "11 98765 4321", "", e164.InvalidForm},
		{"space behind", "11987654321 ", "", e164.InvalidForm},
		{"dashes and brackets", "(11) 98765-4321", "", e164.InvalidForm},
		{"letters", "11 9CASA-1234", "", e164.InvalidForm},
		{"extension", "11987654321;ext=12", "", e164.InvalidForm},
		{"full-width digits", "１１９８７６５４３２１", "", e164.InvalidForm},
		{"NUL", "11987654321\x00", "", e164.InvalidForm},
		{"international prefix", "005511987654321", "", e164.InvalidForm},
		{"trunk 0 and nine digits", "011987654321", "", e164.InvalidForm},
		{"plus and 0", "+0511987654321", "", e164.InvalidForm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, rejection := phone.Parse([]byte(tt.in))
			switch {
			case rejection == nil && n.String() != tt.want:
				t.Errorf("Parse(%q) = %v, want %q %q", tt.in, n, tt.want, tt.code)
			case rejection != nil && (tt.want != "" || rejection.Code != tt.code || n != 0):
				t.Errorf("Parse(%q) = %d, %+v, want %q %q", tt.in, n, *rejection, tt.want, tt.code)
			}
		})
	}
}

func TestParse_Reason(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"551187654321", "The ninth digit of the mobile number is missing: it may be +5511987654321."},
		{"1187654321", "The ninth digit of the mobile number is missing: it may be +5511987654321."},
		{"951234567", "The area code was left out: a Brazilian number has 10 or 11 digits, area code included. " +
			"A number of another country is written with a + and its country code."},
		{"40041234", "Service numbers, such as 0800, 0300 or 4004, cannot get messages. Use a number with an area code."},
		{"2012345678", "Brazil has no area code 20. A number of another country is written with a + and its country code."},
	}
	for _, tt := range tests {
		if _, rejection := phone.Parse([]byte(tt.in)); rejection == nil || rejection.Reason != tt.want {
			t.Errorf("Parse(%q) rejects with %+v, want %q", tt.in, rejection, tt.want)
		}
	}
}

//nolint:paralleltest // allocations are counted for the whole process
func TestParse_NoAllocations(t *testing.T) {
	in := []byte("5511987654321")
	if got := testing.AllocsPerRun(100, func() { _, _ = phone.Parse(in) }); got != 0 {
		t.Errorf("Parse allocates %v times, want 0", got)
	}
}
