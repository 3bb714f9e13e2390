package imports

// choice is the data of a field that chooses a column.
type choice struct {
	ID      string
	Column  int // -1 for none
	Header  []string
	Refused bool
}

// Choice returns the field with an ID for a column.
func (v view) Choice(id string, column int) choice {
	return choice{id, column, v.Header, v.Notice == "imports.columns_missing"}
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
