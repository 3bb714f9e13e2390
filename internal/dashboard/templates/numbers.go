package templates

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/settings/account"
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

// saveNumber saves a number. One that is saved under another name keeps it.
func (s *Pages) saveNumber(p *web.Page) error {
	n := numbers{Name: p.Field("name"), Phone: p.Field("phone")}
	number, rejection := phone.Parse([]byte(phone.Tidy(n.Phone)))
	switch {
	case n.Name == "" || utf8.RuneCountInString(n.Name) > maxNumberName:
		n.Fault = p.T("templates.number_name", p.Number(maxNumberName))
	case rejection != nil:
		n.Fault = p.Known("rejection."+rejection.Code, rejection.Reason)
	}
	if n.Fault != "" {
		return s.showNumbers(p, http.StatusUnprocessableEntity, n)
	}
	one := account.TestNumber{Name: n.Name, Phone: "+" + strconv.FormatUint(uint64(number), 10)}
	done, err := s.changeNumbers(p, "template.number_save", one.Name, func(all []account.TestNumber) []account.TestNumber {
		at := slices.IndexFunc(all, func(t account.TestNumber) bool { return t.Phone == one.Phone })
		switch {
		case at >= 0 && all[at] == one: // a repeated form
			return all
		case at >= 0:
			n.Fault = p.T("templates.number_known", all[at].Name)
		case len(all) >= account.MaxTestNumbers:
			n.Fault = p.T("templates.number_many", p.Number(account.MaxTestNumbers))
		default:
			return append(all, one)
		}
		return nil
	})
	if err != nil || done {
		return err
	}
	return s.showNumbers(p, http.StatusConflict, n)
}

// deleteNumber deletes a saved number. It can be repeated.
func (s *Pages) deleteNumber(p *web.Page) error {
	gone := p.Field("phone")
	_, err := s.changeNumbers(p, "template.number_delete", p.Field("name"), func(all []account.TestNumber) []account.TestNumber {
		return append([]account.TestNumber{}, slices.DeleteFunc(all, func(t account.TestNumber) bool { return t.Phone == gone })...)
	})
	return err
}

// changeNumbers changes the saved numbers, again after a concurrent change, and redirects. It
// returns false if change returns nil.
func (s *Pages) changeNumbers(p *web.Page, action, name string, change func(all []account.TestNumber) []account.TestNumber) (bool, error) {
	for {
		saved, err := s.Store.TestNumbers(p.R.Context(), p.Session.Tenant)
		if err != nil {
			return false, err
		}
		next := change(slices.Clone(saved.All))
		if next == nil {
			return false, nil
		}
		if slices.Equal(next, saved.All) { // a repeated form
			return true, p.Done(numbersPath, "templates.numbers_saved")
		}
		if err := p.AuditOn(numbersPath, action, name); err != nil {
			return false, err
		}
		saved.All = next
		err = s.Store.SaveTestNumbers(p.R.Context(), p.Session.Tenant, saved)
		if errors.Is(err, campaign.ErrLostRace) {
			continue
		}
		if err != nil {
			return false, err
		}
		return true, p.Done(numbersPath, "templates.numbers_saved")
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

// recipients returns the numbers that a test goes to: the entered one, and the chosen ones of
// the saved numbers.
func (s *Pages) recipients(p *web.Page, f testForm) (all []string, err error) {
	if f.Phone != "" {
		all = append(all, phone.Tidy(f.Phone))
	}
	if len(f.To) == 0 {
		return all, nil
	}
	saved, err := s.Store.TestNumbers(p.R.Context(), p.Session.Tenant)
	for _, n := range saved.All {
		if slices.Contains(f.To, n.Phone) && !slices.ContainsFunc(all, func(one string) bool { return sameNumber(one, n.Phone) }) {
			all = append(all, n.Phone)
		}
	}
	return all, err
}

func sameNumber(a, b string) bool {
	first, wrong := phone.Parse([]byte(a))
	second, alsoWrong := phone.Parse([]byte(b))
	return wrong == nil && alsoWrong == nil && first == second || strings.EqualFold(a, b)
}
