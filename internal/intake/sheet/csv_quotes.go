package sheet

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// maxQuotedLines is the maximum number of lines of a record. An open quote costs its own line, also before a quote that
// would end it much later.
const maxQuotedLines = 100

// part is the content of a cell, by offsets of its record.
type part struct {
	from, to int
	quotes   bool // whether it has quotes or line ends, which are not what the cell shows
}

// quoted reads a record with quotes.
type quoted struct {
	*csvRecords
	text  []byte // of the record, up to the end of its last line
	first span
	last  span
	count int // lines
}

// readQuoted reads a record with quotes. If they are wrong, it is the first line alone, and the next one is read anew.
func (c *csvRecords) readQuoted(first span) error {
	r := quoted{csvRecords: c, text: c.lines.text(first.to), first: first, last: first, count: 1}
	err := r.read()
	fault, _ := errors.AsType[lineFault](err)
	if fault == OpenQuote {
		text := c.lines.text(first.to)
		c.splitFaulty(string(text[marksOf(text):]))
		c.use(first.next, 1)
		c.decode()
		return err
	}
	if err != nil && fault == "" {
		return err
	}
	valid := utf8.Valid(r.text)
	c.build(string(r.text))
	c.use(r.last.next, r.count)
	if !valid {
		c.decode()
	}
	return err
}

func (r *quoted) read() error {
	r.parts = r.parts[:0]
	for at := marksOf(r.text); ; at++ {
		if len(r.parts) == maxSeparators {
			rest := r.text[at:]
			r.parts = append(r.parts, part{at, len(r.text), false})
			if bytes.IndexByte(rest, r.comma) >= 0 {
				return lineFault(TooManyCells)
			}
			return nil
		}
		var err error
		if at, err = r.cell(at); err != nil {
			return err
		}
		if at == len(r.text) {
			return nil
		}
	}
}

// cell reads the cell at an offset, and returns where it ends.
func (r *quoted) cell(at int) (int, error) {
	open := r.blanks(at)
	if bytes.HasPrefix(r.text[open:], []byte(`="`)) {
		open++
	}
	if open == len(r.text) || r.text[open] != '"' {
		to := len(r.text)
		if comma := bytes.IndexByte(r.text[at:], r.comma); comma >= 0 {
			to = at + comma
		}
		r.parts = append(r.parts, part{at, to, false})
		return to, nil
	}
	closing, quotes, err := r.closing(open + 1)
	if err != nil {
		return 0, err
	}
	r.parts = append(r.parts, part{open + 1, closing, quotes})
	return r.blanks(closing + 1), nil
}

// blanks returns the offset after spaces.
func (r *quoted) blanks(at int) int {
	for at < len(r.text) && (r.text[at] == ' ' || r.text[at] == '\t') && r.text[at] != r.comma {
		at++
	}
	return at
}

// closing returns where the quote is that ends a cell with the content at an offset. Within a line, a cell may have other
// quotes. One after a separator begins a cell: the quote before it is open. So it is if the cell goes on in the next line.
func (r *quoted) closing(from int) (closing int, quotes bool, err error) {
	for at, others := from, false; ; {
		quote := bytes.IndexByte(r.text[at:], '"')
		if quote < 0 {
			if others {
				return 0, false, lineFault(OpenQuote)
			}
			if err := r.goOn(); err != nil {
				return 0, false, err
			}
			at, quotes = r.last.from, true
			continue
		}
		quote += at
		after := r.blanks(quote + 1)
		switch ends := after == len(r.text) || r.text[after] == r.comma; {
		case quote+1 < len(r.text) && r.text[quote+1] == '"':
			at, quotes = quote+2, true
		case ends && (after == quote+1 || !others):
			return quote, quotes, nil
		case r.count > 1, quote > from && r.text[quote-1] == r.comma:
			return 0, false, lineFault(OpenQuote)
		default:
			others, at = true, quote+1
		}
	}
}

// goOn adds the next line to the record.
func (r *quoted) goOn() error {
	if r.count == maxQuotedLines {
		return lineFault(OpenQuote)
	}
	next, err := r.lines.at(r.last.next)
	if errors.Is(err, io.EOF) || errors.Is(err, errLongLine) {
		return lineFault(OpenQuote)
	}
	if err != nil {
		return err
	}
	r.text = r.lines.text(next.to)
	if r.alike(r.text[:r.first.to], r.text[next.from:]) {
		return lineFault(OpenQuote)
	}
	r.last, r.count = next, r.count+1
	return nil
}

// alike reports whether the next line is of another person: it has as many cells as the header or more, as an address with
// separators makes them, and a phone number in the same cell as the first line.
func (c *csvRecords) alike(first, next []byte) bool {
	comma := []byte{c.comma}
	if bytes.Count(next, comma)+1 < c.width {
		return false
	}
	for more := true; more; {
		var one, other []byte
		one, first, more = bytes.Cut(first, comma)
		other, next, _ = bytes.Cut(next, comma)
		if mayBePhone(one) && mayBePhone(other) {
			return true
		}
	}
	return false
}

// mayBePhone reports whether a cell has the digits of a phone number, and nothing but its signs.
func mayBePhone(cell []byte) bool {
	const fewest, most, longest = 8, 15, 1000
	if len(cell) > longest {
		return false
	}
	digits := 0
	for _, b := range cell {
		switch {
		case b >= '0' && b <= '9':
			digits++
		case !strings.ContainsRune("+()-. \"'=\t", rune(b)):
			return false
		}
	}
	return digits >= fewest && digits <= most
}

var (
	escapedQuotes = strings.NewReplacer(`""`, `"`)
	lineEnds      = strings.NewReplacer("\r\r\n", "\n", "\r\n", "\n", "\r", "\n")
)

// build sets the cells of a record by its parts.
func (c *csvRecords) build(text string) {
	c.cells = c.cells[:0]
	for _, p := range c.parts {
		cell := text[p.from:p.to]
		if p.quotes {
			cell = content(cell)
		}
		c.cells = append(c.cells, cell)
	}
}

// content returns what a quoted cell shows. A spreadsheet shows ="007" as 007.
func content(cell string) string {
	if strings.IndexByte(cell, '\r') >= 0 {
		cell = lineEnds.Replace(cell)
	}
	cell = escapedQuotes.Replace(cell)
	formula, is := strings.CutPrefix(cell, `="`)
	text, closed := strings.CutSuffix(formula, `"`)
	if is && closed && !strings.Contains(strings.ReplaceAll(text, `""`, ""), `"`) {
		return escapedQuotes.Replace(text)
	}
	return cell
}
