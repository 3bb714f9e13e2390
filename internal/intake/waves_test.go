package intake_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/rollout/bucket"
)

// inThree divides a few dozen people among three waves, in each of which are some.
var inThree = rollout.Plan{Soak: 4 * time.Hour, Waves: []rollout.Wave{{Until: 2500}, {Until: 5000}, {Until: bucket.Count}}}

// crowd returns a file of people.
func crowd(people int) string {
	var file strings.Builder
	file.WriteString("Celular;Código;Nome\n")
	for n := range people {
		_, _ = fmt.Fprintf(&file, "1198888%04d;p%d;Ana\n", n, n)
	}
	return file.String()
}

// inWaves returns a checked submission in three waves. No wave is empty.
func (c *company) inWaves(people int, change func(sub *submission.Submission)) submission.Submission {
	c.t.Helper()
	for {
		c.wavesFrom, c.partLines = 5, 4
		sub := c.ready(crowd(people), change)
		err := c.SetPlan(c.t.Context(), sub, inThree)
		if err == nil {
			return c.stored(sub)
		}
		if slices.Min(inThree.People(sub.Check.People())) > 0 { // else chance has left a wave empty
			c.t.Fatal(err)
		}
	}
}

// openWave opens a wave as ana does.
func (c *company) openWave(sub submission.Submission, wave int) error {
	step := stepOf(intake.OpenWave, sub, ana, "rollout.open")
	step.Wave, step.Early = wave, true
	_, err := c.Decide(c.t.Context(), step)
	return err
}

// peopleOf returns the uids of the campaign's messages by the wave of their batch, 0 for batches of the API.
func (c *company) peopleOf(sub submission.Submission) map[int][]string {
	c.t.Helper()
	all, err := c.store.Dispatched(c.t.Context(), sub.ID)
	c.must(err)
	people := map[int][]string{}
	for _, b := range all.Batches {
		part, _ := strconv.Atoi(b.Name)
		wave := all.Submission.Cells.WaveOf(part)
		messages, err := payload.ReadAll(c.t.Context(), c.blobs, b.Batch)
		c.must(err)
		for _, m := range messages {
			people[wave] = append(people[wave], m.UID)
		}
	}
	for _, uids := range people {
		slices.Sort(uids)
	}
	return people
}

// expected returns the uids of a crowd by the wave of their number.
func expected(sub submission.Submission, people int) map[int][]string {
	all := map[int][]string{}
	for n := range people {
		at := bucket.Of(bucket.Wave(sub.CampaignID), e164.Number(5511988880000+n))
		wave := sub.Plan.WaveOf(rollout.CellOf(at))
		all[wave] = append(all[wave], "p"+strconv.Itoa(n))
	}
	for _, uids := range all {
		slices.Sort(uids)
	}
	return all
}

// Each wave goes when a person opens it, to the people of its buckets. Nobody gets two messages, and nothing goes before.
func TestWaves_Opened(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.inWaves(60, nil)
	want := expected(sub, 60)
	sub = c.send(sub)
	for wave := 1; wave <= 3; wave++ {
		people := maps.Clone(want)
		maps.DeleteFunc(people, func(w int, _ []string) bool { return w > wave })
		if diff := cmp.Diff(people, c.peopleOf(sub)); diff != "" {
			t.Fatalf("after wave %d (-want +got):\n%s", wave, diff)
		}
		if wave == 3 {
			break
		}
		s := c.totals(sub)
		if sub.State != submission.StateHolding || s.Holding() != wave+1 || sub.NextWave() != wave+1 || s.ToCome() != 60-s.Accepted {
			t.Fatalf("after wave %d: %s, %+v", wave, sub.State, s)
		}
		c.now = c.now.Add(time.Hour)
		for range 2 { // the second click changes nothing
			c.must(c.openWave(sub, wave+1))
		}
		c.run()
		sub = c.stored(sub)
	}
	if s := c.totals(sub); sub.State != submission.StateSent || s.Accepted != 60 || s.PartsToCome != 0 || len(c.files(sub)) > 0 {
		t.Errorf("at the end: %s, %+v, files %v", sub.State, s, c.files(sub))
	}
	log := c.auditLog()[sub.Name]
	if diff := cmp.Diff([]string{"campaign.dispatch", "rollout.open", "rollout.open"}, log); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	var opened []time.Duration
	for _, w := range sub.Sending.Waves {
		opened = append(opened, w.At.Sub(noon))
	}
	if diff := cmp.Diff([]time.Duration{0, time.Hour, 2 * time.Hour}, opened); diff != "" || sub.Sending.Waves[1].Reason != "wrong" || sub.Sending.Waves[2].By != ana {
		t.Errorf("opened %+v (-want +got):\n%s", sub.Sending.Waves, diff)
	}
}

// A divided file that goes at once goes as any other.
func TestWaves_AtOnce(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.inWaves(40, nil)
	c.must(c.SetPlan(t.Context(), sub, rollout.Plan{}))
	sub = c.send(c.stored(sub))
	if s := c.totals(sub); sub.State != submission.StateSent || s.Accepted != 40 || s.Holding() != 0 || s.Cells.Waves() != 0 || len(sub.Sending.Waves) > 0 {
		t.Errorf("%s, %+v", sub.State, s)
	}
}

// Below the number of people, a file has no cells and no plan.
func TestWaves_SmallFile(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.wavesFrom = 41
	sub := c.ready(crowd(40), nil)
	if sub.Check.Divided() || sub.Plan.InWaves() || sub.Check.Number != 1 {
		t.Errorf("check %d, divided %t, in waves %t", sub.Check.Number, sub.Check.Divided(), sub.Plan.InWaves())
	}
	if err := c.SetPlan(t.Context(), sub, inThree); err == nil {
		t.Error("it can go in waves")
	}
}

// A wave that may not be opened stays closed, and nothing is written.
func TestWaves_NotOpened(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return noon.Add(d).Format(time.RFC3339) }
	for name, test := range map[string]struct {
		change func(c *company, sub submission.Submission)
		wave   int
		err    error
	}{
		"wave after the next": {nil, 3, intake.ErrState},
		"no such wave":        {nil, 0, intake.ErrState},
		"negative wave":       {nil, -1, intake.ErrState},
		"before its time": {func(c *company, sub submission.Submission) {
			sub.Plan.Waves[1].NotBefore = noon.Add(time.Minute)
			c.save(sub)
		}, 2, intake.ErrTooEarly},
		"before the campaign's time": {func(c *company, sub submission.Submission) { sub.Schedule = at(time.Hour); c.save(sub) }, 2, intake.ErrTooEarly},
		"after notAfter":             {func(c *company, sub submission.Submission) { sub.NotAfter = at(0); c.save(sub) }, 2, intake.ErrScheduleMissed},
		"after 14 days":              {func(c *company, _ submission.Submission) { c.now = c.now.Add(rollout.MaxDuration) }, 2, intake.ErrScheduleMissed},
		"paused": {func(c *company, sub submission.Submission) {
			_, err := c.store.PauseCampaign(c.t.Context(), sub.ID, c.now)
			c.must(err)
		}, 2, intake.ErrPaused},
		"cancelled": {func(c *company, sub submission.Submission) {
			c.must(c.store.CancelCampaign(c.t.Context(), sub.ID, c.now, false))
		}, 2, intake.ErrState},
		"discarded": {func(c *company, sub submission.Submission) { c.must(c.Discard(c.t.Context(), sub)) }, 2, intake.ErrState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.send(c.inWaves(40, nil))
			before := c.totals(sub).Accepted
			if test.change != nil {
				test.change(c, sub)
			}
			if err := c.openWave(sub, test.wave); !errors.Is(err, test.err) {
				t.Errorf("%v, want %v", err, test.err)
			}
			c.run()
			if s := c.totals(sub); s.Accepted != before || slices.Contains(c.auditLog()[sub.Name], "rollout.open") {
				t.Errorf("%d accepted, %d before; audit log %v", s.Accepted, before, c.auditLog()[sub.Name])
			}
		})
	}
}

// A plan that is not one of the file changes nothing, nor does one of a campaign that somebody has confirmed.
func TestWaves_PlanRefused(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.inWaves(40, nil)
	bad := inThree
	bad.Waves = bad.Waves[:2]
	if err := c.SetPlan(t.Context(), sub, bad); err == nil {
		t.Error("a plan that leaves people out was saved")
	}
	shown := sub.Shown()
	sub = c.send(sub)
	if err := c.SetPlan(t.Context(), sub, rollout.Plan{}); !errors.Is(err, intake.ErrState) || c.stored(sub).Shown() != shown {
		t.Errorf("after the confirmation: %v, the same shown %t", err, c.stored(sub).Shown() == shown)
	}
}

// What was confirmed is a plan: after a change of it, the page is another one.
func TestWaves_PlanChangedMeanwhile(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.inWaves(40, nil)
	other := inThree
	other.Soak = time.Hour
	c.must(c.SetPlan(t.Context(), sub, other))
	if err := c.Send(t.Context(), sub); !errors.Is(err, intake.ErrChanged) {
		t.Errorf("confirmed as shown before: %v", err)
	}
	asked := c.stored(sub)
	_, err := c.Decide(t.Context(), stepOf(intake.Ask, asked, ana, "approval.ask"))
	c.must(err)
	if err := c.SetPlan(t.Context(), c.stored(sub), inThree); !errors.Is(err, intake.ErrState) {
		t.Errorf("changed while it waits for approval: %v", err)
	}
	_, err = c.Decide(t.Context(), stepOf(intake.Approve, asked, bia, "approval.approve"))
	c.must(err)
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateHolding || sub.Plan.Soak != time.Hour {
		t.Errorf("approved: %s, soak %v", sub.State, sub.Plan.Soak)
	}
}

// The rest that waits is discarded: by a person, at the end of its time, or with the campaign. Its people are not accepted,
// and its parts are kept for exports.
func TestWaves_RestDiscarded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *company, sub submission.Submission){
		"by a person":   func(c *company, sub submission.Submission) { c.must(c.Discard(c.t.Context(), sub)) },
		"after 14 days": func(c *company, sub submission.Submission) { c.expire(sub, noon.Add(rollout.MaxDuration)) },
		"notAfter": func(c *company, sub submission.Submission) {
			sub.NotAfter = noon.Add(time.Hour).Format(time.RFC3339)
			c.expire(c.save(sub), noon.Add(time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.send(c.inWaves(40, nil))
			if next := sub.NextCheck(c.now); next.Before(noon.Add(rollout.MaxDuration)) {
				t.Errorf("sweep looks at it at %v", next)
			}
			end(c, sub)
			c.run()
			s := c.totals(sub)
			if sub = c.stored(sub); sub.State != submission.StateDiscarded || sub.DeletingFiles || s.NeverAccepted() != 40-s.Accepted || s.PartsToCome != 0 {
				t.Fatalf("%s, %+v", sub.State, s)
			}
			if left := s.PartsNotAccepted(); len(left) != len(c.files(sub)) {
				t.Errorf("%d parts are not accepted, %d files are kept", len(left), len(c.files(sub)))
			}
			for _, part := range s.PartsNotAccepted() {
				if _, err := c.blobs.Get(t.Context(), submission.NotAcceptedKey(sub.ID, s, part)); err != nil {
					t.Errorf("part %d: %v", part, err)
				}
			}
		})
	}
}

// expire does what sweep does with a submission whose time ends at an instant.
func (c *company) expire(sub submission.Submission, at time.Time) {
	c.t.Helper()
	if !sub.FilesUntil().Equal(at) || !sub.NextCheck(c.now).Equal(at) {
		c.t.Errorf("it ends at %v and is looked at at %v, want %v", sub.FilesUntil(), sub.NextCheck(c.now), at)
	}
	c.now = at
	c.save(sub.Close(submission.StateDiscarded))
	c.queue.tasks = []submission.Task{{Tenant: sub.Tenant, CampaignID: sub.CampaignID}}
}

// Wave 2 meets a full budget: it is interrupted, and goes on when a person continues it. Wave 3 still waits.
func TestWaves_Interrupted(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.send(c.inWaves(60, nil))
	limit := func(day campaign.Money) {
		c.must(c.store.SetBilling(t.Context(), c.tenant, campaign.Billing{Prices: campaign.Prices{Basic: 50_000, Single: 50_000}, Limits: campaign.Spending{Day: day}}))
	}
	limit(1)
	c.must(c.openWave(sub, 2))
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateInterrupted || sub.Fault.Code != campaign.CodeBudgetExceeded {
		t.Fatalf("%s, %q", sub.State, sub.Fault.Code)
	}
	if err := c.openWave(sub, 3); !errors.Is(err, intake.ErrState) {
		t.Errorf("wave 3 was opened before wave 2 went: %v", err)
	}
	limit(100 * 50_000)
	sub = c.send(sub)
	if s := c.totals(sub); sub.State != submission.StateHolding || s.Holding() != 3 || len(sub.Sending.Waves) != 2 {
		t.Errorf("continued: %s, wave %d waits, %d are open", sub.State, s.Holding(), len(sub.Sending.Waves))
	}
}

// What the review says of the waves is what happens: times with hours and a holiday, the days of the budget, the price.
func TestWaves_AsReviewed(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.must(c.store.SetBilling(t.Context(), c.tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: 50_000, Single: 50_000}, Limits: campaign.Spending{Day: 1_000_000_000},
	}))
	c.must(c.store.SaveTenantHours(t.Context(), c.tenant, reach.TenantHours{
		Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}, Holidays: []string{"03-31"},
	}))
	sub := c.inWaves(60, func(sub *submission.Submission) { sub.Schedule = "2037-03-30T18:00:00" }) // a Monday; 22:00 is closed
	planned, err := c.PlannedWaves(t.Context(), sub)
	c.must(err)
	quote, err := c.Quote(t.Context(), sub)
	c.must(err)
	var at []string
	people, price := 0, campaign.Money(0)
	for _, r := range planned {
		at, people, price = append(at, r.Goes.UTC().Format("02.01. 15:04")), people+r.People(), price+r.Price
	}
	if diff := cmp.Diff([]string{"30.03. 21:00", "01.04. 12:00", "01.04. 16:00"}, at); diff != "" || people != 60 || price != quote.Price || price != 60*50_000 {
		t.Fatalf("%d people for %s, quoted %s (-want +got):\n%s", people, price, quote.Price, diff)
	}
	sub = c.send(sub)
	for n, r := range planned[1:] {
		decide, err := c.ResultsFrom(t.Context(), sub)
		if want := planned[n].Goes.Add(4 * time.Hour); err != nil || !decide.Equal(want) {
			t.Errorf("the results of wave %d have had their time at %v, want %v; %v", n+1, decide, want, err)
		}
		c.now = r.Goes
		c.must(c.openWave(sub, n+2))
		c.run()
		sub = c.stored(sub)
	}
	booked := map[string]campaign.Money{}
	all, err := c.store.Dispatched(t.Context(), sub.ID)
	c.must(err)
	for _, b := range all.Batches {
		booked[b.ReservedOn] += b.Reserved
	}
	said := map[string]campaign.Money{}
	for _, b := range quote.Budgets {
		said[b.Date] = b.Cost
	}
	if diff := cmp.Diff(said, booked); diff != "" || len(said) != 2 || sub.State != submission.StateSent {
		t.Errorf("%s; said and booked (-want +got):\n%s", sub.State, diff)
	}
}

// A budget that is full on the day of a later wave refuses the campaign before it begins.
func TestWaves_SecondDayFull(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.inWaves(60, func(sub *submission.Submission) { sub.Schedule = "2037-03-30T18:00:00" })
	later := inThree
	later.Soak = 24 * time.Hour
	c.must(c.SetPlan(t.Context(), sub, later))
	sub = c.stored(sub)
	c.must(c.store.SetBilling(t.Context(), c.tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: 50_000, Single: 50_000}, Limits: campaign.Spending{Day: 60 * 50_000},
	}))
	if quote, err := c.Quote(t.Context(), sub); err != nil || quote.Exceeded() || len(quote.Budgets) != 3 {
		t.Fatalf("%+v, %v", quote.Budgets, err)
	}
	other := c.ready(crowd(55), func(sub *submission.Submission) { sub.Schedule = "2037-03-31T19:00:00" })
	c.must(c.SetPlan(t.Context(), other, rollout.Plan{}))
	c.send(c.stored(other))
	quote, err := c.Quote(t.Context(), sub)
	if err != nil || !quote.Exceeded() || quote.Budgets[0].Exceeded() || !quote.Budgets[1].Exceeded() {
		t.Errorf("%+v, %v; want the second day full", quote.Budgets, err)
	}
	if err := c.Send(t.Context(), sub); !errors.Is(err, intake.ErrOverBudget) {
		t.Errorf("confirmed: %v", err)
	}
}

// A planned that ends after notAfter, or takes longer than its parts are kept, is refused with every choice that begins it.
func TestWaves_TooLong(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(sub *submission.Submission){
		"after notAfter": func(sub *submission.Submission) { sub.NotAfter = noon.Add(8 * time.Hour).Format(time.RFC3339) },
		"after 14 days":  func(sub *submission.Submission) { sub.Plan.Waves[2].NotBefore = noon.Add(rollout.MaxDuration) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.inWaves(40, nil)
			change(&sub)
			sub = c.save(sub)
			for _, choice := range []intake.Choice{intake.Send, intake.Ask} {
				if _, err := c.Decide(t.Context(), stepOf(choice, sub, ana, string(choice))); !errors.Is(err, intake.ErrTooLong) {
					t.Errorf("%s: %v", choice, err)
				}
			}
			sub.State, sub.Approval = submission.StateApproval, submission.Approval{AskedBy: ana, AskedAt: noon}
			sub = c.save(sub)
			got, err := c.Decide(t.Context(), stepOf(intake.Approve, sub, bia, "approval.approve"))
			if err != nil || got.State != submission.StateReady || got.Approval.Decision != submission.DecisionReturned {
				t.Errorf("approved: %s, %s, %v", got.State, got.Approval.Decision, err)
			}
		})
	}
}

// A version of the template that is saved between two waves changes nothing: the confirmed one goes. Numbers that a batch of
// the API has sent meanwhile are left out and counted.
func TestWaves_ChangesBetween(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.inWaves(60, nil)
	last := expected(sub, 60)[3][0]
	number, err := strconv.Atoi(strings.TrimPrefix(last, "p"))
	c.must(err)
	sub = c.send(sub)
	c.must(c.reach(sub, "api", fmt.Sprintf("1198888%04d", number)))
	c.changeTemplate()
	for wave := 2; wave <= 3; wave++ {
		c.must(c.openWave(sub, wave))
		c.run()
		sub = c.stored(sub)
	}
	s := c.totals(sub)
	if sub.State != submission.StateSent || s.InOtherBatches != 1 || s.Accepted != 59 || slices.Contains(c.peopleOf(sub)[3], last) {
		t.Errorf("%s, %q, %+v", sub.State, sub.Fault.Code, s)
	}
	all, err := c.store.Dispatched(t.Context(), sub.ID)
	c.must(err)
	for _, b := range all.Batches {
		if b.Part != "" && b.TemplateVersion != sub.TemplateVersion {
			t.Errorf("part %s has version %d of the template, %d was confirmed", b.Name, b.TemplateVersion, sub.TemplateVersion)
		}
	}
}

// A campaign that is rescheduled before its first wave goes keeps its waves. They can be opened from the new time.
func TestWaves_Rescheduled(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.send(c.inWaves(40, func(sub *submission.Submission) { sub.Schedule = noon.Add(time.Hour).Format(time.RFC3339) }))
	c.reschedule(sub, noon.Add(48*time.Hour))
	c.now = noon.Add(2 * time.Hour)
	if err := c.openWave(sub, 2); !errors.Is(err, intake.ErrTooEarly) {
		t.Errorf("before the new time: %v", err)
	}
	c.now = noon.Add(49 * time.Hour)
	c.must(c.openWave(sub, 2))
	c.run()
	if s := c.totals(sub); s.Holding() != 3 {
		t.Errorf("%+v", s)
	}
}

// A campaign that is rescheduled by more than 14 days keeps its other waves: they wait for 14 days after the new time.
func TestWaves_RescheduledFar(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.send(c.inWaves(40, func(sub *submission.Submission) { sub.Schedule = noon.Add(time.Hour).Format(time.RFC3339) }))
	later := noon.AddDate(0, 0, 20)
	c.reschedule(sub, later)
	c.now = later.AddDate(0, 0, 13)
	if s := c.totals(sub); s.PartsToCome == 0 || s.Holding() != 2 {
		t.Errorf("%d parts to come, wave %d waits", s.PartsToCome, s.Holding())
	}
	c.must(c.openWave(sub, 2))
	c.run()
	if s := c.totals(sub); c.stored(sub).State != submission.StateHolding || s.Holding() != 3 {
		t.Errorf("%s, %q, wave %d waits", c.stored(sub).State, c.stored(sub).Fault.Code, s.Holding())
	}
}

// A campaign that is cancelled while the last part of a wave goes leaves no wave that nobody can open.
func TestWaves_CancelledWithLastPart(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.inWaves(40, nil)
	c.must(c.Send(t.Context(), sub))
	w := c.worker(c.store, c.blobs, c.queue)
	w.Dispatch = discardingAfter{w.Dispatch, func() {
		if c.totals(sub).Holding() == 2 {
			c.must(c.store.CancelCampaign(t.Context(), sub.ID, c.now, false))
		}
	}}
	c.must(w.Handle(t.Context(), c.queue.tasks)[0])
	c.run()
	s := c.totals(sub)
	if sub = c.stored(sub); sub.State != submission.StateDiscarded || sub.DeletingFiles || len(c.files(sub)) != len(s.PartsNotAccepted()) {
		t.Errorf("%s, %d parts are not accepted, files %v", sub.State, len(s.PartsNotAccepted()), c.files(sub))
	}
}

// A wave opens while the pause runs only for a person who knows it, and afterwards without that.
func TestWaves_PauseRuns(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.send(c.inWaves(24, nil))
	from, err := c.ResultsFrom(t.Context(), sub)
	c.must(err)
	step := stepOf(intake.OpenWave, sub, ana, "rollout.open")
	step.Wave = 2
	c.now = from.Add(-time.Second)
	if _, err := c.Decide(t.Context(), step); !errors.Is(err, intake.ErrPauseRuns) {
		t.Errorf("before the end of the pause: %v", err)
	}
	c.now = from
	now, err := c.Decide(t.Context(), step)
	c.must(err)
	if opened := now.Sending.Waves[1]; opened.Early {
		t.Errorf("after the pause it is %+v", opened)
	}
}

// Whenever the process dies that opens a wave or sends it, the wave goes, and then nothing more.
func TestWaves_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	ready := c.inWaves(24, nil)
	steps := map[string]step{
		"opened": request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
			step := stepOf(intake.OpenWave, sub, ana, "rollout.open")
			step.Wave, step.Early = 2, true
			_, err := s.Decide(ctx, step)
			return err
		}),
		"sent": task,
	}
	for name, do := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := *c
			c.t, c.queue = t, &queue{}
			c.Service = c.service(c.store, c.blobs)
			begin := func() submission.Submission {
				sub := c.copyOf(ready, nil)
				sub = c.send(sub)
				if name == "sent" {
					c.must(c.openWave(sub, 2))
				}
				c.queue.tasks = nil
				return c.stored(sub)
			}
			calls := c.until(never, false, do, begin())
			for at := range calls {
				for _, after := range []bool{false, true} {
					sub := begin()
					c.until(at+1, after, do, sub)
					c.goOn(sub)
				}
			}
		})
	}
}

// goOn lets the person repeat the click and the functions their tasks, and wants wave 2 as the last one.
func (c *company) goOn(sub submission.Submission) {
	c.t.Helper()
	c.must(c.openWave(sub, 2))
	c.queue.tasks = []submission.Task{{Tenant: sub.Tenant, CampaignID: sub.CampaignID}}
	c.run()
	now := c.stored(sub)
	want := 0
	for wave := 1; wave <= 2; wave++ {
		want += now.OfWave(wave).Accepted
	}
	if s := c.totals(sub); now.State != submission.StateHolding || len(now.Sending.Waves) != 2 || s.Accepted != want || s.Holding() != 3 {
		c.t.Errorf("%s, %d waves open, %d accepted of %d, wave %d waits", now.State, len(now.Sending.Waves), s.Accepted, want, s.Holding())
	}
}
