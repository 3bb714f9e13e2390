// Package listfile reads the numbers of files, and keeps files for lists until a person has reviewed them.
package listfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
)

// Head is the start of a file.
type Head struct {
	Header []string   // the names of the columns
	First  [][]string // the first lines
	Column int        // that has the numbers by its name, or is the only one, -1 if neither
	// Sheet is the sheet of a workbook that is read, and Sheets are the visible ones that have rows, if there are several.
	Sheet  string
	Sheets []string
}

// ReadHead reads the start of a CSV file or an Excel workbook. A file that cannot be used returns a
// *submission.Fault.
func ReadHead(ctx context.Context, content []byte, reading submission.Reading) (h Head, err error) {
	f, err := open(ctx, content, reading)
	if err != nil {
		return h, fmt.Errorf("open a file of numbers: %w", err)
	}
	h = Head{Header: f.Columns, Column: sheet.Match(f.Columns, nil).Phone, Sheet: f.Sheet}
	if len(f.Columns) == 1 {
		h.Column = 0
	}
	if len(f.Sheets) > 1 {
		h.Sheets = f.Sheets
	}
	if h.First, err = f.First(); err != nil && !alone(err) {
		return h, fmt.Errorf("read the start of a file of numbers: %w", err)
	}
	return h, nil
}

// open opens a file. Numbers are the same in all encodings, so that nobody is asked for its own.
func open(ctx context.Context, content []byte, reading submission.Reading) (*sheet.File, error) {
	file, size := bytes.NewReader(content), int64(len(content))
	if reading.Encoding == "" {
		likely, err := sheet.Likely(ctx, file, size)
		if err != nil {
			return nil, err
		}
		reading.Encoding = likely.Encoding
	}
	return sheet.Open(ctx, file, size, reading)
}

// alone reports whether a file has only its first line, which may be a number.
func alone(err error) bool {
	wrong, ok := errors.AsType[*submission.Fault](err)
	return ok && wrong.Code == "no_rows"
}

// Content are the numbers of a file. Of each kind of line it has as many as a download.
type Content struct {
	Numbers  numberset.Set
	Findings submission.Findings // what was left out, repeated and noted
	// Lines are those lines in the order of the file, but for the repeated ones, which are the last.
	Lines []submission.LeftOut

	reading submission.Reading
	all     []e164.Number
	written []written      // of all
	listed  map[string]int // number of lines of a kind that are listed
}

// written is a number as in the file.
type written struct {
	line int
	text string
}

// mostListed is more lines of a kind than a download has room for.
const mostListed = 150_000

// Read reads the numbers in a column. The first line may be a number instead of names. A file that cannot
// be used returns a *submission.Fault, as does a workbook of which reading does not say the sheet.
func Read(ctx context.Context, content []byte, column int, reading submission.Reading) (c Content, err error) {
	c.reading, c.listed = reading, map[string]int{}
	f, err := open(ctx, content, reading)
	if err != nil {
		return c, fmt.Errorf("open a file of numbers: %w", err)
	}
	if err := f.Chosen(reading.Sheet); err != nil {
		return c, err
	}
	if column < len(f.Columns) {
		c.addHeader(f.HeaderLine, f.Columns[column])
	}
	if err := c.addRows(f, column); err != nil {
		return c, err
	}
	c.Numbers = numberset.New(c.all)
	c.findRepeated()
	c.all, c.written = nil, nil // a page is made of the rest
	return c, nil
}

func (c *Content) addRows(f *sheet.File, column int) error {
	for lines := 1; ; lines++ {
		row, err := f.Next()
		switch {
		case err == nil && lines > submission.MaxLines:
			return &submission.Fault{Code: "too_many_lines"}
		case errors.Is(err, io.EOF) || alone(err) && len(c.all)+len(c.Lines) > 0:
			return nil
		case err != nil:
			return fmt.Errorf("read a file of numbers: %w", err)
		case row.Fault != "":
			c.list(submission.LeftOut{Line: row.Line, Kind: submission.KindFaulty, Code: row.Fault, Phone: row.ID(column)})
		default:
			c.add(row.Line, row.ID(column))
		}
	}
}

// addHeader adds the cell of the first line. A refused number is a line without a valid number, and other texts are the
// column's name.
func (c *Content) addHeader(line int, text string) {
	if phone.MayBeNumber(text) {
		c.add(line, text)
	} else if n, rejection := phone.ParseTyped(text); rejection == nil {
		c.keep(line, text, n)
	}
}

func (c *Content) add(line int, text string) {
	number, changed := sheet.NumberOf(c.reading, line, text)
	if why := number.Rejection; why != nil {
		c.list(submission.LeftOut{Line: line, Kind: submission.KindInvalid, Code: why.Code, Phone: text, Meant: why.Meant()})
		return
	}
	if kind, country := sheet.Noted(number.Number, changed); kind != "" {
		c.list(submission.LeftOut{Line: line, Kind: kind, Code: country, Phone: text, Meant: number.Number.String()})
	}
	c.keep(line, text, number.Number)
}

func (c *Content) keep(line int, text string, n e164.Number) {
	c.all, c.written = append(c.all, n), append(c.written, written{line, text})
}

// findRepeated finds the lines whose number an earlier line has.
func (c *Content) findRepeated() {
	if len(c.all) == len(c.Numbers) {
		return
	}
	seen := make([]bool, len(c.Numbers))
	for i, n := range c.all {
		at, _ := slices.BinarySearch(c.Numbers, uint64(n))
		if seen[at] {
			w := c.written[i]
			c.list(submission.LeftOut{Line: w.line, Kind: submission.KindRepeated, Phone: w.text, Meant: n.String()})
		}
		seen[at] = true
	}
}

// list counts a line, and lists it unless there are enough of its kind.
func (c *Content) list(l submission.LeftOut) {
	c.Findings.Count(l)
	if kind := string(l.Kind) + " " + l.Code; c.listed[kind] < mostListed {
		c.listed[kind]++
		c.Lines = append(c.Lines, l)
	}
}
