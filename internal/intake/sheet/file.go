// Package sheet reads files of recipients: CSV files and Excel workbooks. It reads them
// as a stream, so that its memory does not grow with the file.
package sheet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
)

const (
	// MaxColumns is the maximum number of columns.
	MaxColumns = 100
	// maxRecord is the maximum size of a line in bytes.
	maxRecord = 1 << 20
	// maxSeparators is the maximum number of separators in a line, including those in quotes.
	// It limits memory before the cells are counted.
	maxSeparators = 10_000
)

// Row is one line of a file, without trailing empty cells. The cells have no white space
// around them.
type Row struct {
	Line  int // in the file, from 1
	Cells []string
}

// Cell returns the cell of a column, or "" if the row has none.
func (r Row) Cell(column int) string {
	if column >= 0 && column < len(r.Cells) {
		return r.Cells[column]
	}
	return ""
}

// Error is an error of the whole file.
type Error struct {
	Code string // names the text for the reader
	Args []any  // of the text
}

func (e *Error) Error() string { return "file of recipients: " + e.Code }

func broken(code string, args ...any) error { return &Error{Code: code, Args: args} }

// File is an open file of recipients.
type File struct {
	// Columns are the names in the header. Some are "".
	Columns []string
	records records
	rows    int
}

// records yields the cells of lines. The slice is valid until the next call. The error is
// io.EOF after the last line.
type records interface {
	next() (line int, cells []string, err error)
	// ANSI reports whether the lines so far were written in Windows-1252.
	ansi() bool
}

var (
	zipMagic = []byte("PK\x03\x04")
	oldMagic = []byte("\xd0\xcf\x11\xe0") // of Excel 97
)

// headSize is the number of bytes from which the format is guessed.
const headSize = 64 << 10

// Open reads the header of a file of size bytes: an Excel workbook, or a CSV file with
// commas, semicolons or tabs in UTF-8 or Windows-1252. Invalid files return a *Error. If ctx
// ends, Open and Next return its error for a workbook.
func Open(ctx context.Context, file io.ReaderAt, size int64) (*File, error) {
	head, err := headOf(file, size)
	if err != nil {
		return nil, err
	}
	f := &File{}
	switch {
	case bytes.HasPrefix(head, zipMagic):
		f.records, err = openWorkbook(ctx, file, size)
	case bytes.HasPrefix(head, oldMagic):
		err = broken("workbook")
	default:
		f.records, err = openCSV(io.NewSectionReader(file, 0, size), head)
	}
	if err != nil {
		return nil, err
	}
	err = f.readHeader()
	return f, err
}

// Lines yields the lines of a CSV file that are not empty, without the empty cells at their end.
// The first one need not be a header. A *Error for an invalid file or a workbook comes last.
func Lines(file io.ReaderAt, size int64) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		head, err := headOf(file, size)
		f := &File{}
		if err == nil {
			f.records, err = openCSV(io.NewSectionReader(file, 0, size), head)
		}
		for err == nil {
			var cells []string
			if _, cells, err = f.record(); err == nil && !yield(cells, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// headOf returns the start of a file.
func headOf(file io.ReaderAt, size int64) ([]byte, error) {
	head := make([]byte, min(headSize, size))
	if n, err := file.ReadAt(head, 0); err != nil && (err != io.EOF || n < len(head)) {
		return nil, err
	}
	return head, nil
}

func (f *File) readHeader() error {
	cells, err := f.header()
	if err == io.EOF { //nolint:errorlint // header returns it unwrapped
		return broken("empty")
	}
	if err != nil {
		return err
	}
	if len(cells) > MaxColumns {
		return broken("many_columns", 1, MaxColumns)
	}
	for _, c := range cells {
		name := standard(strings.TrimSpace(c))
		if name != "" && slices.Contains(f.Columns, name) {
			return broken("twice", name)
		}
		f.Columns = append(f.Columns, name)
	}
	return nil
}

// header returns the first line that is not empty, with the empty cells at its end.
func (f *File) header() (cells []string, err error) {
	for {
		_, cells, err = f.records.next()
		if err != nil || slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) {
			return cells, err
		}
	}
}

// Next returns the next line that is not empty. The error is io.EOF after the last one, and a
// *Error for an invalid file.
func (f *File) Next() (Row, error) {
	line, cells, err := f.record()
	switch {
	case err == io.EOF && f.rows == 0: //nolint:errorlint // record returns it unwrapped
		return Row{}, broken("no_rows")
	case err != nil:
		return Row{}, err
	case len(cells) > len(f.Columns):
		return Row{}, broken("columns", line, len(cells), len(f.Columns))
	}
	f.rows++
	r := Row{Line: line, Cells: make([]string, len(cells))}
	for i, c := range cells {
		r.Cells[i] = strings.TrimSpace(c)
	}
	return r, nil
}

// ANSI reports whether the lines read so far were written in Windows-1252.
func (f *File) ANSI() bool { return f.records.ansi() }

// record returns the next line that is not empty, without the empty cells at its end.
func (f *File) record() (line int, cells []string, err error) {
	for {
		line, cells, err = f.records.next()
		for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
			cells = cells[:len(cells)-1]
		}
		if err != nil || len(cells) > 0 {
			return line, cells, err
		}
	}
}
