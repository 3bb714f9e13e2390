package review

import (
	"strings"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// Problem returns why a line is left out or noted. A line without a number stands for its kind. lists are the names of lists,
// by number.
func Problem(p *web.Page, l submission.LeftOut, lists map[int]string) string {
	switch l.Kind {
	case submission.KindRepeated:
		return p.T("review.problem.repeated")
	case submission.KindOptedOut:
		return p.T("review.opted_out")
	case submission.KindSuppressed:
		return p.T("review.on_list", lists[l.List])
	case submission.KindInvalid:
		if shortened(l.Phone) {
			return p.T("review.problem.shortened")
		}
		return p.RefusedNumber(l.Phone, l.Code)
	case submission.KindNine:
		return p.T("review.nine_line")
	case submission.KindAbroad:
		return p.T("review.abroad_line", country(p, l.Code))
	case submission.KindFaulty:
	}
	if key := "review.problem." + l.Code; p.Has(key) {
		return p.T(key, l.Column)
	}
	return p.Known("refusal."+l.Code, l.Code)
}

// shortened reports whether a spreadsheet has changed a number to a form like
// 5,51199E+12.
func shortened(number string) bool {
	mantissa, exponent, found := strings.Cut(strings.ToUpper(number), "E+")
	digits := "0123456789"
	return found && strings.Trim(mantissa, digits+".,") == "" && exponent != "" && strings.Trim(exponent, digits) == ""
}
