package campaignupload

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// phoneNames and uidNames are the folded names of a column, the most certain first. A
// name is used only if no name of an earlier group is in the file.
var (
	phoneNames = [][]string{{"phone"}, {"telefone", "celular", "fone", "whatsapp", "mobile"}}
	uidNames   = [][]string{{"uid"}, {"id", "codigo", "code"}}
)

// named returns the column with one of the names, or -1 if there is none, or if two
// columns fit equally.
func named(columns []string, names [][]string) int {
	for _, group := range names {
		fits := func(c string) bool { return slices.Contains(group, fold(c)) }
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

// fold returns a name without case and accents.
func fold(name string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(name))
	return strings.ToLower(plain)
}

// renamed returns the column of a number or a uid, if its name is not the standard one.
func (t *table) renamed(column int, standard string) string {
	if column < 0 || t.columns[column] == standard {
		return ""
	}
	return t.columns[column]
}
