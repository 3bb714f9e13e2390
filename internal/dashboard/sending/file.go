package sending

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// table is a file of recipients.
type table struct {
	columns []string // as the header names them
	phone   int      // index of the column
	uid     int
	rows    []row
	ansi    bool // the file was written in Windows-1252
}

// row is one line of the file; cells has as many as the header.
type row struct {
	line  int // in the file, from 1
	cells []string
}

// fileError says what is wrong with a file as a whole: the key of a text, and what
// fills it.
type fileError struct {
	key  string
	args []any
}

func (e *fileError) Error() string { return e.key }

func broken(key string, args ...any) error { return &fileError{"sending.file." + key, args} }

// readFile reads a CSV file as people and spreadsheets write them: with commas,
// semicolons or tabs, in UTF-8 or Windows-1252.
func readFile(file []byte) (table, error) {
	content, ansi, err := decode(file)
	if err != nil {
		return table{}, err
	}
	content, comma, skipped := separator(content)
	r := csv.NewReader(strings.NewReader(content))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = comma, -1, true
	t := table{ansi: ansi}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			err = t.complete()
			return t, err
		}
		if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
			return t, broken("quotes", wrong.Line+skipped)
		}
		line, _ := r.FieldPos(0)
		if err := t.take(line+skipped, cells); err != nil {
			return t, err
		}
	}
}

// decode returns the file as UTF-8 without a byte order mark.
func decode(file []byte) (content string, ansi bool, err error) {
	switch {
	case bytes.HasPrefix(file, []byte("PK\x03\x04")), bytes.HasPrefix(file, []byte("\xd0\xcf\x11\xe0")):
		return "", false, broken("workbook")
	case bytes.HasPrefix(file, []byte("\xff\xfe")), bytes.HasPrefix(file, []byte("\xfe\xff")), bytes.IndexByte(file, 0) >= 0:
		return "", false, broken("utf16")
	}
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	if utf8.Valid(file) {
		return string(file), false, nil
	}
	decoded, err := charmap.Windows1252.NewDecoder().Bytes(file)
	if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) {
		return "", false, broken("unreadable")
	}
	return string(decoded), true, nil
}

// separator finds what stands between the cells, which Excel may say in a line of
// its own, sep=; and otherwise is what the header has most of. It returns the
// content after that line, and how many lines that was.
func separator(content string) (rest string, comma rune, skipped int) {
	first, rest, _ := strings.Cut(content, "\n")
	first = strings.TrimSuffix(first, "\r")
	if sep, said := strings.CutPrefix(strings.ToLower(first), "sep="); said && (sep == "," || sep == ";" || sep == "\t" || sep == "|") {
		return rest, rune(sep[0]), 1
	}
	comma = ','
	for _, candidate := range ";\t" {
		if strings.Count(first, string(candidate)) > strings.Count(first, string(comma)) {
			comma = candidate
		}
	}
	return content, comma, 0
}

// take takes in one record: first the header, then the rows that hold anything.
func (t *table) take(line int, cells []string) error {
	if !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) {
		return nil
	}
	if t.columns == nil {
		return t.header(cells)
	}
	for len(cells) > len(t.columns) && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) > len(t.columns) {
		return broken("columns", line, len(cells), len(t.columns))
	}
	r := row{line: line, cells: make([]string, len(t.columns))}
	for i, c := range cells {
		r.cells[i] = strings.TrimSpace(c)
	}
	t.rows = append(t.rows, r)
	return nil
}

// header reads the names of the columns. phone and uid may be written with capitals.
func (t *table) header(cells []string) error {
	t.phone, t.uid = -1, -1
	for i, c := range cells {
		name := strings.TrimSpace(c)
		switch {
		case strings.EqualFold(name, "phone"):
			name, t.phone = "phone", i
		case strings.EqualFold(name, "uid"):
			name, t.uid = "uid", i
		}
		if name != "" && slices.Contains(t.columns, name) {
			return broken("twice", name)
		}
		t.columns = append(t.columns, name)
	}
	switch {
	case t.phone < 0:
		return broken("no_phone")
	case t.uid < 0:
		return broken("no_uid")
	}
	return nil
}

func (t *table) complete() error {
	switch {
	case t.columns == nil:
		return broken("empty")
	case len(t.rows) == 0:
		return broken("no_rows")
	}
	return nil
}

// variables are the values of a row by their names. An empty cell is no value:
// nobody wants to be greeted without a name.
func (t *table) variables(r row) map[string]string {
	vars := map[string]string{}
	for i, name := range t.columns {
		if name != "" && r.cells[i] != "" && i != t.phone && i != t.uid {
			vars[name] = r.cells[i]
		}
	}
	return vars
}
