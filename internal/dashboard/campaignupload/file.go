package campaignupload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/recipients"
)

// table is a parsed file of recipients.
type table struct {
	columns []string // as in the header
	recipients.Columns
	rows []recipients.Row
	ansi bool // the file was written in Windows-1252
}

// fileError is an error of the whole file: the key of a text, and its arguments.
type fileError struct {
	key  string
	args []any
	also string // key of an additional text, or ""
}

func (e *fileError) Error() string { return e.key }

// readFile parses a CSV file with commas, semicolons or tabs, in UTF-8 or Windows-1252.
func readFile(file []byte) (table, error) {
	if bytes.HasPrefix(file, []byte("PK\x03\x04")) || bytes.HasPrefix(file, []byte("\xd0\xcf\x11\xe0")) {
		return table{}, &fileError{key: "sending.file.workbook"} // imports read workbooks
	}
	t, err := readTable(file)
	if wrong, ok := errors.AsType[*recipients.Error](err); ok {
		err = &fileError{key: "sending.file." + wrong.Code, args: wrong.Args}
	}
	return t, err
}

func readTable(file []byte) (table, error) {
	f, err := recipients.Open(context.Background(), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return table{}, err
	}
	// The columns phone and uid are found without the template, so that a change of the
	// template never changes the parts.
	t := table{columns: f.Columns, Columns: recipients.Match(f.Columns, nil)}
	for {
		r, err := f.Next()
		if errors.Is(err, io.EOF) {
			t.ansi = f.ANSI()
			return t, nil
		}
		if err != nil {
			return t, err
		}
		if t.Phone >= 0 && t.Phone < len(r.Cells) {
			r.Cells[t.Phone] = phone.Tidy(r.Cells[t.Phone])
		}
		t.rows = append(t.rows, r)
	}
}

// fit finds the columns of a template's variables. The error lists all missing ones.
func (t *table) fit(variables []string) error {
	t.Columns = recipients.Match(t.columns, variables)
	return t.lacks(t.Missing())
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
	if t.UID < 0 {
		err.also = "sending.file.uid"
	}
	return err
}

// renamed returns the column of a number or a uid, if its name is not the standard one.
func (t *table) renamed(column int, standard string) string {
	if column < 0 || t.columns[column] == standard {
		return ""
	}
	return t.columns[column]
}
