package templates

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/webui"
)

// testForm is a message that somebody sends to themselves.
type testForm struct {
	Phone  string
	Values map[string]string
	Fields []field
	Note   string // why it was refused
}

type field struct{ Name, Value string }

func (f testForm) fields(variables []string) (all []field) {
	for _, name := range variables {
		all = append(all, field{name, f.Values[name]})
	}
	return all
}

// empty are the variables without a value: as in a file, nobody is greeted without
// a name.
func (f testForm) empty(variables []string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(name string) bool { return f.Values[name] != "" })
}

// call is the dispatch call of a test: a campaign of one message.
type call struct {
	CampaignID string    `json:"campaignId"`
	Name       string    `json:"name"`
	TemplateID string    `json:"templateId"`
	Batch      string    `json:"batch"`
	Messages   []message `json:"messages"`
}

type message struct {
	Phone string            `json:"phone"`
	UID   string            `json:"uid"`
	Vars  map[string]string `json:"vars"`
}

// test sends the template to one number.
func (s *Pages) test(p *webui.Page) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
	f := readTest(p, t)
	if empty := f.empty(t.Variables()); len(empty) > 0 {
		f.Note = p.T("templates.test_empty", strings.Join(empty, ", "))
		return s.answerTest(p, f, nil)
	}
	c, err := s.callOf(p, t, f)
	if err != nil {
		return err
	}
	// A dry run finds a number that would be rejected: nothing is kept of it then.
	if f.Note, err = s.ask(p, c, true); err != nil || f.Note != "" {
		return s.answerTest(p, f, err)
	}
	if err := p.Audit("template.test", t.Name); err != nil {
		return err
	}
	if f.Note, err = s.ask(p, c, false); err != nil || f.Note != "" {
		return s.answerTest(p, f, err)
	}
	return p.Redirect(webui.Root + "/campaigns/" + c.CampaignID)
}

func (s *Pages) answerTest(p *webui.Page, f testForm, err error) error {
	if err != nil {
		return err
	}
	return s.render(p, http.StatusUnprocessableEntity, f)
}

func readTest(p *webui.Page, t campaign.Template) testForm {
	f := testForm{Phone: p.Field("phone"), Values: map[string]string{}}
	for _, name := range t.Variables() {
		f.Values[name] = p.Field("var." + name)
	}
	return f
}

func (s *Pages) callOf(p *webui.Page, t campaign.Template, f testForm) (call, error) {
	id, err := s.uuid()
	now := s.Now()
	return call{
		CampaignID: id, TemplateID: t.ID, Batch: p.T("templates.test_batch"),
		Name:     p.T("templates.test_name", t.Name, p.When(now)+now.Format(":05")),
		Messages: []message{{Phone: phone.Tidy(f.Phone), UID: "teste", Vars: f.Values}},
	}, err
}

// verdict is what the pages read of an answer to a dispatch call.
type verdict struct {
	Errors   []struct{ Code, Detail string }
	Feedback struct {
		InvalidPhones []struct{ Code, Reason string }
	}
}

// ask makes the call and returns why it was refused, "" where it was not.
func (s *Pages) ask(p *webui.Page, c call, dryRun bool) (note string, err error) {
	body, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("write a test's call: %w", err)
	}
	answer, err := s.Dispatch.Dispatch(p.R.Context(), p.Session.Tenant, p.Base, body, nil, dryRun)
	if problem, ok := errors.AsType[*gateway.Problem](err); ok && problem.Status < http.StatusInternalServerError {
		return p.Known("refusal."+problem.Code, problem.Detail), nil
	}
	if err != nil {
		return "", err
	}
	var v verdict
	if err := json.Unmarshal(answer, &v); err != nil {
		return "", fmt.Errorf("read the answer to a test: %w", err)
	}
	for _, e := range v.Errors {
		return p.Known("refusal."+e.Code, e.Detail), nil
	}
	for _, r := range v.Feedback.InvalidPhones {
		return p.Known("rejection."+r.Code, r.Reason), nil
	}
	return "", nil
}

// uuid returns a random UUID, version 4.
func (s *Pages) uuid() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(s.Random, b[:]); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}
