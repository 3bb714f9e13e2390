package intake_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
)

// desk is a store with one submission, which counts the decisions that are saved.
type desk struct {
	intake.Store
	intake.Uploads
	sub     submission.Submission
	version int // of the template
	saved   int
	actions []string
	spent   campaign.Money            // on any day
	month   map[string]campaign.Money // spent, as 2026-11
	limit   campaign.Money            // of a month
	policy  reach.TenantHours
	rule    int // of approval
}

func (d *desk) Submission(context.Context, campaign.ID) (submission.Submission, error) {
	return d.sub, nil
}

func (d *desk) SaveDecision(_ context.Context, sub submission.Submission, e account.AuditEntry) (submission.Submission, error) {
	d.saved, d.sub, d.actions = d.saved+1, sub, append(d.actions, e.Action)
	return sub, nil
}

func (d *desk) Template(context.Context, string) (campaign.Template, error) {
	return campaign.Template{Tenant: "t", Version: d.version}, nil
}

func (d *desk) TemplateVersion(_ context.Context, _ string, version int) (campaign.Template, error) {
	return campaign.Template{Tenant: "t", Version: version}, nil
}

func (d *desk) Billing(context.Context, string) (campaign.Billing, error) {
	return campaign.Billing{Prices: campaign.Prices{Basic: 2, Single: 5}, Limits: campaign.Spending{Day: 100, Month: d.limit}}, nil
}

func (d *desk) Spending(_ context.Context, _, date string) (campaign.Spending, error) {
	return campaign.Spending{Day: d.spent, Month: d.month[campaign.MonthOf(date)]}, nil
}

func (d *desk) TenantHours(context.Context, string) (reach.TenantHours, error) { return d.policy, nil }

func (d *desk) ApprovalFrom(context.Context, string) (int, error) { return d.rule, nil }

func (d *desk) Send(context.Context, string, []byte, time.Duration) error { return nil }

func (d *desk) service() *intake.Service {
	return &intake.Service{Store: d, Tasks: d, Rules: d, Now: func() time.Time { return noon }, Lead: time.Minute}
}

// newDesk returns a desk with a submission of ana, which 7 of 10 people get.
func newDesk(state submission.State, decision submission.Decision) *desk {
	d := &desk{version: 1, sub: submission.Submission{
		ID: campaign.ID{Tenant: "t", CampaignID: "c"}, State: state, TemplateVersion: 1, Name: "Natal",
		Check: submission.Check{Hash: "h", Findings: submission.Findings{
			Accepted: 10, OptedOut: 3, Classes: campaign.ClassCounts{Basic: 6, Single: 4}, OptedOutClasses: campaign.ClassCounts{Basic: 1, Single: 2},
			ByZones: map[window.Set]campaign.ClassCounts{inSaoPaulo: {Basic: 6, Single: 4}},
		}},
	}}
	if state == submission.StateApproval || decision != "" {
		d.sub.Approval = submission.Approval{AskedBy: ana, AskedAt: noon, Decision: decision}
		if decision != "" {
			d.sub.Approval.DecidedBy = "caio@example.com"
		}
	}
	return d
}

// choices are the steps of a person.
var choices = []intake.Choice{intake.Send, intake.Ask, intake.Approve, intake.Withdraw, intake.Reopen, intake.Refuse}

var allStates = []submission.State{
	submission.StateDraft,
	submission.StateUploading, submission.StateOpening, submission.StateColumns, submission.StateChecking, submission.StateReady, submission.StateApproval,
	submission.StateRefused, submission.StateSending, submission.StateInterrupted, submission.StateSent, submission.StateFailed, submission.StateDiscarded,
}

// In every state, with every earlier decision, for who asked and for another person, as shown or
// not: exactly the steps listed here take effect.
func TestApproval_EveryStep(t *testing.T) {
	t.Parallel()
	takes := map[string]submission.State{ // state, step, who, shown: the next state
		"ready send ana true": submission.StateSending, "ready send bia true": submission.StateSending,
		"interrupted send ana true": submission.StateSending, "interrupted send bia true": submission.StateSending,
		"ready ask ana true": submission.StateApproval, "ready ask bia true": submission.StateApproval,
		"approval approve bia true": submission.StateSending,
		"approval refuse bia true":  submission.StateRefused, "approval refuse ana true": submission.StateRefused,
		"approval withdraw ana true": submission.StateReady, "approval withdraw ana false": submission.StateReady,
		"refused reopen ana true": submission.StateReady, "refused reopen ana false": submission.StateReady,
	}
	left := maps.Clone(takes)
	for _, state := range allStates {
		for _, decision := range []submission.Decision{"", submission.DecisionApproved, submission.DecisionRefused, submission.DecisionWithdrawn, submission.DecisionReturned} {
			if state == submission.StateApproval && decision != "" || state == submission.StateRefused && decision != submission.DecisionRefused {
				continue // never stored
			}
			for _, choice := range choices {
				for who, email := range map[string]string{"ana": ana, "bia": bia} {
					for _, shown := range []bool{true, false} {
						d := newDesk(state, decision)
						step := stepOf(choice, d.sub, email, string(choice))
						if !shown {
							step.Shown = "another"
						}
						_, err := d.service().Decide(t.Context(), step)
						key := fmt.Sprintf("%s %s %s %t", state, choice, who, shown)
						want, ok := takes[key]
						delete(left, key)
						if !ok {
							want = state
						}
						if d.sub.State != want || (d.saved == 1) != ok || (err == nil) != ok && !quiet(key, decision) {
							t.Errorf("%s after %q: %s, saved %d times, %v; want %s", key, decision, d.sub.State, d.saved, err, want)
						}
					}
				}
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("never tried: %v", slices.Sorted(maps.Keys(left)))
	}
}

// quiet reports whether a step is one that the same person has taken before.
func quiet(key string, decision submission.Decision) bool {
	return strings.HasPrefix(key, "ready reopen ana") && decision == submission.DecisionRefused || strings.HasPrefix(key, "approval ask ana true")
}

// One person does not send what needs a second one, whatever it was when the page judged it: a request
// that is withdrawn meanwhile shows the same.
func TestSend_NeedsApproval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state submission.State
		rule  int
		want  error
	}{
		"many people":          {submission.StateReady, 10, intake.ErrNeedsApproval},
		"few people":           {submission.StateReady, 11, nil},
		"the rest, after both": {submission.StateInterrupted, 10, nil},
	} {
		d := newDesk(test.state, submission.DecisionWithdrawn)
		d.rule, d.sub.Check.Findings.Rejected = test.rule, []submission.LineFault{{Lines: submission.Lines{Count: 2}}}
		if _, err := d.service().Decide(t.Context(), stepOf(intake.Send, d.sub, ana, "campaign.dispatch")); !errors.Is(err, test.want) || (d.saved == 0) != (test.want != nil) {
			t.Errorf("%s: %v, saved %d times", name, err, d.saved)
		}
	}
}

// A form that is sent twice succeeds, and has one effect.
func TestApproval_Repeated(t *testing.T) {
	t.Parallel()
	for choice, test := range map[intake.Choice]struct {
		state submission.State
		who   string
	}{
		intake.Ask: {submission.StateReady, ana}, intake.Approve: {submission.StateApproval, bia}, intake.Refuse: {submission.StateApproval, bia},
		intake.Withdraw: {submission.StateApproval, ana},
	} {
		d := newDesk(test.state, "")
		step := stepOf(choice, d.sub, test.who, string(choice))
		for range 2 {
			if _, err := d.service().Decide(t.Context(), step); err != nil {
				t.Errorf("%s: %v", choice, err)
			}
		}
		if d.saved != 1 {
			t.Errorf("%s is saved %d times", choice, d.saved)
		}
		again := stepOf(intake.Approve, d.sub, "caio@example.com", string(choice))
		if _, err := d.service().Decide(t.Context(), again); test.state == submission.StateApproval && !errors.Is(err, intake.ErrDecided) {
			t.Errorf("an approval after %s: %v", choice, err)
		}
	}
}

// What is no longer as it was checked is not sent. An approval that comes too late returns the
// campaign to who asked; one that has no budget waits for room.
func TestApproval_NoLongerGood(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(d *desk)
		state  submission.State // after an approval
		err    error            // of a confirmation
	}{
		"template changed": {func(d *desk) { d.version = 2 }, submission.StateReady, intake.ErrChanged},
		"time passed":      {func(d *desk) { d.sub.Schedule = noon.Add(-time.Hour).Format(time.RFC3339) }, submission.StateReady, intake.ErrScheduleMissed},
		"no budget":        {func(d *desk) { d.spent = 69 }, submission.StateApproval, intake.ErrOverBudget},
	} {
		d := newDesk(submission.StateApproval, "")
		test.change(d)
		_, err := d.service().Decide(t.Context(), stepOf(intake.Approve, d.sub, bia, "approval.approve"))
		if d.sub.State != test.state || (err == nil) != (test.state == submission.StateReady) {
			t.Errorf("%s: approved, it is %s, %v", name, d.sub.State, err)
		}
		if diff := cmp.Diff([]string{"approval.return"}, d.actions); test.state == submission.StateReady && diff != "" {
			t.Errorf("%s: audit log (-want +got):\n%s", name, diff)
		}
		for _, confirm := range []intake.Choice{intake.Send, intake.Ask} {
			d := newDesk(submission.StateReady, "")
			test.change(d)
			if _, err := d.service().Decide(t.Context(), stepOf(confirm, d.sub, ana, string(confirm))); !errors.Is(err, test.err) || d.saved > 0 {
				t.Errorf("%s: %s gets %v, saved %d times", name, confirm, err, d.saved)
			}
		}
	}
}

// The rest of a campaign that a person has confirmed goes on with the version that was confirmed.
func TestSend_RestAfterTemplateChange(t *testing.T) {
	t.Parallel()
	d := newDesk(submission.StateInterrupted, "")
	d.version, d.sub.Fault.Code = 2, campaign.CodeTemplateChanged
	sub, err := d.service().Decide(t.Context(), stepOf(intake.Send, d.sub, ana, "campaign.dispatch"))
	if err != nil || sub.State != submission.StateSending || sub.TemplateVersion != 1 {
		t.Errorf("the rest is %s with version %d, %v", sub.State, sub.TemplateVersion, err)
	}
}

// The price is of those who get a message, and all accepted messages are reserved. A campaign that
// has just room may go.
func TestQuote(t *testing.T) {
	t.Parallel()
	d := newDesk(submission.StateReady, "")
	d.spent = 68
	q, err := d.service().Quote(t.Context(), d.sub)
	if err != nil || !q.Priced || q.Price != 20 || q.Reserves != 32 || len(q.Budgets) != 1 || q.Budgets[0].Day.Used != 68 || q.Exceeded() {
		t.Errorf("%+v, %v", q, err)
	}
	d.spent++
	if q, err = d.service().Quote(t.Context(), d.sub); err != nil || !q.Exceeded() {
		t.Errorf("%+v, %v; want it exceeded", q, err)
	}
}

var (
	inSaoPaulo = window.Set(0).With(window.SaoPaulo)
	inAcre     = window.Set(0).With(window.RioBranco)
)

// quoted returns the dates of a quote with their amounts, and whether a budget is exceeded.
func quoted(q intake.Quote) (dates []string, exceeded bool) {
	for _, b := range q.Budgets {
		dates = append(dates, b.Date+" "+b.Cost.String())
	}
	return dates, q.Exceeded()
}

// The review counts each part on the day of its first opening, as its acceptance does. 22:00 on November 30 in São Paulo
// is 20:00 in Acre, and December 1 is a holiday.
func TestQuote_ByHours(t *testing.T) {
	t.Parallel()
	usual := reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}, Holidays: []string{"12-01"}}
	parts := map[window.Set]campaign.ClassCounts{inSaoPaulo: {Basic: 6}, inAcre: {Single: 2}, inAcre | inSaoPaulo: {Single: 2}}
	one := map[window.Set]campaign.ClassCounts{inSaoPaulo: {Basic: 6, Single: 4}}
	for name, test := range map[string]struct {
		policy   reach.TenantHours
		parts    map[window.Set]campaign.ClassCounts
		month    map[string]campaign.Money // spent of 100
		want     []string
		exceeded bool
	}{
		"without hours":             {reach.TenantHours{}, parts, nil, []string{"2037-11-30 0.000032"}, false},
		"November is full":          {reach.TenantHours{}, parts, map[string]campaign.Money{"2037-11": 69}, []string{"2037-11-30 0.000032"}, true},
		"one opening":               {usual, one, map[string]campaign.Money{"2037-11": 100}, []string{"2037-12-02 0.000032"}, false},
		"one opening, no room":      {usual, one, map[string]campaign.Money{"2037-12": 69}, []string{"2037-12-02 0.000032"}, true},
		"of the previous version":   {usual, nil, map[string]campaign.Money{"2037-12": 69}, []string{"2037-12-02 0.000032"}, true},
		"two openings":              {usual, parts, map[string]campaign.Money{"2037-11": 80, "2037-12": 88}, []string{"2037-11-30 0.00002", "2037-12-02 0.000012"}, false},
		"two openings, no room":     {usual, parts, map[string]campaign.Money{"2037-12": 89}, []string{"2037-11-30 0.00002", "2037-12-02 0.000012"}, true},
		"the first one has no room": {usual, parts, map[string]campaign.Money{"2037-11": 81}, []string{"2037-11-30 0.00002", "2037-12-02 0.000012"}, true},
	} {
		d := newDesk(submission.StateReady, "")
		d.sub.Schedule, d.sub.Check.Findings.ByZones = "2037-11-30T22:00:00", test.parts
		d.policy, d.month, d.limit = test.policy, test.month, 100
		q, err := d.service().Quote(t.Context(), d.sub)
		dates, exceeded := quoted(q)
		if diff := cmp.Diff(test.want, dates); diff != "" || err != nil || exceeded != test.exceeded {
			t.Errorf("%s: exceeded %t, %v, budgets (-want +got):\n%s", name, exceeded, err, diff)
		}
	}
}

// Two days of one month share its budget.
func TestQuote_DaysOfOneMonth(t *testing.T) {
	t.Parallel()
	q := intake.Quote{Budgets: []campaign.BudgetFigures{
		{Date: "2037-11-29", Cost: 20, Month: &campaign.MonthBudget{Month: "2037-11", Limit: 100, Used: 68}},
		{Date: "2037-11-30", Cost: 12, Month: &campaign.MonthBudget{Month: "2037-11", Limit: 100, Used: 68}},
	}}
	if q.Exceeded() {
		t.Error("32 of 32 are exceeded")
	}
	q.Budgets[0].Month.Used, q.Budgets[1].Month.Used = 69, 69
	if !q.Exceeded() {
		t.Error("32 have room in 31")
	}
}

// The row of a submission stays small, whatever the parts of its file have.
func TestFindings_ManyKindsOfParts(t *testing.T) {
	t.Parallel()
	var f submission.Findings
	for set := range 10_000 {
		f.AddPart(window.Set(set), campaign.ClassCounts{Basic: 1})
	}
	sum := 0
	for _, n := range f.ByZones {
		sum += n.Basic
	}
	if len(f.ByZones) > 200 || sum != 10_000 {
		t.Errorf("%d kinds of parts with %d messages", len(f.ByZones), sum)
	}
}

// A request can be decided until 30 days after the campaign's time, or after it was asked for.
func TestApproval_FilesUntil(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		asked bool
		due   time.Duration
		want  time.Duration
	}{
		"never asked": {false, 90 * day, 7 * day},
		"at once":     {true, 0, 31 * day},
		"scheduled":   {true, 90 * day, 120 * day},
	} {
		sub := submission.Submission{CreatedAt: noon}
		if test.asked {
			sub.Approval = submission.Approval{AskedBy: ana, AskedAt: noon.Add(day)}
		}
		if test.due > 0 {
			sub.Schedule = noon.Add(test.due).Format(time.RFC3339)
		}
		if got := sub.FilesUntil().Sub(noon); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// auditLog returns the actions by the campaign, sorted.
func (c *company) auditLog() map[string][]string {
	c.t.Helper()
	log := map[string][]string{}
	for older := ""; ; {
		entries, next, err := c.store.AuditLog(c.t.Context(), c.tenant, older, 100)
		c.must(err)
		for _, e := range entries {
			log[e.Subject] = append(log[e.Subject], e.Action)
		}
		if older = next; next == "" {
			break
		}
	}
	for _, actions := range log {
		slices.Sort(actions)
	}
	return log
}

// What the review says about budgets is what the acceptance of the parts books: three time zones over the end of a month
// with a holiday.
func TestQuote_IsWhatIsBooked(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.must(c.store.SetBilling(t.Context(), c.tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: 50_000, Single: 100_000}, Limits: campaign.Spending{Day: 1_000_000, Month: 1_000_000},
	}))
	c.must(c.store.SaveTenantHours(t.Context(), c.tenant, reach.TenantHours{
		Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}, Holidays: []string{"04-01"},
	}))
	const file = "Celular;Código;Nome\n11988880001;a;Ana\n11988880002;b;Bia\n" + // parts of two people
		"68988880001;c;Caio\n68988880002;d;Davi\n" + "92988880001;e;Eva\n68988880003;f;Fay\n" + "92988880002;g;Gil\n"
	sub := c.ready(file, func(sub *submission.Submission) { sub.Schedule = "2037-03-31T22:00:00" })
	q, err := c.Quote(t.Context(), sub)
	c.must(err)
	dates, exceeded := quoted(q)
	if diff := cmp.Diff([]string{"2037-03-31 0.20", "2037-04-02 0.15"}, dates); diff != "" || exceeded {
		t.Errorf("exceeded %t, budgets (-want +got):\n%s", exceeded, diff)
	}
	c.send(sub)
	for _, b := range q.Budgets {
		used, err := c.store.Spending(t.Context(), c.tenant, b.Date)
		c.must(err)
		if used.Day != b.Cost {
			t.Errorf("%s is booked on %s, the review said %s", used.Day, b.Date, b.Cost)
		}
	}
}
