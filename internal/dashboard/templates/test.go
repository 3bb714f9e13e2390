package templates

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/phone"
)

type testForm struct {
	Once    string
	Phone   string
	To      []string      // the chosen ones of the saved numbers
	Saved   []savedNumber // by the tenant
	Values  map[string]string
	Fields  []field
	TooMany bool    // too many variables for one page
	Note    string  // reason for a refusal
	New     numbers // the number to save
	Kept    string  // whose number was saved now, or ""
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

func (s *Pages) test(p *web.Page, t campaign.Template) error {
	f := readTest(p, t)
	if p.Field("do") == "save-number" {
		return s.saveForTest(p, t, f)
	}
	if empty := f.empty(t.Variables()); len(empty) > 0 {
		f.Note = p.T("templates.test_empty", strings.Join(empty, ", "))
		return s.answerTest(p, t, f, nil)
	}
	to, err := s.recipients(p, f)
	if err != nil {
		return err
	}
	if len(to) == 0 {
		f.Note = p.T("templates.test_nobody")
		return s.answerTest(p, t, f, nil)
	}
	c := s.callOf(p, t, f, to)
	// The check finds a number that would be rejected, without storing anything.
	if f.Note, err = s.try(p, c); err != nil || f.Note != "" {
		return s.answerTest(p, t, f, err)
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
		return s.answerTest(p, t, f, nil)
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

func (s *Pages) previewTest(p *web.Page, t campaign.Template) error {
	f := readTest(p, t)
	if p.Partial() {
		return p.Fragment("template_sample.html", page{Sample: sampleOf(p, t, f)})
	}
	return s.render(p, http.StatusOK, t, f)
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
		return p.Rejection(&v.Rejected[0].Rejection), nil
	case len(v.InvalidURLs) > 0:
		return p.T("templates.test_invalid_url"), nil
	}
	return "", nil
}

func noteOf(p *web.Page, f dispatch.Fault) string { return p.Known("refusal."+f.Code, f.Detail) }

func (s *Pages) answerTest(p *web.Page, t campaign.Template, f testForm, err error) error {
	if err != nil {
		return err
	}
	return s.render(p, http.StatusUnprocessableEntity, t, f)
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

// recipients returns the numbers that a test goes to: the entered one, and the chosen ones of
// the saved numbers.
func (s *Pages) recipients(p *web.Page, f testForm) (all []string, err error) {
	if f.Phone != "" {
		all = append(all, phone.ReadTyped(f.Phone).Text)
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
