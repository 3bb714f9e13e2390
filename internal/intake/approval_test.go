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

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/settings/account"
)

// desk is a store with one submission, which counts the decisions that are saved.
type desk struct {
	intake.Store
	intake.Uploads
	sub     submission.Submission
	version int // of the template
	saved   int
	actions []string
	spent   campaign.Money
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

func (d *desk) Billing(context.Context, string) (campaign.Billing, error) {
	return campaign.Billing{Prices: campaign.Prices{Basic: 2, Single: 5}, Limits: campaign.Spending{Day: 100}}, nil
}

func (d *desk) Spending(context.Context, string, string) (campaign.Spending, error) {
	return campaign.Spending{Day: d.spent}, nil
}

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
		"time passed":      {func(d *desk) { d.sub.Schedule = noon.Add(-time.Hour).Format(time.RFC3339) }, submission.StateReady, intake.ErrTooLate},
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

// The price is of those who get a message, and all accepted messages are reserved. A campaign that
// has just room may go.
func TestQuote(t *testing.T) {
	t.Parallel()
	d := newDesk(submission.StateReady, "")
	d.spent = 68
	q, err := d.service().Quote(t.Context(), d.sub)
	if err != nil || !q.Priced || q.Price != 20 || q.Reserves != 32 || q.Budget.Day.Used != 68 || q.Exceeded() {
		t.Errorf("%+v, %v", q, err)
	}
	d.spent++
	if q, err = d.service().Quote(t.Context(), d.sub); err != nil || !q.Exceeded() {
		t.Errorf("%+v, %v; want it exceeded", q, err)
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
