package lists

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy/suppression"
	"campaign-dispatch/internal/privacy/suppression/book"
)

type showPage struct {
	row

	Form    form
	Phone   string // searched number
	Found   string // text key of what the search found
	Columns []string
	Faults  faults
	Once    string
}

// faults are text keys of the errors of the page's forms.
type faults struct{ Settings, File, Search string }

func (s *Pages) show(p *web.Page, l suppression.List) error {
	return s.showList(p, http.StatusOK, l, showPage{Form: formOf(l)})
}

func (s *Pages) showList(p *web.Page, status int, l suppression.List, v showPage) error {
	v.row, v.Once = s.row(l), web.FormToken()
	if v.Form.Name == "" {
		v.Form = formOf(l)
	}
	return p.RenderStatus(status, "lists.one_title", "lists_show.html", v)
}

func (s *Pages) save(p *web.Page, l suppression.List) error {
	f := readForm(p)
	f.Name = l.Name
	settings, fault := f.settings()
	if fault != "" {
		return s.showList(p, http.StatusUnprocessableEntity, l, showPage{Form: f, Faults: faults{Settings: fault}})
	}
	if err := s.change(p, l, book.Change{Settings: &settings}, "list.put"); err != nil {
		return err
	}
	return p.Done(Path+"/"+l.Name, "lists.done.saved")
}

func (s *Pages) change(p *web.Page, l suppression.List, c book.Change, action string) error {
	_, err := s.Book.Change(p.R.Context(), p.Session.Tenant, l.Name, c, p.AuditEntry(Path+"/"+l.Name, action, l.Name))
	return err
}

// upload adds the numbers of a file to the list, removes them from it, or replaces all, once for each form.
func (s *Pages) upload(p *web.Page, l suppression.List) error {
	refused := func(fault string, columns []string) error {
		return s.showList(p, http.StatusUnprocessableEntity, l, showPage{Columns: columns, Faults: faults{File: fault}})
	}
	file, header, err := p.R.FormFile("file")
	if err != nil {
		return refused("lists.fault.file", nil)
	}
	defer file.Close()
	read, fault := readNumbers(p.R.Context(), file, header.Size, p.Field("column"))
	if fault != "" {
		return refused(fault, read.columns)
	}
	if err := web.UseForm(p, "lists.used", Path+"/"+l.Name, "lists.one_title"); err != nil {
		return err
	}
	c, action := book.Change{Add: read.numbers}, "list.add"
	switch p.Field("mode") {
	case "replace":
		c.Replace, action = true, "list.replace"
	case "remove":
		c, action = book.Change{Remove: read.numbers}, "list.remove"
	}
	if err := s.change(p, l, c, action); err != nil {
		if fault := web.FaultOf("lists.fault.", err); fault != "" {
			return refused(fault, nil)
		}
		return err
	}
	return p.Done(Path+"/"+l.Name, "lists.done.imported", p.Number(len(read.numbers)), p.Number(read.skipped))
}

// content is what a file has.
type content struct {
	columns []string
	numbers numberset.Set
	skipped int // lines without a valid number
}

// readNumbers returns the numbers in a column of a CSV file or an Excel workbook: that of the name, or the
// one that looks like phone numbers. fault is the key of a text if the file cannot be used.
func readNumbers(ctx context.Context, file io.ReaderAt, size int64, column string) (c content, fault string) {
	f, err := sheet.Open(ctx, file, size)
	if err != nil {
		return c, "lists.fault.unreadable"
	}
	at := slices.Index(f.Columns, column)
	if column == "" {
		at = sheet.Match(f.Columns, nil).Phone
	}
	if at < 0 && len(f.Columns) == 1 {
		at = 0
	}
	if at < 0 {
		c.columns = f.Columns
		return c, "lists.fault.column"
	}
	var numbers []e164.Number
	if len(f.Columns) == 1 { // a file of one column may have no header
		numbers = appendNumber(numbers, f.Columns[0])
	}
	for {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c, "lists.fault.unreadable"
		}
		before := len(numbers)
		if numbers = appendNumber(numbers, row.Cell(at)); len(numbers) == before {
			c.skipped++
		}
	}
	if c.numbers = numberset.New(numbers); len(c.numbers) == 0 {
		return c, "lists.fault.no_numbers"
	}
	return c, ""
}

func appendNumber(numbers []e164.Number, text string) []e164.Number {
	n, rejection := phone.Parse([]byte(phone.Tidy(text)))
	if rejection != nil {
		return numbers
	}
	return append(numbers, n)
}

// search says whether a number is on the list.
func (s *Pages) search(p *web.Page, l suppression.List) error {
	v := showPage{Phone: p.Field("phone")}
	n, rejection := phone.Parse([]byte(phone.Tidy(v.Phone)))
	if rejection != nil {
		v.Faults.Search = "lists.fault.phone"
		return s.showList(p, http.StatusUnprocessableEntity, l, v)
	}
	numbers, err := s.Book.Numbers(p.R.Context(), l)
	if err != nil {
		return err
	}
	v.Phone, v.Found = n.String(), "lists.not_found"
	if _, found := slices.BinarySearch(numbers, uint64(n)); found {
		v.Found = "lists.found"
	}
	return s.showList(p, http.StatusOK, l, v)
}

// maxExported is the maximum number of numbers in a file: about 4 MB of Lambda's 6 MB.
const maxExported = 250_000

func (s *Pages) export(p *web.Page, l suppression.List) error {
	numbers, err := s.Book.Numbers(p.R.Context(), l)
	if err != nil {
		return err
	}
	if len(numbers) > maxExported {
		return &web.Refusal{Status: http.StatusConflict, Key: "lists.fault.too_long", To: Path + "/" + l.Name, ToKey: "lists.one_title"}
	}
	if err := p.AuditOn(Path+"/"+l.Name, "list.export", l.Name, strconv.Itoa(len(numbers))); err != nil {
		return err
	}
	file := campaign.AppendRow(nil, web.CSVSeparator, p.T("lists.phone"))
	for _, n := range numbers {
		file = campaign.AppendRow(file, web.CSVSeparator, e164.Number(n).String())
	}
	return p.CSV("lists.file_name", file)
}

// delete deletes the list, if its name was entered as a confirmation.
func (s *Pages) delete(p *web.Page, l suppression.List) error {
	if p.Field("confirm") == "" {
		return s.show(p, l)
	}
	err := s.Book.Delete(p.R.Context(), p.Session.Tenant, l.Name, p.AuditEntry("", "list.delete", l.Name))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	return p.Done(Path, "lists.done.deleted")
}
