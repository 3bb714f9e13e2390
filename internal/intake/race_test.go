package intake_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/localstack/testsize"
)

// turns lets processes make their calls one after the other, in an order that a seed chooses.
type turns struct {
	mu        sync.Mutex
	random    *rand.Rand
	processes []*racer
	calling   bool
}

// racer is a process. Those with more weight are faster.
type racer struct {
	turns   *turns
	weight  int
	waiting []chan struct{} // its calls that wait for their turn
	ended   bool
	client  http.Transport // its connections are the process's own
}

func newTurns(seed uint64) *turns { return &turns{random: rand.New(rand.NewPCG(seed, 2))} }

func (t *turns) add() *racer {
	r := &racer{turns: t, weight: 1 << (2 * t.random.IntN(3))}
	t.processes = append(t.processes, r)
	return r
}

// next begins the next call if each process waits for its turn.
func (t *turns) next() {
	all := 0
	for _, r := range t.processes {
		if !r.ended && len(r.waiting) == 0 || t.calling {
			return
		}
		all += r.chance()
	}
	if all == 0 {
		return
	}
	at := t.random.IntN(all)
	for _, r := range t.processes {
		if at -= r.chance(); at < 0 {
			t.calling = true
			close(r.waiting[0])
			r.waiting = r.waiting[1:]
			return
		}
	}
}

func (r *racer) chance() int {
	if len(r.waiting) == 0 {
		return 0
	}
	return r.weight
}

func (r *racer) RoundTrip(q *http.Request) (*http.Response, error) {
	turn := make(chan struct{})
	r.change(func() { r.waiting = append(r.waiting, turn) })
	<-turn
	defer r.change(func() { r.turns.calling = false })
	res, err := r.client.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

func (r *racer) end() { r.change(func() { r.ended = true }); r.client.CloseIdleConnections() }

func (r *racer) change(do func()) {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	do()
	r.turns.next()
}

// race is what several people and functions do with a campaign at once.
type race struct {
	company
	began submission.Submission
	names []string // of those who take part

	mu        sync.Mutex
	cancelled bool
	inTime    int       // batches when it was cancelled
	moved     time.Time // zero if it was not rescheduled
}

// rival is somebody who takes part in a race.
type rival struct {
	*race
	service *intake.Service
	worker  *intake.Worker
	control *control.Service
	shown   submission.Submission // as the page showed it
}

// noRevokes are tasks that nobody takes: control cancels the batches itself.
type noRevokes struct{}

func (noRevokes) Send(context.Context, string, []byte, time.Duration) error { return nil }

func (c *company) control(store control.Store) *control.Service {
	return &control.Service{
		Store: store, Revokes: noRevokes{}, Events: noRevokes{}, Releases: noReleases{}, Now: func() time.Time { return c.now }, Lead: time.Minute, SweepDelay: time.Minute,
	}
}

func (r *rival) by(choice intake.Choice, who, action string) intake.Step {
	step := stepOf(choice, r.shown, who, action)
	step.Audit.Subject = r.shown.CampaignID
	return step
}

// atOnce returns the service of a request that does the steps itself.
func (r *rival) atOnce() *intake.Service {
	s := *r.service
	s.AtOnce = time.Minute
	return &s
}

// patience is how often somebody looks again.
const patience = 30

// rivals are all that can happen at once. What comes too early or too late is refused.
var rivals = map[string]func(r *rival){
	"approve":             func(r *rival) { _, _ = r.service.Decide(r.t.Context(), r.by(intake.Approve, bia, "approve")) },
	"approve, second tab": func(r *rival) { _, _ = r.service.Decide(r.t.Context(), r.by(intake.Approve, bia, "approve")) },
	"another one approves": func(r *rival) {
		_, _ = r.atOnce().Decide(r.t.Context(), r.by(intake.Approve, "caio@example.com", "approve"))
	},
	"refuse": func(r *rival) {
		_, _ = r.service.Decide(r.t.Context(), r.by(intake.Refuse, "davi@example.com", "refuse"))
	},
	"withdraw":         func(r *rival) { _, _ = r.service.Decide(r.t.Context(), r.by(intake.Withdraw, ana, "withdraw")) },
	"reopen":           func(r *rival) { _, _ = r.service.Decide(r.t.Context(), r.by(intake.Reopen, ana, "reopen")) },
	"ask":              func(r *rival) { _, _ = r.service.Decide(r.t.Context(), r.by(intake.Ask, ana, "ask")) },
	"send":             func(r *rival) { _, _ = r.service.Decide(r.t.Context(), r.by(intake.Send, ana, "send")) },
	"send, second tab": func(r *rival) { _, _ = r.atOnce().Decide(r.t.Context(), r.by(intake.Send, ana, "send")) },
	"discard":          func(r *rival) { _, _ = r.service.Decide(r.t.Context(), r.by(intake.Discard, ana, "discard")) },
	"other columns": func(r *rival) {
		if now, err := r.service.Store.Submission(r.t.Context(), r.shown.ID); err == nil {
			_ = r.service.Check(r.t.Context(), now, columns, r.t1)
		}
	},
	"another name": func(r *rival) { r.correct(func(to *submission.Submission) { to.Name += " 2" }) },
	"another time": func(r *rival) {
		r.correct(func(to *submission.Submission) { to.Schedule = noon.Add(5 * time.Hour).Format(time.RFC3339) })
	},
	"function": (*rival).function, "function, second time": (*rival).function,
	"cancel": (*rival).cancel, "reschedule": (*rival).reschedule,
}

func (r *rival) correct(change func(to *submission.Submission)) {
	now, err := r.service.Store.Submission(r.t.Context(), r.shown.ID)
	if err != nil {
		return
	}
	to := now
	change(&to)
	_, _ = r.service.Take(r.t.Context(), to, kept)
}

// function waits for work and does it, as the task of the submission.
func (r *rival) function() {
	for range patience {
		if now, err := r.worker.Store.Submission(r.t.Context(), r.shown.ID); err != nil || now.Working() {
			_ = r.worker.Handle(r.t.Context(), []submission.Task{{Tenant: r.tenant, CampaignID: r.shown.CampaignID}})
			return
		}
	}
}

// cancel cancels the campaign as soon as there is one.
func (r *rival) cancel() {
	for range patience {
		if _, err := r.control.Cancel(r.t.Context(), r.shown.ID, false); err == nil {
			n := len(r.batches(r.shown))
			r.mu.Lock()
			r.cancelled, r.inTime = true, n
			r.mu.Unlock()
			return
		}
	}
}

// reschedule moves the campaign as soon as its first part is accepted.
func (r *rival) reschedule() {
	store := r.control.Store
	for range patience {
		c, err := store.Campaign(r.t.Context(), r.shown.ID)
		if err != nil {
			continue
		}
		due := noon.Add(48 * time.Hour)
		if _, err := r.control.RescheduleCampaign(r.t.Context(), c.ID, due.Format(time.RFC3339), c.Plan()); err == nil {
			r.mu.Lock()
			r.moved = due
			r.mu.Unlock()
			return
		}
	}
}

// races are the states in which races begin, with who takes part.
var races = []struct {
	from  submission.State
	names []string
}{
	{submission.StateApproval, []string{
		"approve", "approve, second tab", "another one approves", "refuse", "withdraw", "discard", "function", "cancel", "reschedule", "another name",
		"other columns", "send",
	}},
	{submission.StateReady, []string{"send", "send, second tab", "ask", "approve", "discard", "function", "cancel", "reschedule", "another name", "another time", "other columns"}},
	{submission.StateSending, []string{"function", "function, second time", "cancel", "reschedule", "discard", "send, second tab"}},
	{submission.StateInterrupted, []string{"send", "send, second tab", "function", "cancel", "reschedule", "discard", "other columns"}},
	{submission.StateRefused, []string{"reopen", "ask", "send", "send, second tab", "discard", "other columns", "approve"}},
}

// newRace returns a race of a copy of a submission.
func (c *company) newRace(seed int, ready submission.Submission) *race {
	state := races[seed%len(races)].from
	r := &race{company: *c}
	r.queue = &queue{}
	r.Service = r.service(r.store, r.blobs)
	r.began = r.copyOf(ready, func(sub *submission.Submission) {
		sub.Schedule = noon.Add(3 * time.Hour).Format(time.RFC3339)
		if sub.State = state; state == submission.StateApproval || state == submission.StateRefused {
			sub.Approval = submission.Approval{AskedBy: ana, AskedAt: noon}
		}
		if state == submission.StateRefused {
			sub.Approval = sub.Approval.Decided(submission.DecisionRefused, bia, noon)
		}
		if state == submission.StateInterrupted {
			sub.State = submission.StateSending
		}
	})
	if state == submission.StateInterrupted {
		r.began, r.queue.tasks = r.stop(r.oneMore(r.began)), nil
	}
	if r.began.Working() {
		r.queue.tasks = []submission.Task{{Tenant: r.tenant, CampaignID: r.began.CampaignID}}
	}
	return r
}

// copyOf stores a copy of a submission and its files.
func (c *company) copyOf(of submission.Submission, change func(sub *submission.Submission)) submission.Submission {
	c.t.Helper()
	ctx, sub := c.t.Context(), of
	sub.CampaignID, sub.Version = random.UUID(), 0
	sub.Name = "c " + sub.CampaignID
	c.must(c.blobs.Copy(ctx, of.FileKey(), sub.FileKey()))
	for n := range of.Check.Parts {
		c.must(c.blobs.Copy(ctx, of.PartKey(n+1), sub.PartKey(n+1)))
	}
	for n := range of.Check.Outs {
		c.must(c.blobs.Copy(ctx, of.OutKey(n+1), sub.OutKey(n+1)))
	}
	var err error
	sub.File.Tag, sub.File.Size, err = c.blobs.Stat(ctx, sub.FileKey())
	c.must(err)
	if change != nil {
		change(&sub)
	}
	return c.save(sub)
}

// oneMore lets a function send one part.
func (c *company) oneMore(sub submission.Submission) submission.Submission {
	c.t.Helper()
	const margin = 20 * time.Second // in which no further part begins
	ctx, cancel := context.WithTimeout(c.t.Context(), margin)
	defer cancel()
	c.must(c.worker(c.store, c.blobs, c.queue).Handle(ctx, []submission.Task{{Tenant: sub.Tenant, CampaignID: sub.CampaignID}})[0])
	return c.stored(sub)
}

// compete lets the rivals do their part, and the functions what is left.
func (r *race) compete(seed int) {
	t := newTurns(uint64(seed))
	names := races[seed%len(races)].names
	r.choose(t, names, seed/len(races)%len(names))
	r.competeAs(t, rivals)
}

// choose chooses four who take part: one, and three others by chance.
func (r *race) choose(t *turns, names []string, first int) {
	others := slices.Delete(slices.Clone(names), first, first+1)
	t.random.Shuffle(len(others), func(a, b int) { others[a], others[b] = others[b], others[a] })
	r.names = append([]string{names[first]}, others[:3]...)
}

// competeAs lets those who take part do their part at once, and then the functions what is left.
func (r *race) competeAs(t *turns, rivals map[string]func(r *rival)) {
	var group sync.WaitGroup
	started := make([]func(), 0, len(r.names))
	for _, name := range r.names {
		process := t.add()
		cfg := r.env.AWS()
		cfg.HTTPClient = &http.Client{Transport: process}
		store, blobs := r.stores(cfg)
		who := &rival{race: r, shown: r.began, service: r.service(store, blobs), worker: r.worker(store, blobs, r.queue), control: r.control(store)}
		who.service.Worker = who.worker
		started = append(started, func() {
			defer process.end()
			rivals[name](who)
		})
	}
	for _, start := range started {
		group.Go(start)
	}
	group.Wait()
	r.run()
}

// stepsTo are the next states by state and action. A submission that is being sent ends without one.
var stepsTo = map[string]submission.State{
	"approval approve": submission.StateSending, "approval refuse": submission.StateRefused, "approval withdraw": submission.StateReady,
	"approval discard": submission.StateDiscarded, "refused reopen": submission.StateReady, "refused discard": submission.StateDiscarded,
	"ready send": submission.StateSending, "ready ask": submission.StateApproval, "ready discard": submission.StateDiscarded,
	"interrupted send": submission.StateSending, "interrupted discard": submission.StateDiscarded,
}

// leads reports whether the actions lead from a state to another one, in some order.
func leads(from, to submission.State, actions []string) bool {
	if len(actions) == 0 {
		return from == to
	}
	for n, action := range actions {
		next, ok := stepsTo[string(from)+" "+action]
		if ok && leads(next, to, slices.Delete(slices.Clone(actions), n, n+1)) {
			return true
		}
	}
	return false
}

// check compares the state, the audit log, and what was sent.
func (r *race) check(log []string) {
	sub := r.stored(r.began)
	if sub.Working() || sub.DeletingFiles || sub.Fault.Code != "" && !r.cancelled {
		r.t.Errorf("%s, %q, files are left: %t", sub.State, sub.Fault.Code, sub.DeletingFiles)
	}
	confirmed := slices.Contains(log, "approve") || slices.Contains(log, "send") || r.began.State == submission.StateSending
	end := sub.State
	if confirmed && (end == submission.StateSent || end == submission.StateDiscarded && r.cancelled) {
		end = submission.StateSending
	}
	if !leads(r.began.State, end, log) {
		r.t.Errorf("it is %s, cancelled %t, after %v", sub.State, r.cancelled, log)
	}
	all, err := r.store.Dispatched(r.t.Context(), sub.ID)
	if errors.Is(err, campaign.ErrNotFound) {
		if confirmed || r.cancelled || !r.moved.IsZero() {
			r.t.Error("there is no campaign")
		}
		return
	}
	r.must(err)
	r.checkCampaign(sub, all, confirmed)
}

func (r *race) checkCampaign(sub submission.Submission, all campaign.Campaign, confirmed bool) {
	s := r.totals(sub) // which checks the sums
	if confirmed == (s.Accepted < s.People) && !r.cancelled || !confirmed && s.PartsDone != r.began.Sending.Parts {
		r.t.Errorf("%d of %d people are accepted, confirmed %t", s.Accepted, s.People, confirmed)
	}
	if confirmed && (all.Name != r.began.Name || sub.Shown() != r.began.Shown() && r.moved.IsZero() || sub.Check.Number != r.began.Check.Number) {
		r.t.Errorf("%s was sent, and not what was confirmed", sub.Name)
	}
	if r.cancelled && (all.CancelledAt.IsZero() || len(all.Batches) != r.inTime) {
		r.t.Errorf("%d batches, %d when it was cancelled", len(all.Batches), r.inTime)
	}
	if !r.cancelled && confirmed && sub.State != submission.StateSent {
		r.t.Errorf("it is %s after it was confirmed", sub.State)
	}
	due := r.moved
	if due.IsZero() {
		due = r.began.Due()
	}
	people := map[string]int{}
	for _, b := range all.Batches {
		if !b.Due.Equal(due) || b.Cancelled() != r.cancelled {
			r.t.Errorf("part %s goes at %v, cancelled %t; want %v, %t", b.Name, b.Due, b.Cancelled(), due, r.cancelled)
		}
		messages, err := payload.ReadAll(r.t.Context(), r.blobs, b.Batch)
		r.must(err)
		for _, m := range messages {
			people[m.UID]++
		}
	}
	for uid, n := range people {
		if n > 1 {
			r.t.Errorf("%s has %d messages", uid, n)
		}
	}
	if len(people) != s.Accepted {
		r.t.Errorf("%d people have a message, %d are counted", len(people), s.Accepted)
	}
}

// Of what people and functions do at once with a campaign, each has one effect or none: the state, the
// audit log and what was sent agree. Their calls follow each other in random order.
func TestSubmission_Races(t *testing.T) {
	t.Parallel()
	c, n := newCompany(t), testsize.Of(60, 300) // in 60, each takes part first in each state
	ready := c.ready("Celular;Código;Nome\n11988880001;a;Ana\n11988880002;b;Bia\n11988880003;c;Caio\n", nil)
	var group sync.WaitGroup
	limit := make(chan struct{}, 4)
	all := make([]*race, n)
	for seed := range n {
		limit <- struct{}{}
		group.Go(func() {
			defer func() { <-limit }()
			all[seed] = c.newRace(seed, ready)
			all[seed].compete(seed)
		})
	}
	group.Wait()
	sent := 0
	for _, r := range all {
		if c.stored(r.began).State == submission.StateSent {
			sent++
		}
	}
	if sent == 0 || sent == n {
		t.Errorf("the races end always the same: %d of %d are sent", sent, n)
	}
	log := c.auditLog()
	for seed, r := range all {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			r.t = t
			if r.check(log[r.began.CampaignID]); t.Failed() {
				t.Logf("%s: %s", r.began.State, strings.Join(r.names, ", "))
			}
		})
	}
}

// A worker writes a part and dies. Before the next attempt the template changes, and the part becomes
// another one.
func TestWorker_OtherPartWritten(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.checking()
	c.must(c.blobs.PutOnce(t.Context(), sub.PartKey(1), submission.EncodePart([]submission.Message{{Line: 7}}, 1), "application/x-ndjson"))
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateReady {
		t.Fatalf("the submission is %s after its tasks", sub.State)
	}
	if wrong := c.wantReady(sub); wrong != "" {
		t.Error(wrong)
	}
}
