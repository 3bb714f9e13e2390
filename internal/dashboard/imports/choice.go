package imports

import (
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/recipients"
)

// current returns the columns of an import's variables as the template has them now. New
// variables have the column with their name.
func current(i campaign.Import, variables []string) []campaign.ImportColumn {
	var columns []campaign.ImportColumn
	for _, v := range recipients.Match(i.Header, variables).Values {
		at := slices.IndexFunc(i.Values, func(c campaign.ImportColumn) bool { return c.Name == v.Name })
		if at < 0 {
			columns = append(columns, campaign.ImportColumn(v))
		} else {
			columns = append(columns, i.Values[at])
		}
	}
	return columns
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
