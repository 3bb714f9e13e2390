package sending

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// maxDownload is the maximum size in bytes of the lines of a download. Lambda's limit is 6 MB in base64.
const maxDownload = 4_000_000

// leftOut downloads the lines that get no message, in the CSV format of Brazilian spreadsheets.
func (s *Pages) leftOut(p *web.Page) error {
	sub, err := s.inPath(p)
	if err != nil {
		return err
	}
	if !(view{Submission: sub}).Reviewed() || sub.Check.Findings.LeftOut() == 0 { // the columns may be those of another check
		return campaign.ErrNotFound
	}
	header := append([]string{p.T("sending.line"), p.T("sending.problem")}, usedColumns(sub)...)
	file := campaign.AppendRow([]byte("\ufeff"), ';', header...)
	for l, err := range s.Intake.LeftOut(p.R.Context(), sub) {
		if err != nil {
			return err
		}
		row := campaign.AppendRow(nil, ';', slices.Concat([]string{strconv.Itoa(l.Line), problem(p, l)}, cellsOf(sub, l))...)
		if len(file)+len(row) > maxDownload { // a line alone may have a megabyte
			file = campaign.AppendRow(file, ';', "", p.T("imports.more_lines"))
			break
		}
		file = append(file, row...)
	}
	return download(p, "imports.left_out_file", file)
}

func download(p *web.Page, nameKey string, file []byte) error {
	p.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	p.W.Header().Set("Content-Disposition", `attachment; filename="`+p.T(nameKey)+`"`)
	if _, err := p.W.Write(file); err != nil {
		return fmt.Errorf("write a CSV file: %w", err)
	}
	return nil
}

// usedColumns returns the names of the columns whose values the messages have.
func usedColumns(sub submission.Submission) []string {
	names := []string{sub.Columns.Header[sub.Columns.Phone], sub.Columns.Header[sub.Columns.UID]}
	for _, v := range sub.Columns.Values {
		names = append(names, sub.Columns.Header[v.Column])
	}
	return names
}

func cellsOf(sub submission.Submission, l submission.LeftOut) []string {
	cells := []string{l.Phone, l.UID}
	for _, v := range sub.Columns.Values {
		cells = append(cells, l.Vars[v.Name])
	}
	return cells
}

func problem(p *web.Page, l submission.LeftOut) string {
	switch l.Kind {
	case submission.KindRepeated:
		return p.T("imports.problem.repeated")
	case submission.KindInvalid:
		if shortened(l.Phone) {
			return p.T("imports.problem.shortened")
		}
		return p.Known("rejection."+l.Code, l.Code)
	case submission.KindFaulty:
	}
	return faultOf(p, l.Code, l.Column)
}

// shortened reports whether a spreadsheet has changed a number to a form like
// 5,51199E+12.
func shortened(number string) bool {
	mantissa, exponent, found := strings.Cut(strings.ToUpper(number), "E+")
	digits := "0123456789"
	return found && strings.Trim(mantissa, digits+".,") == "" && exponent != "" && strings.Trim(exponent, digits) == ""
}

func (view) Problem(p *web.Page, f submission.LineFault) string { return faultOf(p, f.Code, f.Column) }

func faultOf(p *web.Page, code, column string) string {
	if key := "imports.problem." + code; p.Has(key) {
		return p.T(key, column)
	}
	return p.Known("refusal."+code, code)
}
