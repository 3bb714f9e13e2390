// Package numberformat shows numbers, dates and texts as a spreadsheet in Brazil shows them in a number format.
package numberformat

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxCode = 255 // characters of a format; longer ones are no formats of a spreadsheet

// Format is a number format.
type Format struct {
	numbers []*section // at most three
	text    *section   // nil shows texts as they are
}

// Parse parses the code of a number format, as workbooks store it: in American form, whatever the language is. Each
// text is a format, as it is for spreadsheets. The result is nil for the format General.
func Parse(code string) *Format {
	if strings.EqualFold(code, "general") || code == "" || utf8.RuneCountInString(code) > maxCode {
		return nil
	}
	const most = 4 // sections
	f := &Format{}
	for n, tokens := range scan(code) {
		s := newSection(tokens)
		switch {
		case n == most-1 || s.isText:
			f.text = s
		case len(f.numbers) < most-1:
			f.numbers = append(f.numbers, s)
		}
	}
	return f
}

// IsDate reports whether the format shows dates or times.
func (f *Format) IsDate() bool { return len(f.numbers) > 0 && f.numbers[0].isDate }

// Text returns what a cell with a text shows.
func (f *Format) Text(text string) string {
	if f == nil || f.text == nil {
		return text
	}
	return f.text.withText(text)
}

// Number returns what a cell with a number shows. since1904 says from when the workbook counts days. A date that
// spreadsheets cannot show is shown as its number.
func (f *Format) Number(value string, since1904 bool) string {
	if f == nil {
		return General(value)
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return value
	}
	s, signed := f.choose(v)
	if s == nil {
		return f.Text(General(value))
	}
	sign := ""
	if v < 0 && signed {
		sign = "-"
	}
	switch {
	case s.isDate:
		return s.date(v, value, since1904)
	case s.isGeneral:
		return sign + s.withText(General(strings.TrimPrefix(value, "-")))
	case s.slash > 0:
		return sign + s.fraction(math.Abs(v))
	case s.exponent > 0:
		return sign + s.scientific(math.Abs(v))
	}
	return sign + s.number(math.Abs(v))
}

// choose returns the section for a number, and whether a negative number has its sign there.
func (f *Format) choose(v float64) (s *section, signed bool) {
	n := f.numbers
	switch {
	case len(n) == 0:
		return nil, false
	case len(n) == 1 && n[0].condition == nil:
		return n[0], true
	case n[0].condition == nil && (len(n) < 2 || n[1].condition == nil):
		return bySign(n, v), false
	}
	for _, s := range n[:min(2, len(n))] {
		if s.condition != nil && s.condition.holds(v) {
			return s, !s.condition.negative()
		}
	}
	return otherwise(n, v)
}

// bySign returns the section for positive, negative or zero numbers.
func bySign(n []*section, v float64) *section {
	switch {
	case v < 0:
		return n[1]
	case v == 0 && len(n) > 2:
		return n[2]
	}
	return n[0]
}

// otherwise returns the section for a number for which no condition holds.
func otherwise(n []*section, v float64) (s *section, signed bool) {
	switch {
	case n[0].condition == nil:
		return n[0], true
	case len(n) == 2 && n[1].condition == nil, len(n) > 2 && n[1].condition == nil && v < 0:
		return n[1], false
	case len(n) > 2:
		return n[2], true
	}
	return nil, false
}

// condition is that of a section: [>=1000].
type condition struct {
	operator string
	limit    float64
}

func (c *condition) holds(v float64) bool {
	switch c.operator {
	case "<":
		return v < c.limit
	case "<=":
		return v <= c.limit
	case ">":
		return v > c.limit
	case ">=":
		return v >= c.limit
	case "<>":
		return v != c.limit
	}
	return v == c.limit
}

// negative reports whether the condition holds for negative numbers alone. Their section shows no sign of its own.
func (c *condition) negative() bool {
	return c.operator == "<" && c.limit <= 0 || c.operator == "<=" && c.limit < 0
}

// General returns a number as a cell without a format shows it. Whole numbers have all their digits, where spreadsheets
// show 5,51199E+12: people mean the number. Others have as many as spreadsheets show.
func General(value string) string {
	if !strings.ContainsAny(value, "eE.") {
		return value
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return value
	}
	const places, shortest = 10, 1e-4 // digits next to the comma
	if abs := math.Abs(v); abs >= shortest && abs != math.Trunc(abs) {
		whole := max(1, len(strconv.FormatFloat(math.Trunc(abs), 'f', -1, 64)))
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', max(0, places-whole), 64), 64)
	}
	return Plain(strconv.FormatFloat(v, 'g', -1, 64))
}

// Plain returns a number without a format and without an exponent, with the 15 digits that spreadsheets keep:
// 5511987654321 for 5.511987654321E12.
func Plain(value string) string {
	if !strings.ContainsAny(value, "eE.") {
		return value
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', significant, 64), 64); err == nil {
		v = rounded
	}
	return strings.Replace(strconv.FormatFloat(v, 'f', -1, 64), ".", ",", 1)
}

// significant is the number of digits that spreadsheets keep.
const significant = 15
