package review

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// Noted returns the accepted lines that a person should look at: numbers of other countries, and those that got the ninth
// digit.
func Noted(p *web.Page, s Source) (all []Kind) {
	f := s.Findings
	if n := f.OtherCountries(); n > 0 {
		k := s.noted(submission.KindAbroad, n, func(l submission.LeftOut) string { return country(p, l.Code) })
		k.Title = p.Count("review.abroad", n) + ": " + countriesOf(p, f.Abroad)
		for _, c := range f.Abroad {
			k.Lines = append(k.Lines, c.First...)
		}
		slices.Sort(k.Lines)
		k.Lines = k.Lines[:min(len(k.Lines), submission.MaxShown)]
		all = append(all, k)
	}
	if n := f.Nine.Count; n > 0 {
		k := s.noted(submission.KindNine, n, func(submission.LeftOut) string { return "" })
		k.Title, k.Lines = p.Count("review.nine_added", n), f.Nine.First
		all = append(all, k)
	}
	return all
}

// noted returns a kind of accepted lines.
func (s Source) noted(of submission.Kind, count int, reason func(submission.LeftOut) string) Kind {
	same := func(l submission.LeftOut) bool { return l.Kind == of }
	return s.withLines(Kind{Count: count, Of: of}, submission.LeftOut{Kind: of}, same, reason)
}

// countriesOf returns the countries with the most numbers, with how many if there are several.
func countriesOf(p *web.Page, all []submission.LineFault) string {
	const most = 5
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b submission.LineFault) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Code, b.Code)) })
	if len(all) == 1 {
		return country(p, all[0].Code)
	}
	var names []string
	for _, c := range all[:min(len(all), most)] {
		names = append(names, country(p, c.Code)+" "+p.Number(c.Count))
	}
	if len(all) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// country returns the name of a country in the reader's language, or its code. Some numbers are of no country: phone.Country.
func country(p *web.Page, code string) string {
	switch code {
	case submission.Elsewhere:
		return p.T("review.elsewhere")
	case "":
		return p.T("review.no_country")
	}
	region, err := language.ParseRegion(code)
	names := display.Regions(language.Make(p.Lang()))
	if err != nil || names == nil {
		return code
	}
	return cmp.Or(names.Name(region), code)
}
