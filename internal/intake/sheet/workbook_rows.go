package sheet

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/intake/sheet/numberformat"
	"campaign-dispatch/internal/phone"
)

// HiddenRow is the code of a row that nobody sees in the workbook.
const HiddenRow = "hidden_row"

// bookRow is a row of a workbook.
type bookRow struct {
	line   int
	hidden bool
	cells  []string
	plain  []string // the numbers of the cells with a format for numbers, as they are written; shorter than cells
	failed bool     // whether a cell has an error like #N/A, or a formula without a result: it shows nothing here
}

// isHidden reports whether a person cannot see a row: a filter or a person hides it, or it has no height. A sheet that
// hides all rows that are not written shows those that are.
func isHidden(row xml.StartElement) bool {
	height, err := strconv.ParseFloat(attribute(row, "ht"), 64)
	return isTrue(attribute(row, "hidden")) || err == nil && height == 0
}

const maxAhead = 100 // hidden rows before the header

// findHeader reads ahead up to the first row that a person sees: it is the header. Hidden rows before it follow it. If
// there are only hidden ones, or too many, the first of them is the header.
func (w *workbook) findHeader() error {
	const header = 16 // of a string
	for size := 0; len(w.ahead) < maxAhead && size < maxRecord; size += w.size + header*len(w.cells) {
		_, cells, err := w.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) {
			continue
		}
		row := bookRow{w.line, w.hidden, slices.Clone(w.cells), slices.Clone(w.plain), w.failed}
		if !w.hidden {
			w.ahead = slices.Insert(w.ahead, 0, row)
			break
		}
		w.ahead = append(w.ahead, row)
	}
	if len(w.ahead) > 0 { // a person in the first line is known by the number
		for i, plain := range w.ahead[0].plain {
			w.ahead[0].cells[i] = identifier(w.ahead[0].cells[i], numberformat.Plain(plain))
		}
	}
	return nil
}

// mark adds to a row what the last row of the workbook has but its cells.
func (w *workbook) mark(r *Row) {
	r.plain = slices.Clone(w.plain)
	if w.hidden && !w.withHidden {
		r.Fault = HiddenRow
	}
}

// ID returns the cell of a column as a phone number or the code of a customer. What the spreadsheet shows can be another
// number: 5,51E+12 for 5511987654321. So it is what it shows only if that has all digits.
func (r Row) ID(column int) string { return identifier(r.Cell(column), r.Plain(column)) }

// Plain returns the number of a cell with a format for numbers, "" for other cells.
func (r Row) Plain(column int) string {
	if column >= 0 && column < len(r.plain) {
		return numberformat.Plain(r.plain[column])
	}
	return ""
}

// Contains reports whether a cell has a text, as the spreadsheet shows it or without its format.
func (r Row) Contains(has func(text string) bool) bool {
	return slices.ContainsFunc(r.Cells, has) ||
		slices.ContainsFunc(r.plain, func(number string) bool { return has(numberformat.Plain(number)) })
}

func identifier(shown, plain string) string {
	grouped := strings.ReplaceAll(shown, ".", "") == plain
	if plain == "" || !grouped && strings.HasSuffix(phone.Digits(shown), phone.Digits(plain)) {
		return shown
	}
	return plain
}

// Chosen returns a *submission.Fault for a workbook of which a person has to choose a sheet, for readers that cannot ask.
func (f *File) Chosen(sheet string) error {
	if sheet == "" && len(f.Sheets) > 1 {
		return broken("sheets", strings.Join(f.Sheets, ", "))
	}
	return nil
}
