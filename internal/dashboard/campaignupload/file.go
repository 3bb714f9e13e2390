package campaignupload

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"campaign-dispatch/internal/phone"
)

// table is a parsed file of recipients.
type table struct {
	columns []string // as in the header
	phone   int      // index of the column
	uid     int
	rows    []row
	values  []value
	ansi    bool // the file was written in Windows-1252
}

// value is the column of a template's variable.
type value struct {
	name   string
	column int
}

// row is one line of the file, without trailing empty cells.
type row struct {
	line  int // in the file, from 1
	cells []string
}

// cell returns the cell of a column, or "" if the row has none.
func (r row) cell(column int) string {
	if column >= 0 && column < len(r.cells) {
		return r.cells[column]
	}
	return ""
}

// fileError is an error of the whole file: the key of a text, and its arguments.
type fileError struct {
	key  string
	args []any
	also string // key of an additional text, or ""
}

func (e *fileError) Error() string { return e.key }

func broken(key string, args ...any) error { return &fileError{key: "sending.file." + key, args: args} }

// maxColumns is the maximum number of columns.
const maxColumns = 100

// readFile parses a CSV file with commas, semicolons or tabs, in UTF-8 or Windows-1252.
func readFile(file []byte) (table, error) {
	content, ansi, err := decode(file)
	if err != nil {
		return table{}, err
	}
	content, comma, skipped := separator(lineEnds(content))
	if line := overfull(content, comma); line > 0 {
		return table{}, broken("many_columns", line+skipped, maxColumns)
	}
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

// maxSeparators is the maximum number of separators in a line, including those in
// quotes. It limits memory before the cells are counted.
const maxSeparators = 10_000

// overfull returns the number of the first line with too many separators, from 1, or 0.
func overfull(content string, comma rune) int {
	number := 0
	for line := range strings.Lines(content) {
		if number++; strings.Count(line, string(comma)) > maxSeparators {
			return number
		}
	}
	return 0
}

// lineEnds converts the line ends of old Macs, which Excel's "CSV (Macintosh)" also
// writes.
func lineEnds(content string) string {
	if strings.Contains(content, "\n") {
		return content
	}
	return strings.ReplaceAll(content, "\r", "\n")
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

// separator returns the cell separator: the one in Excel's line sep=; or else the most
// frequent one in the header. It also returns the content after that line, and the
// number of skipped lines.
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

// take adds one record: first the header, then the rows that are not empty.
func (t *table) take(line int, cells []string) error {
	if !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) {
		return nil
	}
	if t.columns == nil {
		return t.header(cells)
	}
	for strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) > len(t.columns) {
		return broken("columns", line, len(cells), len(t.columns))
	}
	r := row{line: line, cells: make([]string, len(cells))}
	for i, c := range cells {
		if r.cells[i] = strings.TrimSpace(c); i == t.phone {
			r.cells[i] = phone.Tidy(r.cells[i])
		}
	}
	t.rows = append(t.rows, r)
	return nil
}

// header reads the column names and finds the columns phone and uid. Both are found
// without the template, so that a change of the template never changes the parts.
func (t *table) header(cells []string) error {
	if len(cells) > maxColumns {
		return broken("many_columns", 1, maxColumns)
	}
	for _, c := range cells {
		name := standard(strings.TrimSpace(c))
		if name != "" && slices.Contains(t.columns, name) {
			return broken("twice", name)
		}
		t.columns = append(t.columns, name)
	}
	t.phone, t.uid = named(t.columns, phoneNames), named(t.columns, uidNames)
	return nil
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

func (t *table) complete() error {
	switch {
	case t.columns == nil:
		return broken("empty")
	case len(t.rows) == 0:
		return broken("no_rows")
	}
	return nil
}

// fit finds the columns of a template's variables. The error lists all missing ones.
func (t *table) fit(variables []string) error {
	var missing []string
	if t.phone < 0 {
		missing = append(missing, "phone")
	}
	if t.uid < 0 {
		missing = append(missing, "uid")
	}
	t.values = nil
	for _, name := range variables {
		if column := t.column(name, variables); column >= 0 {
			t.values = append(t.values, value{name, column})
		} else if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return t.lacks(missing)
}

// column returns the column of a variable: the one with its name, or the only one that
// differs only in case or accents, unless another variable matches it. It returns -1 if there is
// none.
func (t *table) column(name string, variables []string) int {
	if exact := slices.Index(t.columns, name); exact >= 0 {
		return exact
	}
	folded := fold(name)
	alike := func(other string) bool { return other != name && fold(other) == folded }
	found := -1
	for i, c := range t.columns {
		if !alike(c) || slices.Contains(variables, c) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	rival := func(other string) bool { return alike(other) && !slices.Contains(t.columns, other) }
	if slices.ContainsFunc(variables, rival) {
		return -1
	}
	return found
}

// maxListed is the maximum number of characters of column names in a text.
const maxListed = 300

func (t *table) lacks(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(t.columns), func(c string) bool { return c == "" })
	has := []rune(strings.Join(named, ", "))
	if len(has) > maxListed {
		has = append(has[:maxListed], '…')
	}
	err := &fileError{key: "sending.file.lacks_one", args: []any{strings.Join(missing, ", "), string(has)}}
	if len(missing) > 1 {
		err.key = "sending.file.lacks_many"
	}
	if t.uid < 0 {
		err.also = "sending.file.uid"
	}
	return err
}

// variables returns the values of a row by variable name. Empty cells are left out: an
// empty value would break the greeting.
func (t *table) variables(r row) map[string]string {
	vars := map[string]string{}
	for _, v := range t.values {
		if text := r.cell(v.column); text != "" {
			vars[v.name] = text
		}
	}
	return vars
}
