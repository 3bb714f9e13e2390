package sheet

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// separators are those that are sought. The first is of a file with one column.
const separators = ",;\t|"

// preamble returns the number of lines up to the one that is before the header, and the separator that it says, or 0: Excel
// writes sep=; and PowerShell #TYPE.
func preamble(c *csvRecords) (comma byte, lines int, err error) {
	for {
		first, err := c.lines.at(0)
		if errors.Is(err, io.EOF) || errors.Is(err, errLongLine) {
			return 0, 0, nil
		}
		if err != nil {
			return 0, 0, err
		}
		text := c.lines.text(first.to)
		said := strings.Trim(string(text[marksOf(text):]), "\" \x00")
		c.use(first.next, 1)
		if said == "" {
			continue
		}
		if len(said) == len("sep=;") && strings.EqualFold(said[:4], "sep=") && separates(said[4]) {
			return said[4], c.used, nil
		}
		if strings.HasPrefix(said, "#TYPE ") {
			return 0, c.used, nil
		}
		return 0, 0, nil
	}
}

// separates reports whether a character may be the separator of a file that says so.
func separates(b byte) bool {
	letter := b|0x20 >= 'a' && b|0x20 <= 'z'
	return b == '\t' || b > ' ' && b < utf8.RuneSelf && !letter && (b < '0' || b > '9') && b != '"' && b != '='
}

const (
	sampleLines = 100
	sampleBytes = 2 * maxRecord // in which they are sought
	sampleAll   = 100_000       // lines in which they are sought, also empty ones
)

// sample is what the first lines of a file are with a separator.
type sample struct {
	comma   byte
	columns int // of the header
	lines   int
	equal   int // lines that have as many cells as the header
	other   int // lines that differ from the header
	first   struct{ line, cells int }
}

// refused reports whether most lines differ from the header.
func (s sample) refused() bool { return 2*s.other > s.lines }

// add adds a line. One with fewer cells is as spreadsheets write empty ones, unless another separator is in it.
func (s *sample) add(line int, cells []string, fault lineFault) {
	s.lines++
	if len(cells) == s.columns {
		s.equal++
	}
	filled := trimmed(cells)
	single := len(filled) == 1 && s.columns > 1 && fault == "" && strings.ContainsAny(filled[0], separators)
	if len(filled) > s.columns && fault != OpenQuote || fault == TooManyCells || single {
		if s.other++; s.other == 1 {
			s.first.line, s.first.cells = line, len(filled)
		}
	}
}

// sampleOf reads the first lines.
func sampleOf(c *csvRecords) (s sample, err error) {
	s.comma = c.comma
	for all := 0; s.lines < sampleLines && all < sampleAll; all++ {
		line, cells, err := c.next()
		fault, faulty := errors.AsType[lineFault](err)
		if err != nil && !faulty {
			return s, err
		}
		switch {
		case fault == "" && len(trimmed(cells)) == 0:
		case s.columns == 0:
			s.columns = len(cells)
		default:
			s.add(line, cells, fault)
		}
	}
	return s, nil
}

// separator returns the separator with which the header has most cells. The lines after it decide between equal ones, and
// if they differ from the header with one.
func separator(commas []byte, open func(comma byte) (*csvRecords, error)) (byte, error) {
	var all []sample
	for _, comma := range commas {
		c, err := open(comma)
		if err != nil {
			return 0, err
		}
		s, err := sampleOf(c)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b sample) int {
		return cmp.Or(cmp.Compare(b.columns, a.columns), cmp.Compare(b.equal, a.equal))
	})
	best := all[0]
	if !best.refused() {
		return best.comma, nil
	}
	for _, s := range all[1:] {
		if s.columns > 1 && !s.refused() {
			return s.comma, nil
		}
	}
	code := "columns"
	if best.comma == '\t' {
		code = "columns_tab"
	}
	return 0, broken(code, best.first.line, best.first.cells, best.columns, string(rune(best.comma)))
}
