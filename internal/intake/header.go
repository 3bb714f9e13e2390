package intake

import (
	"context"
	"errors"
	"io"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
)

const (
	// firstLines is the number of lines that a person sees when they confirm the columns.
	firstLines = 3
	// maxCell and maxHeader are the maximum number of characters of a cell and of a column's
	// name that are stored.
	maxCell   = 40
	maxHeader = 200
)

// readHeader reads the columns of a file and finds the values in them. It begins the check if all of
// them are clear.
func (w *Worker) readHeader(ctx, starting context.Context, sub submission.Submission) (submission.Submission, error) {
	file, size, err := w.Open(ctx, sub.FileKey(), sub.File.Tag)
	if err != nil {
		return sub, fileFault(err)
	}
	rows, err := sheet.Open(starting, file, size)
	if err != nil {
		return sub, readFault(ctx, starting, err)
	}
	if slices.ContainsFunc(rows.Columns, isNumber) {
		return sub, &fault{code: faultNoHeader}
	}
	t, err := w.Store.Template(ctx, sub.TemplateID)
	t, err = campaign.OwnTemplate(sub.Tenant, t, err)
	if errors.Is(err, campaign.ErrNotFound) { // an upload that began as a draft's chose any
		return sub, &fault{code: faultTemplateGone}
	}
	if err != nil {
		return sub, err
	}
	known, err := w.Store.KnownColumns(ctx, sub.Tenant)
	if err != nil {
		return sub, err
	}
	next := sub
	if next.Columns.First, err = first(rows); err != nil {
		return sub, readFault(ctx, starting, err)
	}
	match(&next, rows.Columns, t.Variables(), known)
	next.State = submission.StateColumns
	if len(next.Columns.Missing()) == 0 {
		beginCheck(&next, t.Version)
	}
	return w.save(ctx, next)
}

// beginCheck begins a further check of a file.
func beginCheck(sub *submission.Submission, version int) {
	sub.State, sub.TemplateVersion = submission.StateChecking, version
	sub.Check = submission.Check{Number: sub.Check.Number + 1}
}

// isNumber reports whether a column's name is a phone number: the file begins with a person.
func isNumber(name string) bool { return numberOf(phone.Tidy(name)) != 0 }

// first returns the first lines of a file.
func first(rows *sheet.File) (lines [][]string, err error) {
	for range firstLines {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		cells := make([]string, len(rows.Columns))
		for i := range cells {
			cells[i] = cut(row.Cell(i), maxCell)
		}
		lines = append(lines, cells)
	}
	return lines, nil
}

func cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// match sets the columns of a submission: those of a name that the tenant has confirmed before,
// and else by their names.
func match(sub *submission.Submission, header, variables []string, known map[string]string) {
	found := sheet.Match(header, variables)
	knownOr := func(value string, column int) int {
		name, ok := known[value]
		if !ok || slices.Contains(header, value) {
			return column
		}
		if at := slices.IndexFunc(header, func(c string) bool { return sheet.Fold(c) == name }); at >= 0 {
			return at
		}
		return column
	}
	found.Phone, found.UID = knownOr("phone", found.Phone), knownOr("uid", found.UID)
	for n, v := range found.Values {
		found.Values[n].Column = knownOr(v.Name, v.Column)
	}
	sub.Columns.Chosen, sub.Columns.Header = found, nil
	for _, name := range header {
		sub.Columns.Header = append(sub.Columns.Header, cut(name, maxHeader))
	}
}
