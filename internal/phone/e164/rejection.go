package e164

// Codes of a Rejection. They are stable: clients may build on them.
const (
	Empty             = "empty"
	InvalidForm       = "invalid_form"
	MissingNinthDigit = "missing_ninth_digit"
	UnknownAreaCode   = "unknown_area_code"
	WrongLength       = "wrong_length"
	InvalidNumber     = "invalid_number"
)

// Rejection says why a number cannot be reached: a code for programs and a
// sentence for whoever made the campaign. It may be shared: do not change it.
// The sentence may hold the number, so it belongs in answers, not in logs.
type Rejection struct {
	Code, Reason string
}

// The rejections whose sentence is always the same.
var (
	rejectEmpty = Rejection{Empty, "The phone number is empty."}

	rejectCharacters = Rejection{
		InvalidForm,
		"A phone number is written with digits only and at most one + before them: no spaces, dashes, brackets or letters.",
	}
	rejectLeadingZero = Rejection{
		InvalidForm,
		"No country code begins with 0: write +55, the area code and the number, without any 0 before them.",
	}

	rejectBrazilianLength = Rejection{
		WrongLength,
		"A Brazilian number has 10 or 11 digits, area code included, after the country code 55.",
	}
	rejectBrazilianMobile = Rejection{
		InvalidNumber,
		"After the area code a Brazilian mobile number begins with 9. A number of another country is written with a + and its country code.",
	}
	rejectBrazilianStart = Rejection{
		InvalidNumber,
		"After the area code no Brazilian number begins with 0 or 1.",
	}

	rejectTooLong = Rejection{
		WrongLength,
		"No number has more than 15 digits, country code included.",
	}
)
