package web

import "strconv"

// ColumnChoice is the data of column.html, the choice of a column of a file.
type ColumnChoice struct {
	ID      string // of the field
	Column  int    // -1 for none
	Header  []string
	Refused bool // the form was refused for want of a choice
}

// Letter returns the letters of a column in a spreadsheet: A for 0, AA for 26.
func (ColumnChoice) Letter(column int) string {
	const letters = 26
	name := ""
	for n := column + 1; n > 0; n = (n - 1) / letters {
		name = string(rune('A'+(n-1)%letters)) + name
	}
	return name
}

// ColumnIn returns the column that a field of column.html has, -1 for none of the header.
func ColumnIn(field string, header []string) int {
	n, err := strconv.Atoi(field)
	if err != nil || n < 0 || n >= len(header) {
		return -1
	}
	return n
}

// ColumnField returns the field of column.html that has a column, "" for none.
func ColumnField(column int) string {
	if column < 0 {
		return ""
	}
	return strconv.Itoa(column)
}
