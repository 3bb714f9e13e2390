package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"campaign-dispatch/internal/campaign/pattern"
)

// Parameters maps the query parameters of a route to the code of the problem for an
// invalid value.
type Parameters map[string]string

// Query holds the known parameters of a request's query.
type Query struct {
	values map[string]string
	codes  Parameters
}

// Read parses a request's query. It ignores unknown names, but returns a *Problem for a
// known name that is repeated, misspelled, or badly separated or encoded: a mistyped
// parameter must not count as absent. Known names consist of letters.
func (p Parameters) Read(r *http.Request) (Query, error) {
	q := Query{codes: p}
	if r.URL.RawQuery == "" {
		return q, nil
	}
	q.values = map[string]string{}
	for field := range strings.SplitSeq(r.URL.RawQuery, "&") {
		name, value, ok := decodeField(field)
		_, known := p[name]
		_, twice := q.values[name]
		switch meant := p.meant(field); {
		case ok && known && twice:
			return q, q.problem(name, name+" must occur only once.")
		case ok && known:
			q.values[name] = value
		case meant != "":
			return q, q.problem(meant, "Malformed query parameter "+meant+": check its spelling, its percent-encoding and the & separator.")
		}
	}
	return q, nil
}

func decodeField(field string) (name, value string, ok bool) {
	name, value, _ = strings.Cut(field, "=")
	name, wrongName := url.QueryUnescape(name)
	value, wrongValue := url.QueryUnescape(value)
	return name, value, wrongName == nil && wrongValue == nil && !strings.Contains(field, ";")
}

// meant returns the known name that a malformed field seems to contain, or "". It
// ignores case and characters around or between the letters, and accepts a ; or ?
// instead of &, and a percent-encoded =.
func (p Parameters) meant(field string) string {
	if _, known := p[dryRun]; known && wordDryRun().MatchString(nameIn(field)) {
		return dryRun
	}
	for part := range strings.FieldsFuncSeq(field, func(c rune) bool { return c == ';' || c == '?' }) {
		for word := range strings.FieldsFuncSeq(nameIn(part), func(c rune) bool { return strings.ContainsRune("=&;?", c) }) {
			for known := range p {
				if strings.EqualFold(lettersOf(word), known) {
					return known
				}
			}
		}
	}
	return ""
}

// nameIn returns the decoded name of a malformed field.
func nameIn(field string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(field, "="), "=")
	return escape().ReplaceAllStringFunc(name, unescapeOrDrop)
}

// dryRun is the parameter whose absence lets a call take effect.
const dryRun = "dryRun"

// DryRun are the parameters of a call without others.
var DryRun = Parameters{dryRun: "invalid_dry_run"}

// wordDryRun finds dryRun as a word of a field's name, as in dryRun:true.
var wordDryRun = pattern.AtFirstUse(`(?i)(^|\PL)dryRun(true|false)?(\PL|$)`)

var escape = pattern.AtFirstUse(`(?s)%.{0,2}`)

func unescapeOrDrop(escape string) string {
	plain, _ := url.PathUnescape(escape) // "" with an error
	return plain
}

func lettersOf(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) {
			return c
		}
		return -1
	}, s)
}

func (q Query) problem(name, detail string) *Problem {
	return BadRequest(q.codes[name], detail)
}

// Has reports whether the query contains the parameter.
func (q Query) Has(name string) bool {
	_, ok := q.values[name]
	return ok
}

// Get returns the parameter's value, or "" if it is absent.
func (q Query) Get(name string) string { return q.values[name] }

// Switch returns a boolean parameter. An absent one is false; a value other than true
// and false is a *Problem.
func (q Query) Switch(name string) (on bool, err error) {
	if q.Has(name) && !slices.Contains([]string{"true", "false"}, q.Get(name)) {
		return false, q.problem(name, name+" must be true or false.")
	}
	return q.Get(name) == "true", nil
}

// NoDryRun is the usual detail of RefuseDryRun.
const NoDryRun = "This call has no dry run. Nothing was changed."

// RefuseDryRun returns the problem of a dry run of a call that has none.
func (q Query) RefuseDryRun(detail string) error {
	dry, err := q.Switch(dryRun)
	if err == nil && dry {
		err = q.problem(dryRun, detail)
	}
	return err
}

// Number returns a parameter that is a number from 0 on, 0 if it is absent.
func (q Query) Number(name, detail string) (n int, err error) {
	if text := q.Get(name); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 0 {
			return 0, q.problem(name, detail)
		}
	}
	return n, nil
}

// BadCursor is the detail of a cursor that is not from an answer.
const BadCursor = "cursor must be the nextCursor of an answer to this request."

const (
	usualLimit = 100 // default items per page
	maxLimit   = 500
)

// Limit returns the number of items on a page.
func (q Query) Limit() (int, error) {
	detail := fmt.Sprintf("limit must be a number from 1 to %d.", maxLimit)
	n, err := q.Number("limit", detail)
	switch {
	case err != nil:
		return 0, err
	case q.Get("limit") == "":
		return usualLimit, nil
	case n < 1 || n > maxLimit:
		return 0, q.problem("limit", detail)
	}
	return n, nil
}
