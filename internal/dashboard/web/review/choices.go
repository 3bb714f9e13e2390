package review

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// Choices are the data of review_choices.html: how a file is read, and what else it leaves to choose.
type Choices struct {
	submission.Reading

	Sheets    []string
	Encodings []submission.EncodingChoice
	Rows      int // hidden rows that are left out
	Nines     int // numbers that lack the ninth digit
	Example   Row // of them
}

// NewChoices returns the choices of a file. s has what was left out of it.
func NewChoices(r submission.Reading, sheets []string, encodings []submission.EncodingChoice, s Source) Choices {
	c := Choices{Reading: r, Sheets: sheets, Encodings: encodings}
	for _, o := range s.Findings.Omitted {
		if o.Code == sheet.HiddenRow {
			c.Rows = o.Count
		}
	}
	for _, rejected := range s.Findings.Rejected {
		if rejected.Code == e164.MissingNinthDigit {
			c.Nines = rejected.Count
		}
	}
	if at := slices.IndexFunc(s.First, func(l submission.LeftOut) bool { return l.Code == e164.MissingNinthDigit }); at >= 0 {
		c.Example = Row{Written: web.Short(s.First[at].Phone, weight), Instead: s.First[at].Meant}
	}
	return c
}

// Any reports whether there is something to choose.
func (c Choices) Any() bool {
	return len(c.Sheets) > 1 || len(c.Encodings) > 0 || c.Rows > 0 || c.Hidden || c.Nines > 0 || c.AddNine
}

// Joined returns words as a text.
func (Choices) Joined(words []string) string { return Joined(words) }

// Joined returns the first words of a file as a text.
func Joined(words []string) string {
	const most = 200 // bytes in the page
	return web.Short(strings.Join(words, ", "), most)
}

// chosen returns the reading that the fields of review_choices.html have. A sheet's name can begin and end with spaces.
func chosen(field func(name string) string) submission.Reading {
	return submission.Reading{
		Sheet: field("sheet"), Encoding: field("encoding"), Hidden: field("hidden") != "", AddNine: field("nine") != "",
	}
}

// Sent returns the reading that a request has in its query, or in its form. wrong is that of Changed.
func Sent(p *web.Page) (r submission.Reading, wrong bool) {
	if !p.Sent() {
		return chosen(p.Query), false
	}
	return withCorrections(p, chosen(p.R.PostFormValue))
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// Fields returns the fields with which a form keeps how a file is read.
func Fields(r submission.Reading) (all []Field) {
	add := func(name, value string, set bool) {
		if set {
			all = append(all, Field{name, value})
		}
	}
	add("sheet", r.Sheet, r.Sheet != "")
	add("encoding", r.Encoding, r.Encoding != "")
	add("hidden", "1", r.Hidden)
	add("nine", "1", r.AddNine)
	for _, line := range slices.Sorted(maps.Keys(r.Corrections)) {
		add(fieldOf(line), r.Corrections[line], true)
	}
	return all
}

// Changed returns the reading after the form of a page: that of the choices, or that of the corrections. wrong reports
// that a corrected number is none; then Corrections say which.
func Changed(p *web.Page, was submission.Reading) (r submission.Reading, wrong bool) {
	r = was
	if p.Field("choices") != "" {
		r = chosen(p.R.PostFormValue)
		r.Sheet, r.Encoding = cmp.Or(r.Sheet, was.Sheet), cmp.Or(r.Encoding, was.Encoding) // a file may leave no choice
		r.Corrections = was.Corrections
		if !r.SameColumns(was) { // the lines are others
			r.Corrections = nil
		}
	}
	return withCorrections(p, r)
}

// Same reports whether two readings are the same.
func Same(a, b submission.Reading) bool {
	return a.SameColumns(b) && a.Hidden == b.Hidden && a.AddNine == b.AddNine && maps.Equal(a.Corrections, b.Corrections)
}

// correctField begins the names of the fields of corrections. The line follows.
const correctField = "correct."

func fieldOf(line int) string { return correctField + strconv.Itoa(line) }

// withCorrections returns a reading with the numbers that the form has. An empty one leaves its line as it is.
func withCorrections(p *web.Page, r submission.Reading) (_ submission.Reading, wrong bool) {
	r.Corrections = maps.Clone(r.Corrections)
	for name := range p.R.PostForm {
		line, err := strconv.Atoi(strings.TrimPrefix(name, correctField))
		if !strings.HasPrefix(name, correctField) || err != nil || line < 1 {
			continue
		}
		n, rejection := phone.ParseTyped(p.Field(name))
		switch {
		case p.Field(name) == "":
			delete(r.Corrections, line)
		case rejection != nil:
			wrong = true
		case r.Corrections == nil:
			r.Corrections = map[int]string{line: n.String()}
		default:
			r.Corrections[line] = n.String()
		}
	}
	return r, wrong || len(r.Corrections) > submission.MaxCorrections
}

// Correction is a number that a person can correct, or has corrected.
type Correction struct {
	Line    int
	Written string // as in the file, "" if it is corrected
	Value   string // of the field
	Reason  string // why the number is refused
	Wrong   string // why that of the field is refused, or ""
}

// ID returns the ID of the field.
func (c Correction) ID() string { return "correct-" + strconv.Itoa(c.Line) }

// Field returns the name of the field.
func (c Correction) Field() string { return fieldOf(c.Line) }

// Corrections returns the numbers that were corrected, and the first that can be. After a form was sent, they have what was
// entered.
func Corrections(p *web.Page, r submission.Reading, first []submission.LeftOut) (all []Correction) {
	for _, line := range slices.Sorted(maps.Keys(r.Corrections)) {
		all = append(all, Correction{Line: line, Value: r.Corrections[line], Reason: p.T("review.corrected")})
	}
	for _, l := range correctable(first) {
		if len(all) == submission.MaxCorrections {
			break
		}
		all = append(all, Correction{
			Line: l.Line, Written: web.Short(l.Phone, weight), Value: l.Meant, Reason: Problem(p, l, nil),
		})
	}
	for n := range all {
		all[n].enter(p)
	}
	return all
}

// correctable returns the refused numbers, those that a switch corrects last.
func correctable(first []submission.LeftOut) (all []submission.LeftOut) {
	for _, nine := range []bool{false, true} {
		for _, l := range first {
			if l.Kind == submission.KindInvalid && (l.Code == e164.MissingNinthDigit) == nine {
				all = append(all, l)
			}
		}
	}
	return all
}

// enter sets what was entered for a line.
func (c *Correction) enter(p *web.Page) {
	if _, sent := p.R.PostForm[c.Field()]; !sent {
		return
	}
	c.Value = web.Short(p.Field(c.Field()), weight)
	if _, rejection := phone.ParseTyped(p.Field(c.Field())); rejection != nil && c.Value != "" {
		c.Wrong = p.Rejection(rejection)
	}
}
