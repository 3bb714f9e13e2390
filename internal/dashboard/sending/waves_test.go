package sending_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/rollout"
)

// planRows are the rows that the real service has of a company.
type planRows struct {
	intake.Store
	c *company
}

func (r planRows) Template(ctx context.Context, id string) (campaign.Template, error) {
	return r.c.Template(ctx, id)
}

func (r planRows) TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error) {
	return r.c.TemplateVersion(ctx, id, version)
}

func (r planRows) Submission(ctx context.Context, of campaign.ID) (submission.Submission, error) {
	return r.c.Submission(ctx, of)
}

func (r planRows) SaveSubmission(_ context.Context, sub submission.Submission) (submission.Submission, error) {
	if sub.Version != r.c.stored.Version || r.c.races {
		return sub, campaign.ErrLostRace
	}
	sub.Version++
	r.c.stored = sub
	return sub, nil
}

func (r planRows) SaveDecision(ctx context.Context, sub submission.Submission, _ account.AuditEntry) (submission.Submission, error) {
	return r.SaveSubmission(ctx, sub)
}

// Move returns no change: nobody moves the campaigns of a company.
func (planRows) Move(context.Context, campaign.ID) (campaign.Move, error) {
	return campaign.Move{}, campaign.ErrNotFound
}

// planRules are the prices, the budgets and the hours of a company.
type planRules struct {
	intake.Rules
	c *company
}

func (r planRules) ApprovalFrom(ctx context.Context, of string) (int, error) {
	return r.c.ApprovalFrom(ctx, of)
}

func (r planRules) TenantHours(ctx context.Context, of string) (reach.TenantHours, error) {
	return r.c.TenantHours(ctx, of)
}

func (r planRules) Billing(context.Context, string) (campaign.Billing, error) {
	return r.c.billing, nil
}

func (r planRules) Spending(_ context.Context, _, date string) (campaign.Spending, error) {
	return campaign.Spending{Day: r.c.spent[date]}, nil
}

// real is the service of a company whose waves a test is about.
func (c *company) real() *intake.Service {
	return &intake.Service{Store: planRows{c: c}, Rules: planRules{c: c}, Tasks: &tasks{}, Now: func() time.Time { return noon }}
}

func (c *company) PlannedWaves(ctx context.Context, sub submission.Submission) ([]intake.PlannedWave, error) {
	return c.real().PlannedWaves(ctx, sub)
}

func (c *company) SetPlan(ctx context.Context, sub submission.Submission, plan rollout.Plan) error {
	return c.real().SetPlan(ctx, sub, plan)
}

const (
	millions  = 2_000_000
	perBucket = millions / 10_000
)

// newPlanned returns a company with a file of 2,000,000 people and three more who opted out, and the proposed plan: 10,012
// people first, then 190,000, then the other 1,799,988.
func newPlanned(t *testing.T, state submission.State) *company {
	t.Helper()
	c := newCompany(t, state)
	c.planned, c.stored.Columns.UID = true, 1
	in, from := window.Set(0).With(window.SaoPaulo), 0
	sub := &c.stored
	sub.Check.Findings = submission.Findings{OptedOut: 3, OptedOutClasses: campaign.ClassCounts{Basic: 3}, Zones: map[window.Zone]int{window.SaoPaulo: millions}}
	sub.Check.Cells = make([]submission.Cell, rollout.Cells())
	for n := range sub.Check.Cells {
		people, withheld := (rollout.Until(n)-from)*perBucket, 0
		from = rollout.Until(n)
		switch n {
		case 0:
			people, withheld = people+12, 3
		case rollout.Cells() - 1:
			people -= 12
		}
		cell := submission.Cell{Parts: 2, Lines: people + withheld, Accepted: people + withheld, Withheld: withheld}
		cell.AddPart(in, campaign.ClassCounts{Basic: cell.Accepted}, campaign.ClassCounts{Basic: people}, map[window.Zone]int{window.SaoPaulo: people})
		sub.Check.Cells[n] = cell
		sub.Check.Findings.Accepted += cell.Accepted
		sub.Check.Parts += cell.Parts
		sub.Check.Findings.Classes.Add(cell.Classes)
		sub.Check.Findings.AddPart(in, cell.Classes)
	}
	sub.Plan = rollout.Proposed(sub.Check.People())
	return c
}

// opened opens the first waves of a company's campaign, of which some parts are dispatched.
func (c *company) opened(waves, parts, accepted int) {
	for range waves {
		c.stored.Sending.Waves = append(c.stored.Sending.Waves, submission.Opened{At: noon, By: "author@example.com"})
	}
	c.stored.Sending.Parts, c.stored.Sending.Accepted = parts, accepted
}

// without fails if a page has one of the texts.
func without(t *testing.T, page webtest.Answer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page.Text(), text) {
			t.Errorf("the page says %q:\n%s", text, page.Text())
		}
	}
}

// The review shows who gets the message when, what each wave costs and depends on, and the waves add up.
func TestWaves_Review(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	c.author.Language, c.rate = "pt-BR", 500
	page := c.author.Get(path)
	says(t, page, http.StatusOK,
		"10.012 pessoas recebem primeiro. As outras 1.989.988 esperam: nada mais sai até você abrir a próxima onda.",
		"Onda 1 10.012 0,5% Assim que você confirmar Sua confirmação",
		"Onda 2 190.000 9,5% 21/11/2037 13:00 Alguém que veja os resultados da onda 1, 4 horas depois do início dela, e abra esta",
		"Onda 3 1.799.988 90% 21/11/2037 17:00 Alguém que veja os resultados da onda 2, 4 horas depois do início dela, e abra esta",
		"Total 2.000.000", "Confirmar 3 ondas e enviar a primeira para 10.012 pessoas", "cerca de 67 minutos sem contar as pausas entre as ondas",
	)
	without(t, page, "sending.", "Enviar para 2.000.000")
	c.billing = campaign.Billing{Prices: campaign.Prices{Basic: 100_000}}
	says(t, c.author.Get(path), http.StatusOK,
		"Onda 1 10.012 0,5% R$ 1.001,20", "Onda 2 190.000 9,5% R$ 19.000,00", "Onda 3 1.799.988 90% R$ 179.998,80", "Total 2.000.000 R$ 200.000,00")
	c.from = 1
	says(t, c.author.Get(path), http.StatusOK, "Assim que for aprovada Aprovação", "Pedir aprovação")
}

// Each wave waits for the hours and the holidays. People of a wave without hours before the deadline are counted in it.
func TestWaves_Hours(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	c.author.Language = "pt-BR"
	c.policy = reach.TenantHours{
		Rules:    map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()},
		Holidays: []string{"11-23"}, HolidayNames: map[string]string{"11-23": "Dia da Cidade"},
	}
	cell := &c.stored.Check.Cells[rollout.Cells()-1]
	cell.Zones = map[window.Zone]int{window.SaoPaulo: cell.Accepted - 5, window.RioBranco: 5}
	c.stored.Check.Findings.Zones = map[window.Zone]int{window.SaoPaulo: millions - 5, window.RioBranco: 5}
	page := c.author.Get(path)
	says(t, page, http.StatusOK,
		"Início 21/11/2037 10:00", "Sul, Sudeste, Goiás e DF: 10.012, às 10:00", "Onda 1 10.012 0,5% 21/11/2037 10:00", "Onda 2 190.000 9,5% 21/11/2037 14:00", "Onda 3 1.799.988 90% 24/11/2037 09:00",
		"Acre: 5, às 09:00 de lá", "Sem envio em feriado: 23/11 (Dia da Cidade).", "Confirmar 3 ondas e agendar a primeira para 10.012 pessoas",
	)
	without(t, page, "sem horário antes do prazo")
	c.stored.NotAfter = "2037-11-24T13:00:00Z" // 10:00, before the opening of the hours in Acre
	page = c.author.Get(path)
	says(t, page, http.StatusOK, "5 pessoas não recebem", "Onda 3 1.799.988 90% 5 sem horário antes do prazo")
	if n := strings.Count(page.Text(), "sem horário antes do prazo"); n != 1 {
		t.Errorf("%d waves have people without hours, want 1", n)
	}
	if a := c.confirm(c.author); a.Status != http.StatusSeeOther || c.stored.State != submission.StateSending || c.stored.Sending.Wave() != 1 {
		t.Errorf("confirmed: %d, %s, wave %d\n%s", a.Status, c.stored.State, c.stored.Sending.Wave(), a.Text())
	}
}

// planForm returns the fields of the form as the page has them, with some changes.
func (c *company) planForm(change fields) url.Values {
	form := url.Values{"hash": {c.stored.Shown()}, "plan": {"waves"}, "first": {"50"}, "until-1000": {"yes"}, "pause": {"4h0m0s"}}
	for name, value := range change {
		form.Set(name, value)
	}
	return form
}

// An author changes the first wave, the others, the pause and the times before which they do not go.
func TestWaves_Change(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	c.author.Language = "pt-BR"
	says(t, c.author.Get(path), http.StatusOK, "Mudar as ondas", "10.012 pessoas (0,5%)", "200.012 pessoas (10%)", "Uma onda até chegar a 1.000.012 pessoas ao todo (50%)", "todas as 2.000.000 pessoas")
	a := c.author.Post(path+"/waves", c.planForm(fields{
		"first": "100", "until-2500": "yes", "until-5000": "yes", "pause": "15m0s", "notBefore-2500": "2037-11-22T10:00", "notBefore-10000": "2037-11-23T18:30",
	}))
	want := rollout.Plan{Soak: 15 * time.Minute, Waves: []rollout.Wave{
		{Until: 100},
		{Until: 1000},
		{Until: 2500, NotBefore: time.Date(2037, 11, 22, 13, 0, 0, 0, time.UTC)},
		{Until: 5000},
		{Until: 10_000, NotBefore: time.Date(2037, 11, 23, 21, 30, 0, 0, time.UTC)},
	}}
	if diff := cmp.Diff(want, c.stored.Plan); diff != "" || a.Location != path {
		t.Fatalf("%d to %q (-want +got):\n%s\n%s", a.Status, a.Location, diff, a.Text())
	}
	page := c.author.Follow(a)
	says(t, page, http.StatusOK,
		"As ondas da campanha “Natal” foram mudadas. Nada foi enviado ainda.", "20.012 pessoas recebem primeiro. As outras 1.979.988 esperam", "Onda 2 180.000 9% 21/11/2037 09:15", "15 minutos depois do início dela",
		"Onda 3 300.000 15% 22/11/2037 10:00", "Não antes de 22/11/2037 10:00", "Onda 4 500.000 25% 22/11/2037 10:15", "Onda 5 999.988 50% 23/11/2037 18:30", "Confirmar 5 ondas",
	)
	for _, entered := range []string{
		`<option value="100" selected>`, `name="until-5000" value="yes" checked`, `value="15m0s" selected`, `value="2037-11-22T10:00"`, `value="2037-11-23T18:30"`,
	} {
		if !strings.Contains(page.Body, entered) {
			t.Errorf("the form lacks %s:\n%s", entered, page.Body)
		}
	}
	if a := c.author.Post(path+"/waves", c.planForm(fields{"first": "1000"})); len(c.stored.Plan.Waves) != 2 || a.Location != path {
		t.Errorf("a tenth first: %d, %+v", a.Status, c.stored.Plan)
	}
}

// Without waves, the page says what that means, and offers the proposed waves again.
func TestWaves_AtOnce(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	c.author.Language, c.approver.Language = "pt-BR", "pt-BR"
	c.author.Post(path+"/waves", c.planForm(fields{"plan": "once", "notBefore-5000": "tomorrow"}))
	if c.stored.Plan.InWaves() {
		t.Fatalf("the plan is %+v", c.stored.Plan)
	}
	page := c.author.Get(path)
	says(t, page, http.StatusOK, "Ondas Todas as 2.000.000 pessoas recebem de uma vez, sem esperar os primeiros resultados.", "Enviar para 2.000.000 pessoas")
	if !strings.Contains(page.Body, `value="once" checked`) || !strings.Contains(page.Body, `<option value="50" selected>`) || !strings.Contains(page.Body, `value="4h0m0s" selected`) {
		t.Errorf("the form is\n%s", page.Body)
	}
	c.stored.State, c.stored.Approval = submission.StateApproval, submission.Approval{AskedBy: "author@example.com", AskedAt: noon}
	says(t, c.approver.Get(path), http.StatusOK, "A aprovação vale para a mensagem e para o envio a todos de uma vez, sem ondas.", "Aprovar e enviar agora para 2.000.000 pessoas")
}

// A file that is not divided has no waves, in the page and for the form.
func TestWaves_NotDivided(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	if page := c.author.Get(path); strings.Contains(page.Body, "/waves") || strings.Contains(page.Text(), "Waves") {
		t.Errorf("the page has waves:\n%s", page.Text())
	}
	if a := c.author.Post(path+"/waves", c.planForm(nil)); a.Location != path || c.stored.Plan.InWaves() {
		t.Errorf("%d to %q, %+v", a.Status, a.Location, c.stored.Plan)
	}
}

// A form that cannot be taken says why at its field, keeps what was entered, and changes nothing.
func TestWaves_Invalid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    fields
		id, fault string
	}{
		"no such plan":          {fields{"plan": "some"}, "plan", "Choose one of these."},
		"no such first wave":    {fields{"first": "51"}, "first", "Choose one of these."},
		"no such pause":         {fields{"pause": "5m0s"}, "pause", "Choose one of these."},
		"no time":               {fields{"notBefore-1000": "2037-02-30T10:00"}, "notBefore-1000", "Write a date and a time that exist."},
		"a time that passed":    {fields{"notBefore-10000": "2037-11-21T08:59"}, "notBefore-10000", "This time has passed."},
		"a time of no wave":     {fields{"notBefore-5000": "2037-11-25T10:00"}, "notBefore-5000", "This wave is not chosen"},
		"a time of the first":   {fields{"first": "1000", "notBefore-1000": "2037-11-25T10:00"}, "notBefore-1000", "This wave is not chosen"},
		"a wave without people": {fields{"until-2500": "yes"}, "first", "one of the waves has nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newPlanned(t, submission.StateReady)
			if name == "a wave without people" {
				c.stored.Check.Cells[rollout.Cells()-3] = submission.Cell{}
			}
			before := c.stored.Plan
			a := c.author.Post(path+"/waves", c.planForm(test.change))
			says(t, a, http.StatusUnprocessableEntity, "The waves were not changed.", test.fault)
			if !strings.Contains(a.Body, `id="`+test.id+`-fault"`) || !strings.Contains(a.Body, test.id+`-fault"`) || !strings.Contains(a.Body, "<details open>") {
				t.Errorf("the fault is not at %s:\n%s", test.id, a.Body)
			}
			if at := test.change[test.id]; strings.HasPrefix(test.id, "notBefore") && !strings.Contains(a.Body, `name="`+test.id+`" type="datetime-local" value="`+at+`" aria-invalid="true"`) {
				t.Errorf("the field %s does not keep %q:\n%s", test.id, at, a.Body)
			}
			if diff := cmp.Diff(before, c.stored.Plan); diff != "" {
				t.Errorf("the plan changed (-before +now):\n%s", diff)
			}
		})
	}
}

// The form changes only what its page showed, while nobody has confirmed the campaign, and only authors change it.
func TestWaves_Refused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		who    func(c *company) webtest.Person
		state  submission.State
		hash   string // of the form, "" for that of the page
		races  bool
		status int
	}{
		"an older page":  {author, submission.StateReady, "older", false, http.StatusConflict},
		"no page":        {author, submission.StateReady, " ", false, http.StatusConflict},
		"a race":         {author, submission.StateReady, "", true, http.StatusConflict},
		"an approver":    {func(c *company) webtest.Person { return c.approver }, submission.StateReady, "", false, http.StatusForbidden},
		"a viewer":       {func(c *company) webtest.Person { return c.SignIn(tenant, web.RoleViewer) }, submission.StateReady, "", false, http.StatusForbidden},
		"another tenant": {func(c *company) webtest.Person { return c.SignIn("another", web.RoleAdmin) }, submission.StateReady, "", false, http.StatusNotFound},
		"in approval":    {author, submission.StateApproval, "", false, http.StatusSeeOther},
		"being sent":     {author, submission.StateSending, "", false, http.StatusSeeOther},
		"holding":        {author, submission.StateHolding, "", false, http.StatusSeeOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newPlanned(t, test.state)
			c.races = test.races
			before, form := c.stored.Plan, c.planForm(fields{"plan": "once"})
			if test.hash != "" {
				form.Set("hash", strings.TrimSpace(test.hash))
			}
			a := test.who(c).Post(path+"/waves", form)
			if diff := cmp.Diff(before, c.stored.Plan); a.Status != test.status || diff != "" {
				t.Errorf("%d, want %d; the plan (-before +now):\n%s", a.Status, test.status, diff)
			}
			if a.Status == http.StatusConflict {
				says(t, a, http.StatusConflict, "Something has changed since you opened this page.")
			}
		})
	}
	c := newPlanned(t, submission.StateReady)
	viewer := c.SignIn(tenant, web.RoleViewer).Get(path)
	says(t, viewer, http.StatusOK, "nothing more goes before somebody opens the next wave")
	without(t, viewer, "Change the waves")
}

func author(c *company) webtest.Person { return c.author }

// The second click on the form says that the waves are saved. A form of an older page keeps what was entered, and the next
// click saves it.
func TestWaves_Again(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	form := c.planForm(fields{"first": "100", "pause": "15m0s"})
	c.author.Post(path+"/waves", form)
	if again := c.author.Post(path+"/waves", form); again.Location != path {
		t.Errorf("the second click gets %d: %s", again.Status, again.Text())
	}
	before := c.stored.Plan
	form.Set("pause", "24h0m0s")
	form.Set("notBefore-10000", "2037-11-23T18:30")
	page := c.author.Post(path+"/waves", form)
	says(t, page, http.StatusConflict, "Something has changed since you opened this page.")
	for _, entered := range []string{`value="24h0m0s" selected`, `value="2037-11-23T18:30"`, "<details open>"} {
		if !strings.Contains(page.Body, entered) {
			t.Errorf("the form lacks %s:\n%s", entered, page.Body)
		}
	}
	if diff := cmp.Diff(before, c.stored.Plan); diff != "" {
		t.Errorf("the older form changes the plan (-before +now):\n%s", diff)
	}
	form.Set("hash", page.Value("hash"))
	if c.author.Post(path+"/waves", form); c.stored.Plan.Soak != 24*time.Hour {
		t.Errorf("the plan is %+v", c.stored.Plan)
	}
}

// A plan whose last wave goes too late says which wave, and is neither sent nor asked for.
func TestWaves_TooLong(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	c.author.Language, c.approver.Language = "pt-BR", "pt-BR"
	c.stored.NotAfter = "2037-11-21T16:00:00Z"
	page := c.author.Get(path)
	const late = "A onda 3 só poderia sair em 21/11/2037 17:00, e o prazo para enviar termina em 21/11/2037 13:00. Use menos ondas ou uma pausa menor, ou mude o prazo."
	says(t, page, http.StatusOK, strings.Replace(late, "A onda 3 só poderia sair em 21/11/2037 17:00", "A onda 2 só poderia sair em 21/11/2037 13:00", 1))
	c.stored.NotAfter = "2037-11-21T17:00:00Z" // 14:00
	page = c.author.Get(path)
	says(t, page, http.StatusOK, strings.Replace(late, "13:00. Use", "14:00. Use", 1))
	if strings.Contains(page.Body, path+"/confirm") {
		t.Errorf("the page can be confirmed:\n%s", page.Text())
	}
	says(t, c.confirm(c.author), http.StatusConflict, "A última onda sairia tarde demais.", strings.Replace(late, "13:00. Use", "14:00. Use", 1))
	c.stored.NotAfter, c.stored.Plan.Waves[2].NotBefore = "", noon.Add(rollout.MaxDuration)
	says(t, c.author.Get(path), http.StatusOK, "A onda 3 só poderia sair em 05/12/2037 09:00, 14 dias ou mais depois da primeira")
	c.stored.State, c.stored.Approval = submission.StateApproval, submission.Approval{AskedBy: "author@example.com", AskedAt: noon}
	without(t, c.approver.Get(path), "Aprovar 3 ondas")
	says(t, c.decide(c.approver, "approve"), http.StatusConflict, "ou a última onda sairia tarde demais. A campanha não foi enviada e voltou")
}

// The review says on which day each wave is booked, and which wave has no room.
func TestWaves_Budget(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	c.author.Language = "pt-BR"
	c.billing = campaign.Billing{Prices: campaign.Prices{Basic: 100_000}, Limits: campaign.Spending{Day: 190_000_000_000}}
	c.policy.Rules = map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}
	page := c.author.Get(path)
	says(t, page, http.StatusOK, "20.001,50 no orçamento de 21/11/2037 (ondas 1 e 2)", "179.998,80 no orçamento de 23/11/2037 (onda 3)")
	without(t, page, "Falta orçamento")
	c.spent = map[string]campaign.Money{"2037-11-23": 20_000_000_000}
	page = c.author.Get(path)
	says(t, page, http.StatusOK, "Falta orçamento em 23/11/2037: onda 3.")
	if strings.Contains(page.Body, path+"/confirm") {
		t.Error("the page can be confirmed without room")
	}
	says(t, c.confirm(c.author), http.StatusConflict, "Falta orçamento em 23/11/2037: onda 3.")
}

// The approver sees the waves and approves them: others need another approval.
func TestWaves_Approval(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateReady)
	c.from, c.approver.Language = 1, "pt-BR"
	if a := c.confirm(c.author); a.Location != path || c.stored.State != submission.StateApproval {
		t.Fatalf("asked: %d, %s\n%s", a.Status, c.stored.State, a.Text())
	}
	page := c.approver.Get(path)
	says(t, page, http.StatusOK, "Onda 1 10.012 0,5% Assim que for aprovada Aprovação", "A aprovação vale para as 3 ondas e para a mensagem. Nada disso muda sem outra aprovação.",
		"nada mais sai até alguém abrir a próxima onda", "Aprovar 3 ondas e enviar a primeira agora para 10.012 pessoas")
	without(t, page, "Mudar as ondas")
	approval := url.Values{"decision": {"approve"}, "hash": {page.Value("hash")}}
	c.author.Post(path+"/withdraw", nil)
	c.author.Post(path+"/waves", c.planForm(fields{"first": "1000"}))
	c.confirm(c.author)
	if len(c.stored.Plan.Waves) != 2 || c.stored.State != submission.StateApproval {
		t.Fatalf("the plan is %+v, the state %s", c.stored.Plan, c.stored.State)
	}
	says(t, c.approver.Post(path+"/decide", approval), http.StatusConflict, "Algo mudou desde que você abriu esta página.", "A aprovação vale para as 2 ondas", "200.012 pessoas recebem primeiro")
	approval.Set("hash", c.approver.Get(path).Value("hash"))
	c.approver.Post(path+"/decide", approval)
	if c.stored.State != submission.StateSending || c.stored.Sending.Wave() != 1 {
		t.Errorf("approved: %s, wave %d", c.stored.State, c.stored.Sending.Wave())
	}
}

// While a wave is dispatched, the page says how far the wave is, and who waits.
func TestWaves_Sending(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateSending)
	c.author.Language = "pt-BR"
	c.opened(2, 4, 30_000)
	c.stored.Sending.Erased, c.stored.Sending.InOtherBatches = 5, 10
	says(t, c.author.Get(path), http.StatusOK, "5%", "Pessoas do arquivo já aceitas: 30.000 de 2.000.003",
		"Onda 2 de 3. Pessoas que faltam nesta onda: 170.000 de 190.000. As outras 1.799.988 esperam: nada é enviado a elas até alguém abrir a próxima onda.")
	part := c.author
	part.Header.Set("HX-Request", "true")
	says(t, part.Get(path), http.StatusOK, "Onda 2 de 3. Pessoas que faltam nesta onda: 170.000")
}

// A campaign that stopped within a wave says in which one, what is left of it, and who waits.
func TestWaves_Interrupted(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateInterrupted)
	c.author.Language = "pt-BR"
	c.stored.Fault.Code = "budget_exceeded"
	c.opened(2, 4, 30_015)
	page := c.author.Get(path)
	says(t, page, http.StatusOK, "O envio parou.", "Onda 2 de 3. Pessoas que faltam nesta onda: 170.000 de 190.000. As outras 1.799.988 esperam", "Continuar a onda 2",
		"Não enviar o resto nem as próximas ondas")
	without(t, page, "recebem primeiro", "Mudar as ondas", "submission.", "sending.")
	c.opened(1, 48, 1_500_003)
	page = c.author.Get(path)
	says(t, page, http.StatusOK, "Onda 3 de 3. Pessoas que faltam nesta onda: 500.000 de 1.799.988.", "Continuar a onda 3", "Não enviar o resto")
	without(t, page, "esperam", "próximas ondas")
	a := c.author.Post(path+"/confirm", url.Values{"hash": {c.stored.Shown()}})
	says(t, c.author.Follow(a), http.StatusOK, "A onda 3 da campanha “Natal” está sendo enviada.")
	if c.stored.State != submission.StateSending || c.stored.Sending.Wave() != 3 {
		t.Errorf("continued: %s, wave %d", c.stored.State, c.stored.Sending.Wave())
	}
}

// A campaign that waits for the next wave is among the files that need a person, with a link to the campaign.
func TestWaves_Holding(t *testing.T) {
	t.Parallel()
	c := newPlanned(t, submission.StateHolding)
	c.author.Language = "pt-BR"
	c.opened(1, 2, 10_015)
	other := c.stored
	other.State, other.Name = submission.StateSent, "Sent"
	c.others = append(c.others, other)
	if a := c.author.Get(path); a.Location != campaignOf(path) {
		t.Errorf("the page answers %d to %q", a.Status, a.Location)
	}
	list := c.author.Get(sending.SubmissionsPath)
	says(t, list, http.StatusOK, "Natal Aguarda decisão: onda 2 de 3", "Arquivos para revisar 1")
	if !strings.Contains(list.Body, `<a href="`+campaignOf(path)+`">Natal</a>`) || strings.Index(list.Body, "Natal") > strings.Index(list.Body, "Enviados e encerrados") {
		t.Errorf("the list is\n%s", list.Body)
	}
	c.stored.Approval = submission.Approval{AskedBy: "author@example.com", Decision: submission.DecisionApproved, DecidedBy: "approver@example.com"}
	says(t, c.author.Get(sending.ApprovalsPath), http.StatusOK, "Aprovada; a onda 2 de 3 aguarda decisão")
	part := c.author
	part.Header = http.Header{"Hx-Request": {"true"}}
	if a := part.Get(path); !strings.Contains(fmt.Sprint(a.Location, a.Header), campaignOf(path)) {
		t.Errorf("the progress of the wave before answers %d %v", a.Status, a.Header)
	}
}

// A file of many people goes in waves through the real services: the rest waits, and can be discarded.
func TestWaves_HoldAndDiscard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.intake.Worker.WavesFrom = 12_000
	var rows strings.Builder
	rows.WriteString("phone;uid;nome\n")
	for n := range 12_000 {
		fmt.Fprintf(&rows, "119%08d;%d;Ana\n", 80_000_000+n, n)
	}
	_, address := b.review(rows.String(), fields{"name": "Natal"})
	b.run()
	page := b.admin.Get(address)
	says(t, page, http.StatusOK, "Confirm 2 waves", "Total 12,000")
	b.confirm(page, address)
	b.run()
	sub, err := b.store.Submission(t.Context(), campaign.ID{Tenant: b.tenant, CampaignID: strings.TrimPrefix(address, sending.SubmissionsPath+"/")})
	if err != nil || sub.State != submission.StateHolding || sub.Sending.Accepted != sub.OfWave(1).Accepted || sub.OfWave(1).Accepted+sub.OfWave(2).Accepted != 12_000 {
		t.Fatalf("%v, the campaign is %s with %+v", err, sub.State, sub.Sending)
	}
	says(t, b.admin.Get(sending.SubmissionsPath), http.StatusOK, "Waits for a decision: wave 2 of 2")
	a := b.admin.Post(address+"/cancel", nil)
	if a.Location != campaignOf(address) {
		t.Fatalf("discarded: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	a.Location = address // the notice is that of the next page
	says(t, b.admin.Follow(a), http.StatusOK, "The rest of the campaign “Natal” was discarded", "The rest of this campaign was discarded")
	if log := strings.Join(b.decided(), "\n"); !strings.Contains(log, "rollout.discard") {
		t.Errorf("the audit log has\n%s", log)
	}
	c, err := b.store.Dispatched(t.Context(), sub.ID)
	if err != nil || !c.CancelledAt.IsZero() {
		t.Errorf("%v, the campaign was cancelled at %s", err, c.CancelledAt)
	}
}
