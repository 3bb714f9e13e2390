package review

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/listfile"
	"campaign-dispatch/internal/intake/submission"
)

// Numbers are the review of a file of numbers that is kept until a person has decided about it. How it is read stands in the
// requests: in the query, and the corrected numbers in forms only, because access logs contain URLs.
type Numbers struct {
	listfile.Head
	listfile.Content

	Reading submission.Reading
	File    string
	Path    string           // of the review
	Fault   submission.Fault // why the file cannot be used
	Wrong   bool             // a corrected number is none
	Known   int              // numbers of the file that are known
	Notice  string           // text key
	Once    string

	everybody bool
}

// New returns how many numbers of the file are not known.
func (n Numbers) New() int { return len(n.Numbers) - n.Known }

// Usable reports whether the numbers of the file can be used.
func (n Numbers) Usable() bool { return n.Fault.Code == "" && !n.Undecided() && n.Column >= 0 }

// Undecided reports whether a person has to say first how the file is read.
func (n Numbers) Undecided() bool {
	return n.Reading.Undecided(submission.Columns{Sheets: n.Sheets})
}

// Keep keeps the file of a form, and returns its ID. The error is a *inputerr.Error, with the code file for a form without
// a file.
func Keep(p *web.Page, files *listfile.Store) (file string, err error) {
	chosen, _, err := p.R.FormFile("file")
	if err != nil {
		return "", &inputerr.Error{Code: "file", Detail: "the form has no file"}
	}
	defer func() { _ = chosen.Close() }() // it is in memory
	content, err := io.ReadAll(chosen)
	if err != nil {
		return "", fmt.Errorf("read a file of numbers: %w", err)
	}
	return files.Put(p.R.Context(), p.Session.Tenant, content)
}

// Answered returns the status of a page with the review, and the review as the page shows it.
func (n Numbers) Answered(status int) (int, Numbers) {
	n.Once = web.FormToken()
	if n.Wrong {
		status, n.Notice = http.StatusUnprocessableEntity, "review.correct_wrong"
	}
	return status, n
}

// ReadNumbers reads a file as the request says. A missing file is refused with a link to the page to, labelled toKey.
func ReadNumbers(p *web.Page, files *listfile.Store, path, to, toKey string) (Numbers, error) {
	return Numbers{File: p.R.PathValue("file"), Path: path}.of(p, files, to, toKey)
}

// ReadEverybody is ReadNumbers for a file whose people get no messages: hidden rows are read too,
// because a person who is left out of it would get messages.
func ReadEverybody(p *web.Page, files *listfile.Store, path, to, toKey string) (Numbers, error) {
	return Numbers{File: p.R.PathValue("file"), Path: path, everybody: true}.of(p, files, to, toKey)
}

func (n Numbers) of(p *web.Page, files *listfile.Store, to, toKey string) (_ Numbers, err error) {
	n.Column = -1
	content, err := files.Get(p.R.Context(), p.Session.Tenant, n.File)
	if errors.Is(err, campaign.ErrNotFound) {
		err = &web.Refusal{Status: http.StatusNotFound, Key: "review.file_gone", To: to, ToKey: toKey}
	}
	if err != nil {
		return n, err
	}
	n.Reading, n.Wrong = Sent(p)
	err = n.read(p, content)
	if wrong, ok := errors.AsType[*submission.Fault](err); ok {
		n.Fault, err = *wrong, nil
	}
	return n, err
}

func (n *Numbers) read(p *web.Page, content []byte) (err error) {
	if n.Head, err = listfile.ReadHead(p.R.Context(), content, n.reading()); err != nil {
		return err
	}
	if !n.chosenHere(p) {
		n.Reading.Corrections = nil // the lines are others
	} else if column := p.R.FormValue("column"); column != "" {
		n.Column = web.ColumnIn(column, n.Header)
	}
	if !n.Usable() {
		return nil
	}
	n.Content, err = listfile.Read(p.R.Context(), content, n.Column, n.reading())
	return err
}

// chosenHere reports whether the column and the corrections of a request are of the sheet that is read. The form of the choices has the sheet
// whose columns it shows, so that the column of another one is found anew.
func (n *Numbers) chosenHere(p *web.Page) bool {
	shown := p.R.FormValue("columns-of")
	return shown == "" || shown == n.Sheet
}

// reading returns how the file is read.
func (n Numbers) reading() submission.Reading {
	r := n.Reading
	r.Hidden = r.Hidden || n.everybody
	return r
}

// ColumnChoice returns the choice of the column.
func (n Numbers) ColumnChoice() web.ColumnChoice {
	return web.ColumnChoice{ID: "column", Column: n.Column, Header: n.Header}
}

func (n Numbers) source() Source {
	kept := n.query()
	return Source{Findings: n.Findings, First: n.Lines, Download: func(of url.Values) string {
		maps.Copy(of, kept)
		return n.Path + "/refused?" + of.Encode()
	}}
}

// query returns the parameters that say how the file is read, but for corrected numbers.
func (n Numbers) query() url.Values {
	r := n.Reading
	r.Corrections = nil
	q := url.Values{"column": {web.ColumnField(n.Column)}}
	for _, f := range Fields(r) {
		q.Set(f.Name, f.Value)
	}
	return q
}

// Review returns what was left out.
func (n Numbers) Review(p *web.Page) View { return New(p, n.source()) }

// Noted returns what a person should look at.
func (n Numbers) Noted(p *web.Page) []Kind { return Noted(p, n.source()) }

// Choices returns what the file leaves to choose.
func (n Numbers) Choices() Choices { return NewChoices(n.Reading, n.Sheets, nil, n.source()) }

// Corrections returns the numbers that can be corrected.
func (n Numbers) Corrections(p *web.Page) []Correction { return Corrections(p, n.Reading, n.Lines) }

// Fields returns the fields with which a form keeps how the file is read.
func (n Numbers) Fields() []Field {
	return append(Fields(n.Reading), Field{"column", web.ColumnField(n.Column)})
}

// PlainFields returns Fields without the corrected numbers.
func (n Numbers) PlainFields() []Field {
	n.Reading.Corrections = nil
	return n.Fields()
}

// CorrectionFields returns the fields with which a form keeps the corrected numbers alone.
func (n Numbers) CorrectionFields() []Field {
	return Fields(submission.Reading{Corrections: n.Reading.Corrections})
}

// Download answers with the lines that were left out.
func (n Numbers) Download(p *web.Page) error {
	d := Download{Header: []string{p.T("review.phone")}, Cells: func(l submission.LeftOut) []string { return []string{l.Phone} }}
	return d.Lines(p, eachOf(n.Lines))
}

func eachOf(lines []submission.LeftOut) iter.Seq2[submission.LeftOut, error] {
	return func(yield func(submission.LeftOut, error) bool) {
		for _, l := range lines {
			if !yield(l, nil) {
				return
			}
		}
	}
}
