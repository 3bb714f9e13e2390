// Package review shows what was left out of a file of phone numbers, the same on each page that takes one: the first lines of
// each kind with their reasons, all of them as a download, how the file is read, and numbers that can be corrected.
package review

import (
	"cmp"
	"embed"
	"net/url"
	"slices"
	"strconv"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

//go:embed *.html texts.json
var files embed.FS

// Area returns the parts of a review and their texts.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"review"}} }

// Row is a line of a file.
type Row struct {
	Line    int
	Written string // the number as in the file
	Instead string // the number that may be meant, or that is used instead, or ""
	Reason  string // "" if it is the title of its kind
}

// Kind is why lines are left out, or shown.
type Kind struct {
	Title  string
	Count  int
	Lines  []int // the first ones
	Rows   []Row // the first ones, if the person may see them
	Path   string
	Closed bool
	Of     submission.Kind
}

// ReasonKey returns the heading of the reasons, a text key.
func (k Kind) ReasonKey() string {
	if k.Of == submission.KindAbroad {
		return "review.country"
	}
	return "review.problem"
}

// Reasons reports whether a row has a reason of its own.
func (k Kind) Reasons() bool {
	return slices.ContainsFunc(k.Rows, func(r Row) bool { return r.Reason != "" })
}

// Instead reports whether a row has another number.
func (k Kind) Instead() bool {
	return slices.ContainsFunc(k.Rows, func(r Row) bool { return r.Instead != "" })
}

// InsteadKey returns the key of what the other number is.
func (k Kind) InsteadKey() string { return insteadKey(k.Of) }

func insteadKey(of submission.Kind) string {
	if of.Accepted() || of == submission.KindRepeated {
		return "review.used"
	}
	return "review.meant"
}

// Which reports whether the first lines are listed without their numbers.
func (k Kind) Which() bool { return len(k.Rows) < min(perKind, len(k.Lines)) }

// View is the data of review.html.
type View struct {
	Kinds []Kind
	More  int    // kinds that are not shown
	All   string // path of the download of all lines, or ""
}

// Source is what a review shows.
type Source struct {
	Findings submission.Findings
	First    []submission.LeftOut // the first lines of the kinds
	Lists    map[int]string       // names of lists, by number
	// Download returns the path of the lines of a kind. It is nil if the person may not see the lines.
	Download func(of url.Values) string
}

const (
	perKind  = 10
	maxRows  = 100
	maxKinds = 30
	maxOpen  = 5
	weight   = 100 // bytes of a number in the page
)

// New returns what was left out.
func New(p *web.Page, s Source) (v View) {
	s.each(func(l submission.LeftOut, lines submission.Lines) {
		if lines.Count > 0 {
			v.Kinds = append(v.Kinds, s.kind(p, l, lines, len(v.Kinds)))
		}
	})
	if v.More = len(v.Kinds) - maxKinds; v.More > 0 {
		v.Kinds = v.Kinds[:maxKinds]
	}
	rows := 0
	for n := range v.Kinds {
		k := &v.Kinds[n]
		k.Rows = k.Rows[:min(len(k.Rows), maxRows-rows)]
		rows += len(k.Rows)
	}
	if s.Download != nil && len(v.Kinds) > 0 {
		v.All = s.Download(url.Values{})
	}
	return v
}

// each visits the kinds of lines, as the line that stands for each.
func (s Source) each(visit func(l submission.LeftOut, lines submission.Lines)) {
	f := s.Findings
	for _, o := range f.Omitted {
		visit(submission.LeftOut{Kind: submission.KindFaulty, Code: o.Code, Column: o.Column}, o.Lines)
	}
	for _, r := range f.Rejected {
		visit(submission.LeftOut{Kind: submission.KindInvalid, Code: r.Code}, r.Lines)
	}
	visit(submission.LeftOut{Kind: submission.KindRepeated}, f.Repeated)
	visit(submission.LeftOut{Kind: submission.KindOptedOut}, submission.Lines{Count: f.OptedOut})
	for _, l := range s.OnLists() {
		visit(submission.LeftOut{Kind: submission.KindSuppressed, List: l.Number}, submission.Lines{Count: l.People})
	}
}

// OnList is how many people a list keeps from the message.
type OnList struct {
	Number int // of the list
	Name   string
	People int
}

// OnLists returns the lists that keep people from the message, those with the most people first.
func (s Source) OnLists() (all []OnList) {
	for list, people := range s.Findings.Suppressed {
		all = append(all, OnList{list, s.Lists[list], people})
	}
	slices.SortFunc(all, func(a, b OnList) int { return cmp.Or(b.People-a.People, cmp.Compare(a.Name, b.Name)) })
	return all
}

func (s Source) kind(p *web.Page, of submission.LeftOut, lines submission.Lines, before int) Kind {
	k := Kind{Title: Problem(p, of, s.Lists), Count: lines.Count, Lines: lines.First, Of: of.Kind}
	k.Closed = of.Kind == submission.KindRepeated || of.Kind.Withheld() || before >= maxOpen
	same := func(l submission.LeftOut) bool { return l.Cause() == of.Cause() }
	return s.withLines(k, of, same, func(l submission.LeftOut) string {
		if why := Problem(p, l, s.Lists); why != k.Title {
			return why
		}
		return ""
	})
}

// withLines returns a kind with the path of its lines and the first ones, if the person may see them.
func (s Source) withLines(
	k Kind, of submission.LeftOut, isOf func(submission.LeftOut) bool, reason func(submission.LeftOut) string,
) Kind {
	if s.Download == nil {
		return k
	}
	k.Path = s.Download(query(of))
	for _, l := range s.First {
		if isOf(l) && len(k.Rows) < perKind {
			k.Rows = append(k.Rows, Row{Line: l.Line, Written: web.Short(l.Phone, weight), Instead: l.Meant, Reason: reason(l)})
		}
	}
	return k
}

// query returns the parameters with which a download has the lines of a kind.
func query(of submission.LeftOut) url.Values {
	q := url.Values{"kind": {string(of.Kind)}}
	for name, value := range map[string]string{"code": of.Code, "variable": of.Column} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if of.List != 0 {
		q.Set("list", strconv.Itoa(of.List))
	}
	return q
}
