package numberformat

import "strings"

// section is the part of a format for some numbers, or for texts.
type section struct {
	tokens    []token
	condition *condition
	language  string // the code of a country, or of the format of the system

	isText, isDate, isGeneral bool
	hasBlanks                 bool

	point    int // index of the token, len(tokens) if there is none
	exponent int // index of the token, 0 if there is none
	slash    int // index of a fraction's token, 0 if there is none
	whole    int // placeholders before the point
	decimals int // placeholders behind it
	grouped  bool
	scale    int // powers of ten by which the number is multiplied
}

func newSection(tokens []token) *section {
	s := &section{}
	for _, t := range tokens {
		s.add(t)
	}
	if s.isDate {
		s.dateTokens()
		return s
	}
	s.readCommas()
	s.measure()
	return s
}

func (s *section) add(t token) {
	switch t.kind {
	case test:
		s.condition = parseCondition(t.text)
		return
	case language:
		s.language = t.text
		return
	case literal:
		if t.text == "" {
			return
		}
	case anyText:
		s.isText = true
	case general:
		s.isGeneral = true
	case datePart, elapsed, halfOfDay:
		s.isDate = true
	case blank:
		s.hasBlanks = true
	case digit:
		s.hasBlanks = s.hasBlanks || t.text == "?"
	case point, comma, percent, exponent, slash:
	}
	s.tokens = append(s.tokens, t)
}

// readCommas reads the commas: between placeholders they group the digits of all, and behind the last one each divides
// by 1000.
func (s *section) readCommas() {
	last := -1
	for i, t := range s.tokens {
		if t.kind == exponent {
			break
		}
		if t.kind == digit {
			last = i
		}
	}
	kept, pointed, begun := s.tokens[:0:0], false, false
	for i, t := range s.tokens {
		switch {
		case t.kind != comma:
			kept = append(kept, t)
			pointed, begun = pointed || t.kind == point, begun || t.kind == digit
		case !begun:
			kept = append(kept, token{literal, ","})
		case i < last && !pointed:
			s.grouped = true
		case i > last:
			s.scale -= 3
		}
	}
	s.tokens = kept
}

// measure finds the places of the section's parts, and counts the placeholders.
func (s *section) measure() {
	s.point = len(s.tokens)
	for i, t := range s.tokens {
		switch {
		case t.kind == percent:
			s.scale += 2
		case t.kind == point && s.point == len(s.tokens) && s.exponent == 0:
			s.point = i
		case t.kind == exponent && i > 0 && s.exponent == 0:
			s.exponent = i
		case t.kind == slash && s.slash == 0 && i > 0 && s.tokens[i-1].kind == digit && s.denominator(i) > 0:
			s.slash = i
		case t.kind == digit && s.exponent > 0:
		case t.kind == digit && s.point < i:
			s.decimals++
		case t.kind == digit:
			s.whole++
		}
	}
}

// withText returns the section with a text for its placeholder.
func (s *section) withText(text string) string {
	var shown strings.Builder
	for _, t := range s.tokens {
		if t.kind == anyText || t.kind == general {
			shown.WriteString(text)
		} else {
			shown.WriteString(t.text)
		}
	}
	return s.tidy(shown.String())
}

// tidy returns a text with single spaces, if the section has some that align numbers.
func (s *section) tidy(text string) string {
	if !s.hasBlanks {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}
