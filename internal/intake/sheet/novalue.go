package sheet

import (
	"slices"
	"strings"
)

// noValues are what spreadsheets in Portuguese and English, and databases, write for a cell that has no value: a formula
// that failed, and NULL.
var noValues = []string{
	"#N/D", "#N/A", "#VALOR!", "#VALUE!", "#REF!", "#DIV/0!", "#NOME?", "#NAME?", "#NULO!", "#NULL!", "#NÚM!", "#NUM!",
	"#DESPEJAR!", "#SPILL!", "#CALC!", "#ERRO!", "#ERROR!", `\N`, "NULL",
}

// NoValue reports whether a cell says that it has no value, or that its column was too narrow to show it: ####. A message
// with it would greet nobody.
func NoValue(cell string) bool {
	const narrow, begins = "###", `#\N`
	if cell == "" || strings.IndexByte(begins, cell[0]) < 0 {
		return false
	}
	return slices.Contains(noValues, cell) || strings.HasPrefix(cell, narrow) && strings.Trim(cell, "#") == ""
}
