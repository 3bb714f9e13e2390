package templates

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/settings/account"
)

type testForm struct {
	Once    string
	Phone   string
	To      []string      // the chosen ones of the saved numbers
	Saved   []savedNumber // by the tenant
	Values  map[string]string
	Fields  []field
	TooMany bool   // too many variables for one page
	Note    string // reason for a refusal
}

type field struct{ Name, Value string }

const (
	// fieldWeight is the size in bytes of a field without its variable's name, which
	// occurs twice. fieldsWeight is the maximum for all fields.
	fieldWeight  = 130
	fieldsWeight = 6000
	// valuesWeight is the maximum size in bytes of the repeated input.
	valuesWeight = 3000
	// phoneNumberWeight is the maximum size in bytes of a number.
	phoneNumberWeight = 60
)

func (f *testForm) fill(variables []string) {
	f.Phone = web.Short(f.Phone, phoneNumberWeight)
	room, left := fieldsWeight, valuesWeight
	for _, name := range variables {
		value := f.Values[name]
		room -= fieldWeight + 2*web.Weight(name)
		if left -= web.Weight(value); left < 0 {
			value = ""
		}
		f.Fields = append(f.Fields, field{name, value})
	}
	if room < 0 {
		f.Fields, f.TooMany = nil, true
	}
}

// empty returns the variables without a value.
func (f testForm) empty(variables []string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(name string) bool { return f.Values[name] != "" })
}

func (s *Pages) test(p *web.Page) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
	f := readTest(p, t)
	if empty := f.empty(t.Variables()); len(empty) > 0 {
		f.Note = p.T("templates.test_empty", strings.Join(empty, ", "))
		return s.answerTest(p, f, nil)
	}
	to, err := s.recipients(p, f)
	if err != nil {
		return err
	}
	if len(to) == 0 {
		f.Note = p.T("templates.test_nobody")
		return s.answerTest(p, f, nil)
	}
	c := s.callOf(p, t, f, to)
	// The check finds a number that would be rejected, without storing anything.
	if f.Note, err = s.try(p, c); err != nil || f.Note != "" {
		return s.answerTest(p, f, err)
	}
	if err := web.UseForm(p, "templates.test_used", linkOf(t), "templates.back"); err != nil {
		return err
	}
	if err := p.AuditOn(linkOf(t), "template.test", t.Name); err != nil {
		return err
	}
	_, err = s.Dispatch.Accept(p.R.Context(), c)
	if refusal, refused := errors.AsType[*dispatch.Refusal](err); refused {
		f.Note = noteOf(p, refusal.Faults[0])
		return s.answerTest(p, f, nil)
	}
	if err != nil {
		return err
	}
	return p.Done(web.CampaignPath(c.CampaignID), "templates.test_sent", t.Name)
}

// sample is the preview of a test message. Variables without a value appear by name.
type sample struct {
	Template campaign.Template
	Phone    preview.Phone
	Cut      bool // the preview is cut
	Invalid  bool // a URL is not https with these values
}

func sampleOf(p *web.Page, t campaign.Template, f testForm) sample {
	names := t.Variables()
	values := make([]string, len(names))
	for i, name := range names {
		if values[i] = f.Values[name]; values[i] == "" {
			values[i] = "{{" + name + "}}"
		}
	}
	filled := t.Render(values)
	shown := sample{Template: t, Invalid: len(f.empty(names)) == 0 && filled.Unsendable() == content.CodeInvalidURL}
	shown.Phone, shown.Cut = web.Phone(p, filled, p.T("templates.preview_of", web.Short(t.Name, nameWeight)), phoneWeight)
	shown.Phone.Dark = p.R.PostForm.Has("dark")
	return shown
}

func (s *Pages) previewTest(p *web.Page) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
	f := readTest(p, t)
	if p.Partial() {
		return p.Fragment("template_sample.html", page{Sample: sampleOf(p, t, f)})
	}
	return s.render(p, http.StatusOK, f)
}

// try checks a test, and returns the reason for a refusal, or "".
func (s *Pages) try(p *web.Page, c dispatch.Call) (note string, err error) {
	v, err := s.Dispatch.Check(p.R.Context(), c)
	switch {
	case err != nil:
		return "", err
	case len(v.Faults) > 0:
		return noteOf(p, v.Faults[0]), nil
	case len(v.Rejected) > 0:
		return p.Known("rejection."+v.Rejected[0].Code, v.Rejected[0].Reason), nil
	case len(v.InvalidURLs) > 0:
		return p.T("templates.test_invalid_url"), nil
	}
	return "", nil
}

func noteOf(p *web.Page, f dispatch.Fault) string { return p.Known("refusal."+f.Code, f.Detail) }

func (s *Pages) answerTest(p *web.Page, f testForm, err error) error {
	if err != nil {
		return err
	}
	return s.render(p, http.StatusUnprocessableEntity, f)
}

func readTest(p *web.Page, t campaign.Template) testForm {
	f := testForm{Phone: p.Field("phone"), To: p.R.PostForm["to"], Values: map[string]string{}}
	for _, name := range t.Variables() {
		f.Values[name] = p.Field("var." + name)
	}
	return f
}

// callOf returns the dispatch call of a test: a campaign with a message to each number.
func (s *Pages) callOf(p *web.Page, t campaign.Template, f testForm, to []string) dispatch.Call {
	now := s.Now()
	c := dispatch.Call{
		ID: campaign.ID{Tenant: p.Session.Tenant, CampaignID: random.UUID()}, TemplateID: t.ID, Batch: p.T("templates.test_batch"),
		Name:            p.T("templates.test_name", t.Name, p.When(now)+now.Format(":05")),
		TemplateVersion: t.Version, Test: true,
	}
	for _, number := range to {
		c.Messages = append(c.Messages, dispatch.Message{Phone: number, UID: "teste", Vars: f.Values})
	}
	return c
}

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
