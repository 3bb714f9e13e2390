package imports_test

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/campaignupload"
	"campaign-dispatch/internal/dashboard/imports"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/httpapi/inputerr"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/recipients"
)

const (
	tenant   = "loja"
	id       = "0b6e8a52-7c1f-4d1a-9f3e-5d2c1b0a9e8f"
	template = "5f0c7a0e-1111-4222-8333-444455556666"
	path     = imports.Path + "/" + id
	hash     = "0f0f"
)

var noon = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

// company is a tenant with one import, whose service records what people decide.
type company struct {
	*webtest.Dashboard
	stored                    submission.Submission
	approval                  *campaign.Approval
	from, version             int
	text                      string // of the template
	checked                   recipients.Columns
	sent, cancelled, awaiting int
	late                      bool
	leftOut                   []submission.LeftOut
	dropped                   []string // drafts
	admin, author, approver   webtest.Person
}

func newCompany(t *testing.T, state submission.State) *company {
	t.Helper()
	c := &company{version: 1, text: "Oi {{nome}}", stored: submission.Submission{
		ID: campaign.ID{Tenant: tenant, CampaignID: id}, State: state, Name: "Natal", TemplateID: template, TemplateVersion: 1, File: submission.File{Name: "lista.csv"},
		Columns: submission.Columns{Header: []string{"Celular", "", "Nome"}, Phone: 0, UID: -1, Values: []submission.Column{{Name: "nome", Column: 2}}},
		Check:   submission.Check{Rows: 5, Parts: 1, Hash: hash, Findings: submission.Findings{Accepted: 3}},
	}}
	c.Dashboard = webtest.Serve(t, webtest.UI(t, func() time.Time { return noon }), imports.Area(), &imports.Pages{
		Store: c, Intake: c, Now: func() time.Time { return noon }, PartSize: 8 << 20,
		Origin: func(context.Context) (string, error) { return "https://bucket.example", nil },
		DropDraft: func(_ *web.Page, id string, version int) error {
			c.dropped = append(c.dropped, id+" "+strconv.Itoa(version))
			return nil
		},
	}, campaignupload.Area()) // the review has the texts of the form
	c.admin, c.author, c.approver = c.SignIn(tenant, web.RoleAdmin), c.SignIn(tenant, web.RoleAuthor), c.SignIn(tenant, web.RoleApprover)
	return c
}

func (c *company) Submissions(_ context.Context, of string) ([]submission.Submission, error) {
	if of != tenant {
		return nil, nil
	}
	return []submission.Submission{c.stored}, nil
}

func (c *company) Template(_ context.Context, of string) (campaign.Template, error) {
	if of != template {
		return campaign.Template{}, campaign.ErrNotFound
	}
	return campaign.Template{ID: template, Tenant: tenant, Version: c.version, Name: "Oi", Content: content.Content{Text: c.text}}, nil
}

func (c *company) TemplateVersion(ctx context.Context, of string, _ int) (campaign.Template, error) {
	return c.Template(ctx, of)
}
func (c *company) ApprovalFrom(context.Context, string) (int, error) { return c.from, nil }

func (c *company) Approval(context.Context, string, string) (campaign.Approval, error) {
	if c.approval == nil {
		return campaign.Approval{}, campaign.ErrNotFound
	}
	return *c.approval, nil
}

func (c *company) AskApproval(_ context.Context, a campaign.Approval) error {
	if c.approval == nil {
		c.approval = &a
	}
	return nil
}

func (c *company) SaveApproval(_ context.Context, a campaign.Approval, was campaign.ApprovalState) error {
	if c.approval.State != was {
		return campaign.ErrLostRace
	}
	c.approval = &a
	return nil
}

func (c *company) Tenant(context.Context, string) (campaign.Tenant, error) {
	return campaign.Tenant{}, campaign.ErrNotFound
}

func (c *company) Agent(context.Context, string) (campaign.Agent, error) {
	return campaign.Agent{}, campaign.ErrNotFound
}

func (c *company) Start(_ context.Context, asked submission.Submission) (submission.Submission, map[int]int64, error) {
	if asked.File.Size > submission.MaxSize {
		return asked, nil, &inputerr.Error{Code: "file_size"}
	}
	asked.CampaignID = id
	return asked, map[int]int64{2: 8 << 20}, nil
}

func (c *company) Submission(_ context.Context, of campaign.ID) (submission.Submission, error) {
	if of != c.stored.ID {
		return submission.Submission{}, campaign.ErrNotFound
	}
	return c.stored, nil
}

func (c *company) PartURL(_ context.Context, _ submission.Submission, part int) (string, error) {
	if part != 1 {
		return "", campaign.ErrNotFound
	}
	return "https://bucket.example/part", nil
}
func (c *company) Finish(context.Context, submission.Submission) error { return nil }

func (c *company) Check(_ context.Context, _ submission.Submission, columns recipients.Columns, _ campaign.Template) error {
	c.checked = columns
	return nil
}
func (c *company) TooLate(submission.Submission) bool { return c.late }

func (c *company) Send(_ context.Context, sub submission.Submission) error {
	c.sent++
	c.stored.State, c.stored.Approval.AskedBy = submission.StateSending, sub.Approval.AskedBy
	return nil
}

func (c *company) AwaitApproval(context.Context, submission.Submission) error {
	c.awaiting++
	c.stored.State = submission.StateApproval
	return nil
}

func (c *company) Discard(context.Context, submission.Submission) error {
	c.cancelled++
	c.stored.State = submission.StateDiscarded
	return nil
}

func (c *company) LeftOut(context.Context, submission.Submission) iter.Seq2[submission.LeftOut, error] {
	return func(yield func(submission.LeftOut, error) bool) {
		for _, l := range c.leftOut {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (c *company) Message(context.Context, submission.Submission, int) (int, map[string]string, error) {
	return 2, map[string]string{"nome": "Ana"}, nil
}

func (c *company) confirm(who webtest.Person, hash string) webtest.Answer {
	return who.Post(path+"/confirm", url.Values{"hash": {hash}})
}

func (c *company) decide(who webtest.Person, decision string) webtest.Answer {
	return who.Post(path+"/decide", url.Values{"hash": {hash}, "decision": {decision}, "reason": {"wrong"}})
}

func says(t *testing.T, a webtest.Answer, status int, texts ...string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("status %d, want %d", a.Status, status)
	}
	for _, text := range texts {
		if !strings.Contains(a.Text(), text) {
			t.Errorf("the page lacks %q:\n%s", text, a.Text())
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateColumns)
	says(t, c.author.Get(path), http.StatusOK, "Which column is which", "Column B", "In the text: nome")
	says(t, c.author.Post(path+"/columns", url.Values{"phone": {"0"}, "uid": {""}, "v0": {"7"}}), http.StatusUnprocessableEntity, "Choose a column for each field.")
	if a := c.author.Post(path+"/columns", url.Values{"phone": {"0"}, "uid": {"1"}, "v0": {"2"}}); a.Location != path {
		t.Errorf("chosen: %d to %q", a.Status, a.Location)
	}
	want := recipients.Columns{Phone: 0, UID: 1, Values: []recipients.Value{{Name: "nome", Column: 2}}}
	if diff := cmp.Diff(want, c.checked); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// The fields of the form are those of the template that the person saw.
func TestColumns_TemplateChanged(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Columns.UID = 1
	chosen := url.Values{"phone": {"0"}, "uid": {"1"}, "v0": {"2"}, "was": {"1"}}
	c.version, c.text = 2, "{{Celular}}, {{nome}}"
	says(t, c.author.Post(path+"/columns", chosen), http.StatusConflict, "Something has changed")
	if len(c.checked.Values) > 0 {
		t.Fatalf("the file is checked with %v", c.checked.Values)
	}
	says(t, c.author.Get(path), http.StatusOK, "In the text: Celular", "In the text: nome")
	c.author.Post(path+"/columns", url.Values{"phone": {"0"}, "uid": {"1"}, "v0": {"0"}, "v1": {"2"}, "was": {"2"}})
	if diff := cmp.Diff([]recipients.Value{{Name: "Celular", Column: 0}, {Name: "nome", Column: 2}}, c.checked.Values); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hash   string
		change func(c *company)
		status int
		sent   int
	}{
		"as reviewed":             {hash, func(*company) {}, http.StatusSeeOther, 1},
		"another file":            {"1e1e", func(*company) {}, http.StatusConflict, 0},
		"a template that changed": {hash, func(c *company) { c.version = 2 }, http.StatusConflict, 0},
		"too late":                {hash, func(c *company) { c.late = true }, http.StatusConflict, 0},
		"nobody to send to":       {hash, func(c *company) { c.stored.Check.Findings.Accepted = 0 }, http.StatusConflict, 0},
		"no budget":               {hash, func(c *company) { c.stored.Check.Findings.General = []string{"budget_exceeded"} }, http.StatusConflict, 0},
		"the rest after a stop":   {hash, func(c *company) { c.stored.State = submission.StateInterrupted }, http.StatusSeeOther, 1},
		"sent already":            {hash, func(c *company) { c.stored.State = submission.StateSent }, http.StatusSeeOther, 0},
		"discarded":               {hash, func(c *company) { c.stored.State = submission.StateDiscarded }, http.StatusSeeOther, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, submission.StateReady)
			test.change(c)
			first := c.confirm(c.author, test.hash)
			c.confirm(c.author, test.hash) // a double click
			if first.Status != test.status || c.sent != test.sent {
				t.Errorf("status %d and sent %d times, want %d and %d", first.Status, c.sent, test.status, test.sent)
			}
		})
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.from = 2
	says(t, c.author.Get(path), http.StatusOK, "Ask for approval")
	if a := c.confirm(c.admin, hash); a.Location != path || c.sent != 0 || c.awaiting != 1 || !c.approval.Import || c.approval.Hash != hash {
		t.Fatalf("asked: %d to %q, sent %d, %+v", a.Status, a.Location, c.sent, c.approval)
	}
	for name, test := range map[string]struct {
		answer webtest.Answer
		status int
	}{
		"who asked":       {c.decide(c.admin, "approve"), http.StatusForbidden},
		"an author":       {c.decide(c.author, "approve"), http.StatusForbidden},
		"another tenant":  {c.decide(c.SignIn("another", web.RoleAdmin), "approve"), http.StatusNotFound},
		"no decision":     {c.decide(c.approver, ""), http.StatusBadRequest},
		"another hash":    {c.approver.Post(path+"/decide", url.Values{"hash": {"x"}, "decision": {"approve"}}), http.StatusBadRequest},
		"an author again": {c.confirm(c.author, hash), http.StatusSeeOther},
	} {
		if test.answer.Status != test.status || c.sent > 0 {
			t.Errorf("%s: %d, want %d; sent %d", name, test.answer.Status, test.status, c.sent)
		}
	}
	says(t, c.approver.Get(path), http.StatusOK, "Approve and send to 3 people", "SHA-256")
	c.decide(c.approver, "approve")
	c.decide(c.approver, "approve")
	if c.sent != 1 || c.approval.State != campaign.ApprovalApproved || c.stored.Approval.AskedBy != c.admin.Session.Email {
		t.Errorf("approved: sent %d times, the request is %s, asked by %q", c.sent, c.approval.State, c.stored.Approval.AskedBy)
	}
}

// A request of an earlier check is there if the columns were chosen again at the same time.
func TestApproval_CheckedAgain(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.from, c.approval = 1, &campaign.Approval{Hash: "of another check", State: campaign.ApprovalWaiting}
	c.confirm(c.author, hash)
	if c.decide(c.approver, "approve"); c.sent != 1 || c.approval.Hash != hash {
		t.Errorf("sent %d times with the request %+v", c.sent, c.approval)
	}
}

func TestApproval_Refused(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.from = 1
	c.confirm(c.author, hash)
	says(t, c.approver.Post(path+"/decide", url.Values{"hash": {hash}, "decision": {"refuse"}}), http.StatusUnprocessableEntity, "reason")
	c.decide(c.approver, "refuse")
	if c.cancelled != 1 || c.sent != 0 || c.approval.State != campaign.ApprovalRefused {
		t.Errorf("refused: cancelled %d, sent %d, %s", c.cancelled, c.sent, c.approval.State)
	}
	says(t, c.author.Get(path), http.StatusOK, "wrong")
}

func TestUpload_Refusals(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateUploading)
	good := url.Values{"name": {"Natal"}, "template": {template}, "fileName": {"lista.csv"}, "size": {"7"}}
	for name, test := range map[string]struct {
		field, value, want string
	}{
		"accepted":           {"name", "Natal", `{"id":"` + id + `","parts":[2]}`},
		"no name":            {"name", " ", `{"error":"Give the campaign a name."}`},
		"a size in words":    {"size", "7 MB", `"error"`},
		"too large":          {"size", "999999999", "larger than 200 MB"},
		"another's template": {"template", "99999999-1111-4222-8333-444455556666", `"error"`},
	} {
		form := maps.Clone(good)
		form.Set(test.field, test.value)
		if a := c.author.Post(imports.Path, form); !strings.Contains(a.Body, test.want) {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, test.want)
		}
	}
	for name, test := range map[string]struct {
		who    webtest.Person
		part   string
		status int
	}{
		"a part":           {c.author, "1", http.StatusOK},
		"no such part":     {c.author, "9", http.StatusUnprocessableEntity},
		"an approver":      {c.approver, "1", http.StatusForbidden},
		"another's upload": {c.SignIn("another", web.RoleAdmin), "1", http.StatusUnprocessableEntity},
	} {
		if a := test.who.Post(imports.Path+"/part", url.Values{"id": {id}, "part": {test.part}}); a.Status != test.status {
			t.Errorf("%s: %d, want %d", name, a.Status, test.status)
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for state, cancelled := range map[submission.State]int{
		submission.StateUploading: 1, submission.StateReady: 1, submission.StateApproval: 1, submission.StateInterrupted: 1, submission.StateSending: 0, submission.StateSent: 0,
	} {
		c := newCompany(t, state)
		if c.author.Post(path+"/cancel", nil); c.cancelled != cancelled {
			t.Errorf("%s: cancelled %d times, want %d", state, c.cancelled, cancelled)
		}
	}
}

// The messages of a scheduled campaign do not go while its parts are accepted.
func TestShow_SendingScheduled(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateSending)
	says(t, c.author.Get(path), http.StatusOK, "being sent already")
	c.stored.Schedule = "2026-11-22T12:00:00Z"
	if a := c.author.Get(path); strings.Contains(a.Text(), "being sent already") {
		t.Errorf("a scheduled campaign:\n%s", a.Text())
	}
}

// A campaign can be cancelled while its parts are accepted, by those who may send one.
func TestShow_CancelWhileSending(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateSending)
	const link = `href="/dashboard/campaigns/` + id + `/cancel"`
	if body := c.author.Get(path).Body; !strings.Contains(body, link) {
		t.Errorf("an author finds no link to the cancellation:\n%s", body)
	}
	if body := c.SignIn(tenant, web.RoleViewer).Get(path).Body; strings.Contains(body, link) {
		t.Error("a viewer finds the link to the cancellation")
	}
}

// Nobody can decide about a discarded campaign.
func TestCancel_WithdrawsRequest(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.from = 1
	c.confirm(c.author, hash)
	c.author.Post(path+"/cancel", nil)
	if waiting := campaign.Waiting([]campaign.Approval{*c.approval}, "another@example.com"); waiting != 0 || c.cancelled != 1 {
		t.Errorf("cancelled %d times, the request is %s", c.cancelled, c.approval.State)
	}
	c.decide(c.approver, "approve")
	if c.sent > 0 {
		t.Error("a discarded campaign was sent")
	}
}

func TestShow_TemplateChangedDuringCheck(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Check.Findings.General = []string{campaign.CodeTemplateChanged}
	says(t, c.author.Get(path), http.StatusOK, "The template was changed during the check.")
}

// All lines that get no message can be downloaded, and no cell of them is a formula.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Columns.UID = 1
	c.leftOut = []submission.LeftOut{
		{Line: 3, Kind: submission.KindFaulty, Code: "missing_variable", Column: "nome", Phone: "11988880001", UID: "=1+1"},
		{Line: 4, Kind: submission.KindRepeated, Phone: "11988880002", UID: "b", Vars: map[string]string{"nome": "Bia"}},
		{Line: 5, Kind: submission.KindInvalid, Code: "invalid_number", Phone: "5,51199E+12", UID: "c", Vars: map[string]string{"nome": "Caio"}},
	}
	for _, l := range c.leftOut {
		c.stored.Check.Findings.Count(l)
	}
	says(t, c.author.Get(path), http.StatusOK, "Send to 3 people, 3 lines are left out", "Download all lines that are left out")
	got := c.author.Get(path + "/left-out")
	want := "\ufeff\"Line\";\"Problem\";\"Celular\";\"\";\"Nome\"\r\n" +
		"\"3\";\"nome is missing\";\"11988880001\";\"'=1+1\";\"\"\r\n" +
		"\"4\";\"Repeated number: an earlier line has it\";\"11988880002\";\"b\";\"Bia\"\r\n" +
		"\"5\";\"Excel has shortened the number. Format the column as Text and save again.\";\"5,51199E+12\";\"c\";\"Caio\"\r\n"
	if diff := cmp.Diff(want, got.Body); diff != "" || got.Status != http.StatusOK {
		t.Errorf("%d (-want +got):\n%s", got.Status, diff)
	}
	for name, who := range map[string]webtest.Person{"a viewer": c.SignIn(tenant, web.RoleViewer), "another tenant": c.SignIn("another", web.RoleAdmin)} {
		if a := who.Get(path + "/left-out"); a.Status != http.StatusForbidden && a.Status != http.StatusNotFound {
			t.Errorf("%s: %d", name, a.Status)
		}
	}
}

// The draft that becomes a campaign is deleted when it is sent, also by a repeated confirmation.
func TestConfirm_DropsDraft(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Draft, c.stored.DraftVersion = template, 3
	c.confirm(c.author, hash)
	c.confirm(c.author, hash)
	if diff := cmp.Diff([]string{template + " 3", template + " 3"}, c.dropped); diff != "" || c.sent != 1 {
		t.Errorf("sent %d times, deleted drafts (-want +got):\n%s", c.sent, diff)
	}
}

// Every state has a page in both languages.
func TestShow_States(t *testing.T) {
	t.Parallel()
	for _, state := range []submission.State{
		submission.StateUploading, submission.StateOpening, submission.StateColumns, submission.StateChecking, submission.StateReady, submission.StateApproval,
		submission.StateSending, submission.StateInterrupted, submission.StateFailed, submission.StateDiscarded,
	} {
		c := newCompany(t, state)
		c.stored.Fault.Code, c.stored.Fault.Args = "columns", []string{"7", "3", "2"}
		for _, language := range []string{"en", "pt-BR"} {
			who := c.author
			who.Language = language
			for _, address := range []string{path, imports.Path} {
				if a := who.Get(address); a.Status != http.StatusOK || strings.Contains(a.Text(), "imports.") || strings.Contains(a.Text(), "sending.") {
					t.Errorf("%s in %s: %d\n%s", state, language, a.Status, a.Text())
				}
			}
		}
	}
}
