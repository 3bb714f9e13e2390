package lists

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach/lists"
)

type showPage struct {
	row

	Form   form
	Phone  string // searched number
	Found  string // text key of what the search found
	Hint   string // why the searched number gets no messages anyway
	Faults faults
	Upload web.Upload
}

// faults are text keys of the errors of the page's forms.
type faults struct{ Settings, File, Search string }

func (s *Pages) show(p *web.Page, l lists.List) error {
	return s.showList(p, http.StatusOK, l, showPage{Form: formOf(l)})
}

func (s *Pages) showList(p *web.Page, status int, l lists.List, v showPage) error {
	v.row = s.row(l)
	if p.Admin() {
		var err error
		if v.Upload, err = s.uploads(l).Field(p); err != nil {
			return err
		}
	}
	if v.Form.Name == "" {
		v.Form = formOf(l)
	}
	return p.RenderStatus(status, "lists.one_title", "lists_show.html", v)
}

func (s *Pages) save(p *web.Page, l lists.List) error {
	f := readForm(p)
	f.Name = l.Name
	settings, fault := f.settings(l.Settings, s.Now())
	if fault != "" {
		return s.showList(p, http.StatusUnprocessableEntity, l, showPage{Form: f, Faults: faults{Settings: fault}})
	}
	err := s.change(p, l, lists.Change{Settings: &settings}, "list.put")
	if fault = web.FaultOf("lists.fault.", err); fault != "" {
		return s.showList(p, http.StatusConflict, l, showPage{Form: f, Faults: faults{Settings: fault}})
	}
	if err != nil {
		return err
	}
	return p.Done(pathOf(l), "lists.done.saved")
}

// change changes the list that the form was opened for.
func (s *Pages) change(p *web.Page, l lists.List, c lists.Change, action string) error {
	if p.Stale(strconv.Itoa(l.Version)) {
		return lists.ErrChanged
	}
	c.Version = &l.Version
	_, err := s.Book.Change(p.R.Context(), p.Session.Tenant, l.Name, c, p.AuditEntry(pathOf(l), action, l.Name))
	return err
}

// search says whether a number is on the list. An earlier release saved numbers as they were written. Those that
// dispatch refuses or reads otherwise hold nothing back.
func (s *Pages) search(p *web.Page, l lists.List) error {
	v := showPage{Phone: p.Field("phone")}
	sought, found := phone.Seek(v.Phone)
	if !found {
		v.Faults.Search = "lists.fault.phone"
		return s.showList(p, http.StatusUnprocessableEntity, l, v)
	}
	if _, rejection := phone.ParseTyped(v.Phone); rejection != nil && sought.Valid == 0 {
		v.Hint = p.Rejection(rejection)
	}
	v.Phone, v.Found = sought.String(), "lists.not_found"
	for _, n := range slices.Backward(sought.Numbers) { // the valid number comes first, and decides
		on, err := s.Book.Has(p.R.Context(), l, uint64(n))
		if err != nil {
			return err
		}
		if on {
			v.Phone, v.Found = n.String(), foundKey(n == sought.Valid)
		}
	}
	return s.showList(p, http.StatusOK, l, v)
}

func foundKey(valid bool) string {
	if valid {
		return "lists.found"
	}
	return "lists.found_as_written"
}

// maxExported is the maximum number of numbers in a file: about 4 MB of Lambda's 6 MB.
const maxExported = 250_000

func (s *Pages) export(p *web.Page, l lists.List) error {
	numbers, err := s.Book.Numbers(p.R.Context(), l)
	if err != nil {
		return err
	}
	if len(numbers) > maxExported {
		return &web.Refusal{Status: http.StatusConflict, Key: "lists.fault.too_long", To: pathOf(l), ToKey: "lists.one_title"}
	}
	if err := p.AuditOn(pathOf(l), "list.export", l.Name); err != nil {
		return err
	}
	file := campaign.AppendRow(nil, web.CSVSeparator, p.T("lists.phone"))
	for _, n := range numbers {
		file = campaign.AppendRow(file, web.CSVSeparator, e164.Number(n).String())
	}
	return p.CSV("lists.file_name", file)
}

// delete deletes the list, if it was confirmed.
func (s *Pages) delete(p *web.Page, l lists.List) error {
	if p.Field("confirm") == "" {
		return s.show(p, l)
	}
	err := s.Book.Delete(p.R.Context(), p.Session.Tenant, l.Name, p.AuditEntry("", "list.delete", l.Name))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	return p.Done(Path, "lists.done.deleted")
}
