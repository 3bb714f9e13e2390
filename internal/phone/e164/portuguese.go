package e164

import (
	"slices"
	"strings"
)

// suggests is between a sentence in English and the number that may be meant.
const suggests = " It may be "

// sentences are the rejections of which a code has several.
var sentences = []*Rejection{
	rejectCharacters, rejectLeadingZero, rejectBrazilianLength, rejectBrazilianMobile, rejectBrazilianStart,
	RejectCallingCode, RejectForeignLength, RejectForeignNumber, RejectSigns, RejectUnclear,
}

// InPortuguese returns the Reason of a rejection in Portuguese, with the number that it suggests. For a Reason of an earlier
// release it returns what is true of all numbers with the code, and "" for an unknown code.
func InPortuguese(code, reason string) string {
	r := ByCode(code)
	if r == nil {
		return ""
	}
	english, _, _ := strings.Cut(reason, suggests)
	if exact := slices.IndexFunc(sentences, func(one *Rejection) bool { return one.English == english }); exact >= 0 {
		r = sentences[exact]
	}
	return r.Suggesting(suggested(reason)).InPortuguese()
}

// suggested returns the number that a Reason suggests, 0 if it suggests none.
func suggested(reason string) Number {
	_, written, _ := strings.Cut(reason, "t may be +")
	return FromText(strings.TrimSuffix(written, "."))
}
