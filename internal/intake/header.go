package intake

import (
	"context"
	"errors"
	"io"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/recipients"
)

const (
	// firstLines is the number of lines that a person sees when they confirm the columns.
	firstLines = 3
	// maxCell and maxHeader are the maximum number of characters of a cell and of a column's
	// name that are stored.
	maxCell   = 40
	maxHeader = 200
)

// readHeader reads the columns of a file and finds the values in them.
func (w *Worker) readHeader(ctx context.Context, i campaign.Import) error {
	starting, cancel := withMargin(ctx)
	defer cancel()
	file, size, err := w.Open(ctx, i.Blob(), i.Tag)
	if err != nil {
		return fileFault(err)
	}
	rows, err := recipients.Open(starting, file, size)
	if err != nil {
		return readFault(ctx, starting, err)
	}
	if slices.ContainsFunc(rows.Columns, isNumber) {
		return &fault{code: faultNoHeader}
	}
	t, err := w.Store.Template(ctx, i.TemplateID)
	if errors.Is(err, campaign.ErrNotFound) {
		return &fault{code: faultTemplateGone}
	}
	if err != nil {
		return err
	}
	known, err := w.Store.KnownColumns(ctx, i.Tenant)
	if err != nil {
		return err
	}
	if i.First, err = first(rows); err != nil {
		return readFault(ctx, starting, err)
	}
	match(&i, rows.Columns, t.Variables(), known)
	i.State = campaign.ImportColumns
	_, err = w.Store.SaveImport(ctx, i)
	return err
}

// isNumber reports whether a column's name is a phone number: the file begins with a person.
func isNumber(name string) bool {
	_, rejection := phone.Parse([]byte(phone.Tidy(name)))
	return rejection == nil
}

// first returns the first lines of a file.
func first(rows *recipients.File) (lines [][]string, err error) {
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

// match sets the columns of an import: those of a name that the tenant has confirmed before,
// and else by their names.
func match(i *campaign.Import, header, variables []string, known map[string]string) {
	found := recipients.Match(header, variables)
	knownOr := func(value string, column int) int {
		name, ok := known[value]
		if !ok || slices.Contains(header, value) {
			return column
		}
		if at := slices.IndexFunc(header, func(c string) bool { return recipients.Fold(c) == name }); at >= 0 {
			return at
		}
		return column
	}
	i.Phone, i.UID, i.Values = knownOr("phone", found.Phone), knownOr("uid", found.UID), nil
	for _, v := range found.Values {
		i.Values = append(i.Values, campaign.ImportColumn{Name: v.Name, Column: knownOr(v.Name, v.Column)})
	}
	i.Header = nil
	for _, name := range header {
		i.Header = append(i.Header, cut(name, maxHeader))
	}
}
