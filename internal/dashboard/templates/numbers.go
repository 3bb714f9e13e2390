package templates

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/phone"
)

const numbersPath = Path + "/test-numbers"

const maxNumberName = 60 // characters

type numbers struct {
	All         []account.TestNumber
	Name, Phone string // entered
	Fault       string // the reason for a refusal
}

func (n numbers) Full() bool { return len(n.All) >= account.MaxTestNumbers }

func (s *Pages) numbers(p *web.Page) error { return s.showNumbers(p, http.StatusOK, numbers{}) }

func (s *Pages) showNumbers(p *web.Page, status int, n numbers) error {
	saved, err := s.Store.TestNumbers(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	n.All = saved.All
	return p.RenderStatus(status, "templates.numbers", "template_numbers.html", n)
}

func (s *Pages) saveNumber(p *web.Page) error {
	n := numbers{Name: p.Field("name"), Phone: p.Field("phone")}
	_, fault, err := s.keepNumber(p, n.Name, n.Phone)
	if err != nil {
		return err
	}
	if n.Fault = fault.text; n.Fault != "" {
		return s.showNumbers(p, fault.status, n)
	}
	return p.Done(numbersPath, "templates.numbers_saved")
}

// saveForTest saves a number from the page of a template, and chooses it there for the test.
func (s *Pages) saveForTest(p *web.Page, t campaign.Template, f testForm) error {
	f.New = numbers{Name: p.Field("name"), Phone: p.Field("number")}
	one, fault, err := s.keepNumber(p, f.New.Name, f.New.Phone)
	switch {
	case err != nil:
		return err
	case fault.text != "":
		f.New.Fault = fault.text
		return s.render(p, fault.status, t, f)
	case !p.Partial():
		return p.Done(linkOf(t)+"#test", "templates.numbers_saved")
	}
	f.New, f.To, f.Kept = numbers{}, append(f.To, one.Phone), one.Name
	return s.render(p, http.StatusOK, t, f)
}

// fault is why a number is not saved. The text is "" if it is.
type fault struct {
	status int
	text   string
}

// keepNumber saves a number. One that is saved under another name keeps it.
func (s *Pages) keepNumber(p *web.Page, name, entered string) (one account.TestNumber, _ fault, err error) {
	number, rejection := phone.ParseTyped(entered)
	switch {
	case name == "" || utf8.RuneCountInString(name) > maxNumberName:
		return one, fault{http.StatusUnprocessableEntity, p.T("templates.number_name", p.Number(maxNumberName))}, nil
	case rejection != nil:
		return one, fault{http.StatusUnprocessableEntity, p.Rejection(rejection)}, nil
	}
	one = account.TestNumber{Name: name, Phone: "+" + strconv.FormatUint(uint64(number), 10)}
	var full string
	err = s.changeNumbers(p, "template.number_save", one.Name, func(all []account.TestNumber) []account.TestNumber {
		at := slices.IndexFunc(all, func(t account.TestNumber) bool { return t.Phone == one.Phone })
		switch {
		case at >= 0 && all[at] == one: // a repeated form
		case at >= 0:
			full = p.T("templates.number_known", all[at].Name)
		case len(all) >= account.MaxTestNumbers:
			full = p.T("templates.number_many", p.Number(account.MaxTestNumbers))
		default:
			return append(all, one)
		}
		return all
	})
	return one, fault{http.StatusConflict, full}, err
}

// deleteNumber deletes a saved number. It can be repeated.
func (s *Pages) deleteNumber(p *web.Page) error {
	gone := p.Field("phone")
	err := s.changeNumbers(p, "template.number_delete", p.Field("name"), func(all []account.TestNumber) []account.TestNumber {
		return slices.DeleteFunc(all, func(t account.TestNumber) bool { return t.Phone == gone })
	})
	if err != nil {
		return err
	}
	return p.Done(numbersPath, "templates.numbers_saved")
}

// changeNumbers changes the saved numbers, again after a concurrent change.
func (s *Pages) changeNumbers(p *web.Page, action, name string, change func(all []account.TestNumber) []account.TestNumber) error {
	for {
		saved, err := s.Store.TestNumbers(p.R.Context(), p.Session.Tenant)
		if err != nil {
			return err
		}
		next := change(slices.Clone(saved.All))
		if slices.Equal(next, saved.All) {
			return nil
		}
		saved.All = next
		err = s.Store.SaveTestNumbers(p.R.Context(), p.Session.Tenant, saved, p.AuditEntry(numbersPath, action, name))
		if !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
}

type savedNumber struct {
	account.TestNumber
	Chosen bool
}

func (n savedNumber) Ending() string {
	const digits = 4
	return n.Phone[max(0, len(n.Phone)-digits):]
}

func (s *Pages) offerNumbers(p *web.Page, f *testForm) error {
	saved, err := s.Store.TestNumbers(p.R.Context(), p.Session.Tenant)
	for _, n := range saved.All {
		f.Saved = append(f.Saved, savedNumber{n, slices.Contains(f.To, n.Phone)})
	}
	return err
}
