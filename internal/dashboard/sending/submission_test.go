package sending_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
)

const (
	tenant   = "loja"
	id       = "0b6e8a52-7c1f-4d1a-9f3e-5d2c1b0a9e8f"
	template = "5f0c7a0e-1111-4222-8333-444455556666"
	path     = sending.SubmissionsPath + "/" + id
)

var noon = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

// company is a tenant with one submission, whose service records what people decide.
type company struct {
	*webtest.Dashboard
	sending.Store
	sending.Intake
	stored                  submission.Submission
	from, version           int
	text                    string // of the template
	checked                 submission.Chosen
	steps                   []string // that were taken, with who and the action in the audit log
	shown                   string   // what the page of the last one showed
	fails                   error    // of every step
	quote                   intake.Quote
	owner                   string // of the template
	policy                  reach.TenantHours
	late                    bool
	words                   []string
	leftOut                 []submission.LeftOut
	reading                 *submission.Reading
	others                  []submission.Submission
	planned                 bool // the real service decides, and quotes the prices
	races                   bool // every save loses a race
	billing                 campaign.Billing
	rate                    int                       // of sending, 0 for no limit
	spent                   map[string]campaign.Money // of the budget, by date
	admin, author, approver webtest.Person
}

func newCompany(t *testing.T, state submission.State) *company {
	t.Helper()
	c := &company{owner: tenant, version: 1, text: "Oi {{nome}}", stored: submission.Submission{
		ID: campaign.ID{Tenant: tenant, CampaignID: id}, State: state, Name: "Natal", TemplateID: template, TemplateVersion: 1, File: submission.File{Name: "lista.csv"},
		Columns: submission.Columns{Header: []string{"Celular", "", "Nome"}, Chosen: submission.Chosen{Phone: 0, UID: -1, Values: []submission.Column{{Name: "nome", Column: 2}}}},
		Check:   submission.Check{Rows: 5, Parts: 1, Hash: "0f0f", Findings: submission.Findings{Accepted: 3}},
	}}
	c.Dashboard = webtest.Serve(t, webtest.UI(t, func() time.Time { return noon }), sending.Area(), &sending.Pages{
		Store: c, Intake: c, Now: func() time.Time { return noon },
		Origin: origin,
	})
	c.admin, c.author, c.approver = c.SignIn(tenant, web.RoleAdmin), c.SignIn(tenant, web.RoleAuthor), c.SignIn(tenant, web.RoleApprover)
	return c
}

func (c *company) Submissions(_ context.Context, of string) ([]submission.Submission, error) {
	if of != tenant {
		return nil, nil
	}
	return append([]submission.Submission{c.stored}, c.others...), nil
}

func (c *company) Template(_ context.Context, of string) (campaign.Template, error) {
	if of != template {
		return campaign.Template{}, campaign.ErrNotFound
	}
	return campaign.Template{ID: template, Tenant: c.owner, Version: c.version, Name: "Oi", Content: content.Content{Text: c.text}}, nil
}

func (c *company) TemplateVersion(ctx context.Context, of string, version int) (campaign.Template, error) {
	t, err := c.Template(ctx, of)
	t.Version = version
	return t, err
}

func (c *company) Templates(context.Context, string) ([]campaign.Template, error) { return nil, nil }

func (c *company) ApprovalFrom(context.Context, string) (int, error) { return c.from, nil }

func (c *company) Tenant(context.Context, string) (campaign.Tenant, error) {
	if c.rate > 0 {
		return campaign.Tenant{}, nil
	}
	return campaign.Tenant{}, campaign.ErrNotFound
}

func (c *company) TenantHours(context.Context, string) (reach.TenantHours, error) {
	return c.policy, nil
}

func (c *company) Agent(context.Context, string) (campaign.Agent, error) {
	if c.rate > 0 {
		return campaign.Agent{Rate: c.rate}, nil
	}
	return campaign.Agent{}, campaign.ErrNotFound
}

func (c *company) Start(_ context.Context, asked submission.Submission) (submission.Submission, []int, error) {
	if c.fails != nil {
		return c.stored, nil, c.fails
	}
	if asked.File.Size > submission.MaxSize {
		return asked, nil, &inputerr.Error{Code: "file_size"}
	}
	asked.CampaignID, asked.File.Object = id, "one"
	return asked, []int{2}, nil
}

func (c *company) Submission(_ context.Context, of campaign.ID) (submission.Submission, error) {
	if of != c.stored.ID {
		return submission.Submission{}, campaign.ErrNotFound
	}
	return c.stored, nil
}

func (c *company) ChunkURL(_ context.Context, _ submission.Submission, chunk int) (string, error) {
	if chunk != 1 {
		return "", campaign.ErrNotFound
	}
	return "https://bucket.example/chunk", nil
}
func (c *company) Finish(context.Context, submission.Submission) error { return nil }

func (c *company) FinishDraft(_ context.Context, sub submission.Submission, e account.AuditEntry) error {
	c.steps = append(c.steps, "draft "+e.Who+" "+e.Action+" "+sub.Name)
	return nil
}

func (c *company) Check(_ context.Context, _ submission.Submission, columns submission.Chosen, _ campaign.Template) error {
	c.checked = columns
	return nil
}

// Read records how the file is to be read.
func (c *company) Read(_ context.Context, _ submission.Submission, reading submission.Reading, _ campaign.Template) error {
	c.reading = &reading
	return nil
}

func (c *company) Words(context.Context, submission.Submission) ([]string, error) {
	return c.words, nil
}

func (c *company) FirstLines(context.Context, submission.Submission, int) ([]submission.LeftOut, error) {
	return c.leftOut, nil
}

func (c *company) ScheduleMissed(submission.Submission) bool { return c.late }

func (c *company) Quote(ctx context.Context, sub submission.Submission) (intake.Quote, error) {
	if c.planned {
		return c.real().Quote(ctx, sub)
	}
	return c.quote, nil
}

func (c *company) NeedsApproval(_ context.Context, sub submission.Submission) (bool, error) {
	return c.from > 0 && sub.Check.Findings.Accepted >= c.from, nil
}

// Decide records a step, and makes the submission what the service would.
func (c *company) Decide(ctx context.Context, step intake.Step) (submission.Submission, error) {
	if c.fails != nil {
		return c.stored, c.fails
	}
	if c.planned {
		return c.real().Decide(ctx, step)
	}
	switch needed, _ := c.NeedsApproval(ctx, c.stored); {
	case step.Choice == intake.Send && needed && c.stored.State == submission.StateReady:
		return c.stored, intake.ErrNeedsApproval
	case step.Choice == intake.Ask:
		c.stored.Approval = submission.Approval{AskedBy: step.Audit.Who, AskedAt: noon}
	case step.Choice == intake.Refuse:
		c.stored.Approval.Reason, c.stored.Approval.DecidedBy = step.Reason, step.Audit.Who
	}
	c.steps = append(c.steps, string(step.Choice)+" "+step.Audit.Who+" "+step.Audit.Action)
	c.shown = step.Shown
	c.stored.State = map[intake.Choice]submission.State{
		intake.Send: submission.StateSending, intake.Ask: submission.StateApproval, intake.Approve: submission.StateSending, intake.Refuse: submission.StateRefused,
		intake.Withdraw: submission.StateReady, intake.Reopen: submission.StateReady, intake.Discard: submission.StateDiscarded,
	}[step.Choice]
	return c.stored, nil
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

// confirm and decide post what the page of the person has.
func (c *company) confirm(who webtest.Person) webtest.Answer {
	return who.Post(path+"/confirm", url.Values{"hash": {c.stored.Shown()}, "starts": {who.Get(path).Value("starts")}})
}

func (c *company) decide(who webtest.Person, decision string) webtest.Answer {
	return who.Post(path+"/decide", url.Values{
		"hash": {c.stored.Shown()}, "decision": {decision}, "reason": {"wrong"}, "starts": {who.Get(path).Value("starts")},
	})
}

// waiting returns a company with a request of the author.
func waiting(t *testing.T) *company {
	t.Helper()
	c := newCompany(t, submission.StateApproval)
	c.stored.Approval = submission.Approval{AskedBy: c.author.Session.Email, AskedAt: noon}
	return c
}

func TestColumns(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateColumns)
	says(t, c.author.Get(path), http.StatusOK, "Which column is which", "Column B", "In the text: nome")
	says(t, c.author.Post(path+"/columns", url.Values{"phone": {"0"}, "uid": {""}, "v0": {"7"}}), http.StatusUnprocessableEntity, "Choose a column for each field.")
	if a := c.author.Post(path+"/columns", url.Values{"phone": {"0"}, "uid": {"1"}, "v0": {"2"}}); a.Location != path {
		t.Errorf("chosen: %d to %q", a.Status, a.Location)
	}
	want := submission.Chosen{Phone: 0, UID: 1, Values: []submission.Column{{Name: "nome", Column: 2}}}
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
	if diff := cmp.Diff([]submission.Column{{Name: "Celular", Column: 0}, {Name: "nome", Column: 2}}, c.checked.Values); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// The form has what the page shows, and a refused confirmation says why on the page of the campaign.
// The review says when the people of each time zone get their message, and who cannot.
func TestReview_SendingHours(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Check.Findings.Zones = map[window.Zone]int{window.SaoPaulo: 1, window.RioBranco: 1, 0: 1}
	if text := c.author.Get(path).Text(); strings.Contains(text, "Sending hours") {
		t.Errorf("without a rule, the page says:\n%s", text)
	}
	c.policy.Rules = map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}
	c.stored.Schedule, c.stored.NotAfter = "2037-11-22T12:00:00Z", "2037-11-23T13:00:00Z" // from Sunday to Monday 10:00 in Brasília
	text := c.author.Get(path).Text()
	for _, want := range []string{
		"Start 23 Nov 2037, 09:00", "Scheduled for 22 Nov 2037, 09:00, outside the sending hours.",
		"The South, the Southeast, Goiás and DF: 2, at 09:00 Acre: 1, at 09:00 local time", "1 person gets nothing", "Schedule for 3 people",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// If nothing can go now, the review and the approval say when it goes, and their buttons schedule.
func TestReview_Closed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		zones  map[window.Zone]int
		starts string
		says   []string
		lacks  string // of the page, "" for nothing
	}{
		"all closed": {
			map[window.Zone]int{window.SaoPaulo: 1, window.RioBranco: 1, window.Amazonas: 1},
			"21/11/2037 10:00",
			[]string{"Agora está fora do horário de envio.", "Sul, Sudeste, Goiás e DF: 1, às 10:00 Acre e oeste do AM: 2, às 10:00 de lá"},
			"Assim que",
		},
		"one clock": {map[window.Zone]int{window.RioBranco: 3}, "21/11/2037 12:00", []string{"Acre: 3, às 10:00 de lá"}, "Assim que"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for person, button := range map[string]string{"author": "Agendar para 3 pessoas", "approver": "Aprovar e agendar para 3 pessoas"} {
				c := newCompany(t, submission.StateReady)
				who, send := c.author, c.confirm
				if person == "approver" {
					c = waiting(t)
					who, send = c.approver, func(who webtest.Person) webtest.Answer { return c.decide(who, "approve") }
				}
				who.Language = "pt-BR"
				c.policy.Rules = map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}
				c.stored.Check.Findings.Zones = test.zones
				page := who.Get(path)
				says(t, page, http.StatusOK, append(test.says, "Início "+test.starts, button)...)
				if strings.Contains(page.Text(), test.lacks) {
					t.Errorf("the %s reads %q:\n%s", person, test.lacks, page.Text())
				}
				if a := send(who); a.Status != http.StatusSeeOther {
					t.Errorf("the %s gets %d", person, a.Status)
				}
			}
		})
	}
}

// What the confirmation and the audit log say is what the page said: scheduled for the opening, or begun.
func TestConfirm_Closed(t *testing.T) {
	t.Parallel()
	const scheduled, begun = "The campaign “Natal” is scheduled for 21 Nov 2037, 10:00.", "The sending of the campaign “Natal” has begun."
	for _, test := range []struct {
		starts       string
		closed       bool // now, until 10:00
		says, action string
	}{
		{"2037-11-21T13:00:00Z", true, scheduled, "campaign.schedule"},
		{"2037-11-21T11:00:00Z", false, begun, "campaign.dispatch"}, // the hours have begun since
		{"tomorrow", false, begun, "campaign.dispatch"},
	} {
		c := newCompany(t, submission.StateReady)
		c.close(test.closed)
		a := c.author.Post(path+"/confirm", url.Values{"hash": {c.stored.Shown()}, "starts": {test.starts}})
		says(t, c.author.Follow(a), http.StatusOK, test.says)
		if logged := strings.Join(c.steps, ", "); !strings.HasSuffix(logged, " "+test.action) {
			t.Errorf("%s is logged as %q, want %s", test.starts, logged, test.action)
		}
	}
}

// close sets sending hours that begin at 10:00, or removes them.
func (c *company) close(closed bool) {
	c.policy.Rules = nil
	if closed {
		c.policy.Rules = map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}
	}
	c.stored.Check.Findings.Zones = map[window.Zone]int{window.SaoPaulo: 3}
}

// Nobody sends at another time than the page showed: if the sending hours have changed, have ended or are not those of
// the page, the page shows when the campaign goes now, and asks again.
func TestConfirm_OtherHours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		starts string
		closed bool
		want   string
	}{
		{"2037-11-21T13:00:00Z", false, "Start As soon as"},
		{"2037-11-21T14:00:00Z", true, "Start 21 Nov 2037, 10:00"},
		{"", true, "Start 21 Nov 2037, 10:00"},
	} {
		c := newCompany(t, submission.StateReady)
		c.close(test.closed)
		form := url.Values{"hash": {c.stored.Shown()}, "starts": {test.starts}, "decision": {"approve"}}
		says(t, c.author.Post(path+"/confirm", form), http.StatusConflict, "Something has changed", test.want)
		c = waiting(t)
		c.close(test.closed)
		says(t, c.approver.Post(path+"/decide", form), http.StatusConflict, "Something has changed", test.want)
		if len(c.steps) > 0 || c.stored.State != submission.StateApproval {
			t.Errorf("shown %q, closed %t: %v", test.starts, test.closed, c.steps)
		}
	}
}

// If some can go now, the campaign is sent, and the review says who waits.
func TestReview_PartlyOpen(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	rule := reach.Usual()
	rule.Week[time.Saturday] = window.Hours{From: 8 * 60, Until: 16 * 60}
	c.policy.Rules = map[campaign.Traffic]reach.Rule{campaign.Promotion: rule}
	c.stored.Check.Findings.Zones = map[window.Zone]int{window.SaoPaulo: 2, window.RioBranco: 1}
	c.author.Language = "pt-BR"
	says(t, c.author.Get(path), http.StatusOK, "Início Assim que você confirmar", "Enviar para 3 pessoas", "DF: 2, na hora Acre: 1, às 08:00 de lá")
	c.from = 3
	says(t, c.author.Get(path), http.StatusOK, "Início Assim que for aprovada")
	c.stored.Check.Findings.Zones = map[window.Zone]int{window.SaoPaulo: 3}
	if text := c.author.Get(path).Text(); strings.Contains(text, "Horário de envio") {
		t.Errorf("all can go now, and the page says:\n%s", text)
	}
}

// The review names the holidays that keep messages from being sent.
func TestReview_Holidays(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.policy = reach.TenantHours{
		Rules:    map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()},
		Holidays: []string{"12-24"}, HolidayNames: map[string]string{"12-24": "Véspera de Natal"},
	}
	c.stored.Check.Findings.Zones = map[window.Zone]int{window.SaoPaulo: 3}
	c.stored.Schedule = "2037-12-24T12:00:00Z"
	c.author.Language = "pt-BR"
	says(t, c.author.Get(path), http.StatusOK, "Início 26/12/2037 10:00", "Sem envio em feriado: 24/12 (Véspera de Natal), 25/12 (Natal).")
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state  submission.State
		from   int // people that need approval
		fails  error
		status int
		step   string
		says   string
	}{
		"as reviewed":            {submission.StateReady, 0, nil, http.StatusSeeOther, "send author@example.com campaign.dispatch", ""},
		"few people":             {submission.StateReady, 4, nil, http.StatusSeeOther, "send author@example.com campaign.dispatch", ""},
		"many people":            {submission.StateReady, 3, nil, http.StatusSeeOther, "ask author@example.com approval.ask", ""},
		"the rest after a stop":  {submission.StateInterrupted, 3, nil, http.StatusSeeOther, "send author@example.com campaign.dispatch", ""},
		"something else changed": {submission.StateReady, 0, intake.ErrChanged, http.StatusConflict, "", "Something has changed"},
		"too late":               {submission.StateReady, 0, intake.ErrScheduleMissed, http.StatusConflict, "", "has passed or is too close"},
		"no budget":              {submission.StateReady, 0, intake.ErrOverBudget, http.StatusConflict, "", "has no room for this"},
		"sent already":           {submission.StateSent, 0, intake.ErrState, http.StatusSeeOther, "", ""},
		"discarded":              {submission.StateDiscarded, 0, intake.ErrState, http.StatusSeeOther, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, test.state)
			c.from, c.fails = test.from, test.fails
			c.stored.Check.Findings.Rejected = []submission.LineFault{{Code: "empty", Lines: submission.Lines{Count: 1}}} // no person
			shown := c.stored.Shown()
			a := c.confirm(c.author)
			says(t, a, test.status, test.says)
			if got := strings.Join(c.steps, ", "); got != test.step || got != "" && c.shown != shown {
				t.Errorf("steps %q of a page that showed %q, want %q", got, c.shown, test.step)
			}
		})
	}
}

// The page has the price and the budget of now. Without room it has no button, and again with room.
func TestConfirm_Budget(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"author", "approver"} {
		c := newCompany(t, submission.StateReady)
		person, button := c.author, "Send to 2 people"
		if who == "approver" {
			c = waiting(t)
			person, button = c.approver, "Approve and send now to 2 people"
		}
		c.stored.Check.Findings.OptedOut, c.stored.Check.At = 1, noon
		c.quote = intake.Quote{Priced: true, Price: 20_000_000, Reserves: 30_000_000, Budgets: []campaign.BudgetFigures{{
			Cost: 30_000_000, Date: "2037-12-01", Day: &campaign.DayBudget{Limit: 100_000_000, Used: 71_000_000},
		}}}
		page := person.Get(path)
		says(t, page, http.StatusOK, "20.00", "Reserved from the budget", "30.00 in the budget of 1 Dec 2037", "71.00 of", "has no room for this", "at the check of 21 Nov 2037")
		if strings.Contains(page.Text(), button) {
			t.Errorf("the %s may send without budget:\n%s", who, page.Text())
		}
		c.quote.Budgets[0].Day.Used = 70_000_000
		if page := person.Get(path); strings.Contains(page.Text(), "has no room for this") || !strings.Contains(page.Text(), button) {
			t.Errorf("the %s may not send with budget:\n%s", who, page.Text())
		}
	}
}

// The approver sees what the author saw, and the button says whether it goes at once.
func TestApproval_Page(t *testing.T) {
	t.Parallel()
	c := waiting(t)
	says(t, c.approver.Get(path), http.StatusOK,
		"Natal", "lista.csv", "Oi Ana", "SHA-256", "As soon as it is approved", "Approve and send now to 3 people", c.author.Session.Email)
	c.stored.Schedule = "2037-11-22T12:00:00Z"
	says(t, c.approver.Get(path), http.StatusOK, "22 Nov 2037, 09:00", "Approve and schedule for 3 people")
	own := c.author.Get(path)
	says(t, own, http.StatusOK, "It waits for another person", "Withdraw the request")
	if other := c.SignedIn(web.Session{Tenant: tenant, Email: "bia@example.com", Role: web.RoleAuthor}).Get(path); strings.Contains(other.Text(), "Withdraw") {
		t.Error("another author may withdraw the request")
	}
}

func TestApproval_Roles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do     func(c *company) webtest.Answer
		fails  error
		status int
		step   string
	}{
		"an approver":       {func(c *company) webtest.Answer { return c.decide(c.approver, "approve") }, nil, http.StatusSeeOther, "approve approver@example.com approval.approve"},
		"an admin":          {func(c *company) webtest.Answer { return c.decide(c.admin, "refuse") }, nil, http.StatusSeeOther, "refuse admin@example.com approval.refuse"},
		"an author":         {func(c *company) webtest.Answer { return c.decide(c.author, "approve") }, nil, http.StatusForbidden, ""},
		"who asked":         {func(c *company) webtest.Answer { return c.decide(c.admin, "approve") }, intake.ErrOwn, http.StatusForbidden, ""},
		"another tenant":    {func(c *company) webtest.Answer { return c.decide(c.SignIn("another", web.RoleAdmin), "approve") }, nil, http.StatusNotFound, ""},
		"no decision":       {func(c *company) webtest.Answer { return c.decide(c.approver, "") }, nil, http.StatusBadRequest, ""},
		"decided before":    {func(c *company) webtest.Answer { return c.decide(c.approver, "refuse") }, intake.ErrDecided, http.StatusConflict, ""},
		"a withdrawal":      {func(c *company) webtest.Answer { return c.author.Post(path+"/withdraw", nil) }, nil, http.StatusSeeOther, "withdraw author@example.com approval.withdraw"},
		"another's request": {func(c *company) webtest.Answer { return c.author.Post(path+"/withdraw", nil) }, intake.ErrNotOwn, http.StatusForbidden, ""},
		"a return":          {func(c *company) webtest.Answer { return c.author.Post(path+"/reopen", nil) }, nil, http.StatusSeeOther, "reopen author@example.com approval.reopen"},
		"an approver takes": {func(c *company) webtest.Answer { return c.approver.Post(path+"/reopen", nil) }, nil, http.StatusForbidden, ""},
	} {
		c := waiting(t)
		c.fails = test.fails
		a := test.do(c)
		if got := strings.Join(c.steps, ", "); a.Status != test.status || got != test.step {
			t.Errorf("%s: status %d and steps %q, want %d and %q", name, a.Status, got, test.status, test.step)
		}
		if errors.Is(test.fails, intake.ErrDecided) {
			says(t, a, http.StatusConflict, "decided or withdrawn already", "Your reason: wrong")
		}
	}
}

// A decision after another one says so, whatever the campaign is meanwhile.
func TestApproval_DecidedBefore(t *testing.T) {
	t.Parallel()
	for _, state := range []submission.State{submission.StateReady, submission.StateRefused, submission.StateSending, submission.StateHolding, submission.StateInterrupted, submission.StateSent, submission.StateDiscarded} {
		c := waiting(t)
		c.fails, c.stored.State = intake.ErrDecided, state
		a := c.decide(c.approver, "refuse")
		says(t, a, http.StatusConflict, "decided or withdrawn already", "Your reason: wrong")
		if strings.Contains(a.Text(), "submission.") || strings.Contains(a.Text(), "approval.") {
			t.Errorf("%s: %s", state, a.Text())
		}
	}
}

// An approval that comes too late says that the campaign is back with who asked.
func TestApproval_Returned(t *testing.T) {
	t.Parallel()
	c := waiting(t)
	c.stored.Approval.Decision = submission.DecisionReturned
	says(t, c.decide(c.approver, "approve"), http.StatusConflict, "It is back with the person who asked")
}

// A refusal needs a reason. Who asked sees it, and may correct the campaign.
func TestApproval_Refused(t *testing.T) {
	t.Parallel()
	c := waiting(t)
	says(t, c.approver.Post(path+"/decide", url.Values{"decision": {"refuse"}}), http.StatusUnprocessableEntity, "Write the reason")
	c.decide(c.approver, "refuse")
	says(t, c.author.Get(path), http.StatusOK, "Refused by approver@example.com: wrong", "Correct it and ask again")
}

// The list has the requests of all states, those that wait first.
func TestApprovals(t *testing.T) {
	t.Parallel()
	for state, want := range map[submission.State]string{
		submission.StateApproval: "Waiting for approval", submission.StateSending: "Approved, being sent", submission.StateInterrupted: "Approved, being sent",
		submission.StateSent: "Approved, and sent or scheduled", submission.StateDiscarded: "Approved, then cancelled",
	} {
		c := waiting(t)
		if c.stored.State = state; state != submission.StateApproval {
			c.stored.Approval.Decision = submission.DecisionApproved
		}
		says(t, c.approver.Get(sending.ApprovalsPath), http.StatusOK, want, "Natal", "author@example.com")
	}
	for decision, want := range map[submission.Decision]string{
		submission.DecisionRefused: "Refused", submission.DecisionWithdrawn: "Withdrawn", submission.DecisionReturned: "Returned",
	} {
		c := waiting(t)
		c.stored.State, c.stored.Approval.Decision = submission.StateReady, decision
		says(t, c.author.Get(sending.ApprovalsPath), http.StatusOK, want)
	}
	if a := newCompany(t, submission.StateReady).author.Get(sending.ApprovalsPath); strings.Contains(a.Text(), "Natal") {
		t.Error("a campaign without a request is listed")
	}
	discarded := waiting(t)
	discarded.stored.Approval = discarded.stored.Approval.Decided(submission.DecisionApproved, "approver@example.com", noon)
	discarded.stored = discarded.stored.Close(submission.StateDiscarded)
	discarded.stored.DiscardedBy, discarded.stored.DiscardedAt = "bia@example.com", noon
	says(t, discarded.approver.Get(sending.ApprovalsPath), http.StatusOK, "Approved, then cancelled Discarded by bia@example.com on 21 Nov 2037, ")
	says(t, discarded.author.Get(path), http.StatusOK, "Discarded by bia@example.com on 21 Nov 2037, ", "after author@example.com asked for approval and approver@example.com approved it.")
	discarded.stored.Sending.Parts = 1
	says(t, discarded.approver.Get(sending.ApprovalsPath), http.StatusOK, "Approved; the rest was discarded Discarded by bia@example.com on 21 Nov 2037, ")
	expired := waiting(t)
	expired.stored = expired.stored.Close(submission.StateDiscarded) // as sweep does
	if a := expired.approver.Get(sending.ApprovalsPath); !strings.Contains(a.Text(), "Expired without a decision") || strings.Contains(a.Text(), "Waits") {
		t.Errorf("a request that expired:\n%s", a.Text())
	}
	draft := waiting(t)
	draft.stored.State, draft.stored.Approval.Decision = submission.StateDraft, submission.DecisionRefused
	if a := draft.author.Get(sending.ApprovalsPath); strings.Contains(a.Text(), "Natal") {
		t.Error("a refused campaign that became a draft is listed")
	}
}

func TestUpload_Refusals(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateUploading)
	c.stored.File.Object = "one"
	good := url.Values{"name": {"Natal"}, "template": {template}, "fileName": {"lista.csv"}, "size": {"7"}}
	for name, test := range map[string]struct {
		field, value, want string
	}{
		"accepted":           {"name", "Natal", `{"id":"` + id + `.one","sent":[2]}`},
		"a draft":            {"keep", "1", `{"id":"` + id + `.one","sent":[2]}`},
		"no name":            {"name", " ", `{"error":"Give the campaign a name."}`},
		"a size in words":    {"size", "7 MB", `"error"`},
		"too large":          {"size", "999999999", "larger than 200 MB"},
		"another's template": {"template", "99999999-1111-4222-8333-444455556666", `"error"`},
	} {
		form := maps.Clone(good)
		form.Set(test.field, test.value)
		if a := c.author.Post(sending.SubmissionsPath, form); !strings.Contains(a.Body, test.want) {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, test.want)
		}
	}
	for name, test := range map[string]struct {
		who    webtest.Person
		id     string
		chunk  string
		status int
	}{
		"a chunk":          {c.author, id + ".one", "1", http.StatusOK},
		"another file":     {c.author, id + ".two", "1", http.StatusUnprocessableEntity},
		"no such chunk":    {c.author, id + ".one", "9", http.StatusUnprocessableEntity},
		"an approver":      {c.approver, id + ".one", "1", http.StatusForbidden},
		"another's upload": {c.SignIn("another", web.RoleAdmin), id + ".one", "1", http.StatusUnprocessableEntity},
	} {
		if a := test.who.Post(sending.SubmissionsPath+"/chunk", url.Values{"id": {test.id}, "chunk": {test.chunk}}); a.Status != test.status {
			t.Errorf("%s: %d, want %d", name, a.Status, test.status)
		}
	}
}

// A file that a browser has sent is checked, or kept as a draft. A file that another one has replaced
// ends nothing.
func TestUpload_Finish(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateUploading)
	c.stored.File.Object = "one"
	for name, test := range map[string]struct{ id, keep, want string }{
		"check":    {id + ".one", "", path},
		"keep":     {id + ".one", "1", "/dashboard/drafts"},
		"replaced": {id + ".two", "", `"error"`},
	} {
		if a := c.author.Post(sending.SubmissionsPath+"/finish", url.Values{"id": {test.id}, "keep": {test.keep}}); !strings.Contains(a.Body, test.want) {
			t.Errorf("%s: %d %s, want %s", name, a.Status, a.Body, test.want)
		}
	}
	if diff := cmp.Diff([]string{"draft author@example.com campaign.draft Natal"}, c.steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A draft that somebody has saved since its form was opened gets no other file.
func TestUpload_Stale(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateDraft)
	c.stored.By, c.stored.UpdatedAt, c.fails = "bia@example.com", noon, intake.ErrStale
	form := url.Values{"name": {"Natal"}, "template": {template}, "fileName": {"lista.csv"}, "size": {"7"}, "from": {id}, "version": {"1"}}
	if a := c.author.Post(sending.SubmissionsPath, form); !strings.Contains(a.Body, "bia@example.com saved this draft on 21 Nov 2037") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	if a := c.author.Post(path+"/cancel", nil); a.Location != sending.SubmissionsPath || len(c.steps) != 1 {
		t.Errorf("discarded: %d to %q, steps %q", a.Status, a.Location, c.steps)
	}
	c = newCompany(t, submission.StateSending)
	c.fails = intake.ErrState
	if a := c.author.Post(path+"/cancel", nil); a.Location != path || len(c.steps) > 0 {
		t.Errorf("one that is being sent: %d to %q, steps %q", a.Status, a.Location, c.steps)
	}
}

// The messages of a scheduled campaign do not go while its parts are accepted.
func TestShow_SendingScheduled(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateSending)
	says(t, c.author.Get(path), http.StatusOK, "Messages go out while the file is accepted")
	c.stored.Schedule = "2026-11-22T12:00:00Z"
	if a := c.author.Get(path); strings.Contains(a.Text(), "Messages go out while the file is accepted") {
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

func TestShow_TemplateChangedDuringCheck(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Check.Findings.General = []string{campaign.CodeTemplateChanged}
	says(t, c.author.Get(path), http.StatusOK, "The template was changed during the check.")
}

// The rest after a stop goes with the version that was confirmed, also if there is a newer one.
func TestShow_TemplateChangedAfterConfirmation(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateInterrupted)
	c.version, c.stored.Fault.Code = 2, campaign.CodeTemplateChanged
	says(t, c.author.Get(path), http.StatusOK, "The rest can be sent with the version that was confirmed.", "Continue sending", "version 1")
}

// People whom another batch had before are counted apart from those accepted so far.
func TestShow_InOtherBatches(t *testing.T) {
	t.Parallel()
	for state, said := range map[submission.State]string{
		submission.StateSending: "accepted so far: 1 of 3", submission.StateInterrupted: "accepted so far: 1 of 3.",
	} {
		c := newCompany(t, state)
		c.stored.Sending = submission.Sending{Accepted: 1}
		if text := c.author.Get(path).Text(); strings.Contains(text, "another batch") {
			t.Errorf("%s: the page speaks of nobody:\n%s", state, text)
		}
		c.stored.Sending.InOtherBatches = 2
		says(t, c.author.Get(path), http.StatusOK, said+" 2 people were already in another batch of this campaign.")
	}
}

// A file of one kind has the lines whose number was changed or is of another country. The file of what is left out has none.
func TestLeftOut_Noted(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Columns.UID = 1
	c.leftOut = []submission.LeftOut{
		{Line: 3, Kind: submission.KindNine, Phone: "1188880001", Meant: "+5511988880001", UID: "a"},
		{Line: 4, Kind: submission.KindAbroad, Code: "PT", Phone: "351912345678", Meant: "+351912345678", UID: "b"},
		{Line: 5, Kind: submission.KindInvalid, Code: "missing_ninth_digit", Phone: "1188880002", UID: "c"},
	}
	for _, l := range c.leftOut {
		c.stored.Check.Findings.Count(l)
	}
	for kind, want := range map[string]string{
		"nine":   `"3","The 9 was added.","+5511988880001","1188880001","a"`,
		"abroad": `"4","A number of another country: Portugal","+351912345678","351912345678","b"`,
		"":       `"5","The ninth digit of the mobile number is missing.","","1188880002","c"`,
	} {
		got := c.author.Get(path + "/left-out?kind=" + kind)
		if _, rows, _ := strings.Cut(strings.ReplaceAll(got.Body, ";", ","), "\n"); strings.Count(rows, "\n") != 1 || !strings.Contains(rows, want) {
			t.Errorf("%q: answered %d %s, want %s", kind, got.Status, got.Body, want)
		}
	}
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
		{Line: 6, Kind: submission.KindOptedOut, Phone: "11988880006", UID: "d", Vars: map[string]string{"nome": "Davi"}},
	}
	for _, l := range c.leftOut {
		c.stored.Check.Findings.Count(l)
	}
	says(t, c.author.Get(path), http.StatusOK, "Send to 2 people, 3 lines are left out", "Download all lines that are left out")
	got := c.author.Get(path + "/left-out")
	want := "\ufeff\"Line\";\"Problem\";\"Suggested number\";\"Celular\";\"\";\"Nome\"\r\n" +
		"\"3\";\"nome is missing\";\"\";\"11988880001\";\"'=1+1\";\"\"\r\n" +
		"\"4\";\"Repeated number: an earlier line has it\";\"\";\"11988880002\";\"b\";\"Bia\"\r\n" +
		"\"5\";\"Excel has shortened the number. Format the column as Text and save again.\";\"\";\"5,51199E+12\";\"c\";\"Caio\"\r\n" +
		"\"6\";\"Opted out (nothing is sent)\";\"\";\"11988880006\";\"d\";\"Davi\"\r\n"
	if diff := cmp.Diff(want, got.Body); diff != "" || got.Status != http.StatusOK {
		t.Errorf("%d (-want +got):\n%s", got.Status, diff)
	}
	for kind, line := range map[submission.Kind]int{"faulty": 3, "repeated": 4, "invalid": 5, "opted_out": 6} {
		address := path + "/left-out?kind=" + string(kind)
		if link := `href="` + address + `" download>1</a>`; !strings.Contains(c.author.Get(path).Body, link) {
			t.Errorf("the number of %s lines is not opened by %s", kind, link)
		}
		rows := strings.SplitAfter(c.author.Get(address).Body, "\r\n")
		if len(rows) != 3 || !strings.HasPrefix(rows[1], `"`+strconv.Itoa(line)+`";`) {
			t.Errorf("the %s lines are %q", kind, rows)
		}
	}
	if body := c.SignIn(tenant, web.RoleViewer).Get(path).Body; strings.Contains(body, "/left-out") {
		t.Error("a viewer finds a link to the lines")
	}
	columns := newCompany(t, submission.StateColumns) // of another template, after a check
	columns.stored.Check.Findings = c.stored.Check.Findings
	says(t, columns.author.Get(path+"/left-out"), http.StatusNotFound)
	for name, who := range map[string]webtest.Person{"a viewer": c.SignIn(tenant, web.RoleViewer), "another tenant": c.SignIn("another", web.RoleAdmin)} {
		if a := who.Get(path + "/left-out"); a.Status != http.StatusForbidden && a.Status != http.StatusNotFound {
			t.Errorf("%s: %d", name, a.Status)
		}
	}
}

// Lambda's answers have 6 MB at most, in base64, and a line can have a megabyte.
func TestLeftOut_LongLines(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	c.stored.Columns.UID = 1
	for n := range 9 {
		l := submission.LeftOut{Line: n + 2, Kind: submission.KindRepeated, Phone: strings.Repeat("1", 700_000)}
		c.leftOut = append(c.leftOut, l)
		c.stored.Check.Findings.Count(l)
	}
	const lines, note = 4_000_000, 200
	if got := c.author.Get(path + "/left-out"); got.Status != http.StatusOK || len(got.Body) > lines+note || !strings.Contains(got.Body, "\n\"6\";") {
		t.Errorf("%d, %d bytes", got.Status, len(got.Body))
	}
}

// The text of another tenant's template is never shown.
func TestSample_ForeignTemplate(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	says(t, c.author.Get(path), http.StatusOK, "Oi Ana")
	c.owner = "another"
	part := c.SignIn(tenant, web.RoleAuthor)
	part.Header.Set("HX-Request", "true")
	for name, a := range map[string]webtest.Answer{"the page": c.author.Get(path), "another person": part.Get(path + "/sample?person=2")} {
		if a.Status != http.StatusNotFound || strings.Contains(a.Text(), "Oi") {
			t.Errorf("%s: %d\n%s", name, a.Status, a.Text())
		}
	}
}

// A page that waits for a file slows down.
func TestShow_WorkingSlowsDown(t *testing.T) {
	t.Parallel()
	for _, state := range []submission.State{submission.StateOpening, submission.StateChecking, submission.StateSending} {
		c := newCompany(t, state)
		webtest.SlowsDown(t, c.author, c.author.Get(path).Body)
	}
}

// Every state has a page in both languages.
func TestShow_States(t *testing.T) {
	t.Parallel()
	for _, state := range []submission.State{
		submission.StateUploading, submission.StateOpening, submission.StateColumns, submission.StateChecking, submission.StateReady, submission.StateApproval, submission.StateRefused,
		submission.StateSending, submission.StateInterrupted, submission.StateFailed, submission.StateDiscarded,
	} {
		c := newCompany(t, state)
		c.stored.Fault.Code, c.stored.Fault.Args = "columns", []string{"7", "3", "2", ";"}
		for _, language := range []string{"en", "pt-BR"} {
			who := c.author
			who.Language = language
			for _, address := range []string{path, sending.SubmissionsPath} {
				if a := who.Get(address); a.Status != http.StatusOK || strings.Contains(a.Text(), "submission.") || strings.Contains(a.Text(), "sending.") {
					t.Errorf("%s in %s: %d\n%s", state, language, a.Status, a.Text())
				}
			}
		}
	}
}
