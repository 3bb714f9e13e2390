package review

import (
	"iter"
	"slices"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// Download are lines of a file as CSV, in the format of Brazilian spreadsheets.
type Download struct {
	Header []string // of the cells
	Cells  func(l submission.LeftOut) []string
	Lists  map[int]string // names of lists, by number
}

// Lines answers with the lines of the kind that the query has, or with all that are left out.
func (d Download) Lines(p *web.Page, all iter.Seq2[submission.LeftOut, error]) error {
	file := campaign.AppendRow(nil, web.CSVSeparator, slices.Concat(
		[]string{p.T("review.line"), p.T("review.problem"), p.T(insteadKey(submission.Kind(p.Query("kind"))))}, d.Header,
	)...)
	for l, err := range all {
		if err != nil {
			return err
		}
		if !asked(p, l) || p.Query("kind") == "" && l.Kind.Noted() {
			continue
		}
		var full bool
		if file, full = p.AppendLine(file, slices.Concat(d.about(p, l), d.Cells(l))...); full {
			break
		}
	}
	return p.CSV("review.file_name", file)
}

func (d Download) about(p *web.Page, l submission.LeftOut) []string {
	return []string{strconv.Itoa(l.Line), Problem(p, l, d.Lists), l.Meant}
}

// asked reports whether the query has no kind, that of a line, or the line's kind with its code.
func asked(p *web.Page, l submission.LeftOut) bool {
	of := query(l)
	for _, name := range []string{"kind", "code", "variable", "list"} {
		if value := p.Query(name); value != "" && value != of.Get(name) {
			return false
		}
	}
	return true
}
