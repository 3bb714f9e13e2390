package sending

import (
	"slices"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// current returns the columns of a submission's variables as the template has them now. New
// variables have the column with their name.
func current(sub submission.Submission, variables []string) []submission.Column {
	var columns []submission.Column
	for _, v := range sheet.Match(sub.Columns.Header, variables).Values {
		at := slices.IndexFunc(sub.Columns.Values, func(c submission.Column) bool { return c.Name == v.Name })
		if at < 0 {
			columns = append(columns, submission.Column(v))
		} else {
			columns = append(columns, sub.Columns.Values[at])
		}
	}
	return columns
}

// PhoneIn and UIDIn return the column of the numbers and of the uids, if its name is not the standard
// one.
func (v view) PhoneIn() string { return v.renamed(v.Columns.Phone, "phone") }

// UIDIn is described at PhoneIn.
func (v view) UIDIn() string { return v.renamed(v.Columns.UID, "uid") }

func (v view) renamed(column int, standard string) string {
	if column < 0 || column >= len(v.Columns.Header) || v.Columns.Header[column] == standard {
		return ""
	}
	return v.Columns.Header[column]
}

// choice is the data of a field that chooses a column.
type choice struct {
	ID      string
	Column  int // -1 for none
	Header  []string
	Refused bool
}

// Choice returns the field with an ID for a column.
func (v view) Choice(id string, column int) choice {
	return choice{id, column, v.Columns.Header, v.Notice == "imports.columns_missing"}
}

// Letter returns the letters of a column in a spreadsheet: A for 0, AA for 26.
func (choice) Letter(column int) string {
	const letters = 26
	name := ""
	for n := column + 1; n > 0; n = (n - 1) / letters {
		name = string(rune('A'+(n-1)%letters)) + name
	}
	return name
}
