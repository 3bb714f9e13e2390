package e164

// Codes of a Rejection. They are stable, because clients use them.
const (
	Empty             = "empty"
	InvalidForm       = "invalid_form"
	MissingNinthDigit = "missing_ninth_digit"
	UnknownAreaCode   = "unknown_area_code"
	WrongLength       = "wrong_length"
	InvalidNumber     = "invalid_number"
)

// Rejection is the reason why a number is refused: a code for programs and a sentence
// for people. It may be shared: do not change it. The sentence may contain the number,
// so never log it.
type Rejection struct {
	Code, Reason string
}

// Rejections with a constant sentence.
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
	rejectTooShort = Rejection{
		WrongLength,
		"No number has fewer than 7 digits, country code included.",
	}
)
