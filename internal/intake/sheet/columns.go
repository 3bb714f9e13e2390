package sheet

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"campaign-dispatch/internal/intake/submission"
)

// phoneNames and uidNames are the folded names of a column, the most certain first. A
// name is used only if no name of an earlier group is in the file.
var (
	phoneNames = [][]string{{"phone"}, {"telefone", "celular", "fone", "whatsapp", "mobile"}}
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
