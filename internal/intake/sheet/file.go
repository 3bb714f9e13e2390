// Package sheet reads files of recipients: CSV files and Excel workbooks. It reads them
// as a stream, so that its memory does not grow with the file.
package sheet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

const (
	// MaxColumns is the maximum number of columns.
	MaxColumns = 100
	maxRecord  = 1 << 20 // bytes of a line
	// maxSeparators is the maximum number of separators in a line, including those in quotes.
	// It limits memory before the cells are counted.
	maxSeparators = 10_000
)

// Row is one line of a file, without trailing empty cells. The cells have no white space
// around them.
type Row struct {
	Line  int // in the file, from 1
	Cells []string
	Fault string // code of why the line is left out, "" if it is not
	ANSI  bool   // whether it is not UTF-8

	plain []string // see Plain
}

// The codes of lines that are left out.
const (
	TooManyCells = "too_many_cells" // more than the header has
	OpenQuote    = "open_quote"     // a quote is open or out of place
	LongLine     = "long_line"      // more than a line may have
)

// Cell returns the cell of a column, or "" if the row has none.
func (r Row) Cell(column int) string {
	if column >= 0 && column < len(r.Cells) {
		return r.Cells[column]
	}
	return ""
}

// broken returns the error of the whole file, with arguments of the length that a person sees.
func broken(code string, args ...any) error {
	f := &submission.Fault{Code: code}
	for _, arg := range args {
		f.Args = append(f.Args, Cut(fmt.Sprint(arg), maxCell))
	}
	return f
}

// File is an open file of recipients.
type File struct {
	// Columns are the names in the header. Some are "".
	Columns    []string
	HeaderLine int
	// Sheet is the name of the workbook's sheet that is read, and Sheets are those of all visible sheets with rows.
	Sheet   string
	Sheets  []string
	records records
	book    *workbook // nil for a CSV file
	rows    int
	ansi    bool
}

// records yields the cells of lines. The slice is valid until the next call. The error is
// io.EOF after the last line, and a lineFault for one that is left out.
type records interface {
	next() (line int, cells []string, err error)
	ansi() bool // whether the last one is not UTF-8
}

var (
	zipMagic = []byte("PK\x03\x04")
	oldMagic = []byte("\xd0\xcf\x11\xe0") // of Excel 97
)

const headSize = 64 << 10 // bytes from which the format is guessed

// Open reads the header of a file of size bytes: an Excel workbook, or a CSV file. Its lines that are
// not UTF-8 are read as reading says, and as Windows-1252 if it does not: Encodings finds what they are.
// Invalid files return a *submission.Fault. If ctx ends, Open and Next return its error for a workbook.
func Open(ctx context.Context, file io.ReaderAt, size int64, reading submission.Reading) (*File, error) {
	head, err := headOf(file, size)
	if err != nil {
		return nil, err
	}
	f := &File{}
	switch {
	case bytes.HasPrefix(head, zipMagic):
		err = f.openWorkbook(ctx, file, size, reading)
	case bytes.HasPrefix(head, oldMagic):
		err = broken("workbook")
	default:
		f.records, err = openCSV(file, size, head, reading.Encoding)
	}
	if err != nil {
		return nil, err
	}
	err = f.readHeader()
	return f, err
}

func (f *File) openWorkbook(ctx context.Context, file io.ReaderAt, size int64, reading submission.Reading) (err error) {
	if f.book, err = openWorkbook(ctx, file, size, reading); err != nil {
		return err
	}
	f.records, f.Sheet, f.Sheets = f.book, f.book.name, f.book.names
	return nil
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
	line, cells, err := f.header()
	fault, _ := errors.AsType[lineFault](err)
	switch {
	case err == io.EOF: //nolint:errorlint // header returns it unwrapped
		return broken("empty")
	case fault == OpenQuote:
		return broken("quotes", line)
	case fault != "", err == nil && len(cells) > MaxColumns:
		return broken("many_columns", line, MaxColumns)
	case err != nil:
		return err
	}
	f.HeaderLine = line
	for _, c := range cells {
		if strings.ContainsRune(c, 0) {
			return broken("unreadable")
		}
		name := standard(strings.TrimSpace(c))
		if name != "" && slices.Contains(f.Columns, name) {
			return broken("twice", name)
		}
		f.Columns = append(f.Columns, name)
	}
	return nil
}

// maxBlank is the maximum number of empty lines that follow each other: reading one more takes time, and no line of a
// person comes of it.
const maxBlank = submission.MaxLines

var errBlank = broken("too_many_lines")

// header returns the first line that is not empty, with the empty cells at its end.
func (f *File) header() (line int, cells []string, err error) {
	for range maxBlank {
		line, cells, err = f.records.next()
		if f.ansi = f.ansi || f.records.ansi(); err != nil || slices.ContainsFunc(cells, func(c string) bool { return !blank(c) }) {
			return line, cells, err
		}
	}
	return 0, nil, errBlank
}

// Next returns the next line that is not empty. The error is io.EOF after the last one, and a
// *submission.Fault for an invalid file.
func (f *File) Next() (Row, error) {
	line, cells, err := f.record()
	fault, _ := errors.AsType[lineFault](err)
	switch {
	case err == io.EOF && f.rows == 0: //nolint:errorlint // record returns it unwrapped
		return Row{}, broken("no_rows")
	case err != nil && fault == "":
		return Row{}, err
	case fault == "" && len(cells) > len(f.Columns):
		fault = TooManyCells
	}
	f.rows++
	r := Row{Line: line, Cells: make([]string, len(cells)), Fault: string(fault), ANSI: f.records.ansi()}
	f.ansi = f.ansi || r.ANSI
	for i, c := range cells {
		r.Cells[i] = textOf(c)
	}
	if f.book != nil {
		f.book.mark(&r)
	}
	return r, nil
}

// textOf returns what a cell says, without the apostrophes that downloads of this service add.
func textOf(cell string) string {
	cell = strings.TrimSpace(cell)
	if strings.IndexByte(cell, '\'') < 0 {
		return cell
	}
	return strings.TrimSpace(campaign.WithoutEscapes(cell))
}

const (
	firstLines = 3      // that a person sees when they confirm the columns
	maxFaults  = 10_000 // lines that are left out before the first ones
	maxCell    = 40     // characters of a cell that a person sees
)

// First reads the first lines that are not left out for a person to see, with shortened cells.
func (f *File) First() (lines [][]string, err error) {
	for faults := 0; len(lines) < firstLines && faults < maxFaults; {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if row.Fault != "" {
			faults++
			continue
		}
		cells := make([]string, len(f.Columns))
		for i := range cells {
			cells[i] = Cut(row.Cell(i), maxCell)
		}
		lines = append(lines, cells)
	}
	return lines, nil
}

// Cut shortens a text to at most most characters.
func Cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// ANSI reports whether a line read so far is not UTF-8.
func (f *File) ANSI() bool { return f.ansi }

// record returns the next line that is not empty, without the empty cells at its end.
func (f *File) record() (line int, cells []string, err error) {
	for range maxBlank {
		line, cells, err = f.records.next()
		if cells = trimmed(cells); err != nil || len(cells) > 0 || f.book != nil && f.book.failed {
			return line, cells, err
		}
	}
	return 0, nil, errBlank
}

// phoneNames and uidNames are the folded names of a column, the most certain first. A
// name is used only if no name of an earlier group is in the file.
var (
	phoneNames = [][]string{{"phone"}, {"telefone", "celular", "fone", "whatsapp", "mobile"}, {"msisdn", "numero"}}
	uidNames   = [][]string{{"uid"}, {"id", "codigo", "code"}}
)

// Match finds the columns of a file by their names.
func Match(columns, variables []string) submission.Chosen {
	c := submission.Chosen{Phone: named(columns, phoneNames), UID: named(columns, uidNames)}
	for _, name := range variables {
		c.Values = append(c.Values, submission.Column{Name: name, Column: columnOf(columns, name, variables)})
	}
	return c
}

// columnOf returns the column of a variable: the one with its name, or the only one that
// differs only in case or accents, unless another variable matches it. It returns -1 if there
// is none.
func columnOf(columns []string, name string, variables []string) int {
	if exact := slices.Index(columns, name); exact >= 0 {
		return exact
	}
	folded := Fold(name)
	alike := func(other string) bool { return other != name && Fold(other) == folded }
	found := -1
	for i, c := range columns {
		if !alike(c) || slices.Contains(variables, c) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	rival := func(other string) bool { return alike(other) && !slices.Contains(columns, other) }
	if slices.ContainsFunc(variables, rival) {
		return -1
	}
	return found
}

// named returns the column with one of the names, or -1 if there is none, or if two
// columns fit equally.
func named(columns []string, names [][]string) int {
	for _, group := range names {
		fits := func(c string) bool { return slices.Contains(group, Fold(c)) }
		first := slices.IndexFunc(columns, fits)
		if first < 0 {
			continue
		}
		if slices.ContainsFunc(columns[first+1:], fits) {
			return -1
		}
		return first
	}
	return -1
}

// standard returns the name of a column, with phone and uid in small letters.
func standard(name string) string {
	for _, known := range []string{"phone", "uid"} {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	return name
}

// Fold returns a name without case and accents.
func Fold(name string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(name))
	return strings.ToLower(plain)
}
