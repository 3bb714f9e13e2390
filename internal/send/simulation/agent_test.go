// Package simulation_test simulates the sending of agents for hours, in memory and at once: `make test` does not race
// it, because that takes minutes, and the tests of send are raced.
package simulation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/packed"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/outgoing"
)

const (
	perBatch   = 2000
	functions  = 20
	perCall    = 5
	sweepAfter = 10 * time.Minute
)

// noLists are the lists of tenants without lists.
type noLists struct{}

func (noLists) KeptBy(context.Context, string, campaign.Traffic, time.Time) (func(phone e164.Number) int, error) {
	return func(e164.Number) int { return 0 }, nil
}

// agentSimulation is one agent's sending in memory: campaigns of batches, their ledger, the
// agent's rate limit, an SQS-like queue, and functions that receive from it.
type agentSimulation struct {
	mu        sync.Mutex
	random    *rand.Rand
	payloads  map[int]frames // by messages
	rate      int
	rateLimit outgoing.RateLimit
	batches   map[campaign.BatchRef]*simBatch
	byKey     map[campaign.BatchKey]*simBatch
	queue     []waitingTask
	busy      int
	sends     []delivery
	open      int                          // messages without an outcome
	lose      func(outgoing.SendTask) bool // selects the requeued tasks that are lost
	writes    int                          // of the rate limit
	lost      int                          // conflicts
	requeues  int
	checks    int // PostponeCheck calls
	tickets   map[string]map[int64]bool
	billed    time.Duration // of all calls
}

type simBatch struct {
	campaign.Batch
	states []byte // by message, see packed.Outcomes
}

type frames struct {
	packed  []byte
	offsets []int
}

type waitingTask struct {
	task    outgoing.SendTask
	visible time.Time
}

type delivery struct {
	campaignID string
	at         time.Time
}

func newAgentSimulation(rate int) *agentSimulation {
	return &agentSimulation{
		random: rand.New(rand.NewPCG(7, uint64(rate))), rate: rate, payloads: map[int]frames{},
		batches: map[campaign.BatchRef]*simBatch{}, byKey: map[campaign.BatchKey]*simBatch{}, tickets: map[string]map[int64]bool{},
	}
}

// framesOf returns the payload of a batch of the given size.
func (o *agentSimulation) framesOf(messages int) frames {
	made, ok := o.payloads[messages]
	if !ok {
		var w payload.Writer
		for i := range messages {
			w.Add(5511900000000+uint64(i), nil, [][]byte{[]byte(strconv.Itoa(i))})
		}
		made.packed, made.offsets = w.Finish()
		o.payloads[messages] = made
	}
	return made
}

// dispatch queues the frames of a campaign like release, one call per batch.
func (o *agentSimulation) dispatch(campaignID string, messages int) {
	for n := 0; messages > 0; n++ {
		b := o.accept(campaignID, min(messages, perBatch))
		messages -= b.Accepted
		for f := range b.Frames() {
			o.put(outgoing.SendTask{BatchRef: b.BatchRef, Frame: f}, 0)
		}
	}
}

func (o *agentSimulation) accept(campaignID string, messages int) campaign.Batch {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.batches)
	b := &simBatch{Batch: campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "t", CampaignID: campaignID}, BatchID: strconv.Itoa(n)},
		Key:      campaign.BatchKey{byte(n >> 8), byte(n)}, TemplateID: "template", TemplateVersion: 1, Accepted: messages,
		State: campaign.BatchSending, NextCheck: time.Now().Add(sweepAfter),
	}}
	b.Offsets, b.Payload = o.framesOf(messages).offsets, strconv.Itoa(messages)
	b.states = make([]byte, messages)
	o.batches[b.BatchRef], o.byKey[b.Key] = b, b
	o.open += messages
	return b.Batch
}

// put makes a task visible as late as SQS and its poller can.
func (o *agentSimulation) put(task outgoing.SendTask, delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lose != nil && len(task.Only) > 0 && o.lose(task) {
		o.open -= len(task.Only)
		return
	}
	latency := 50*time.Millisecond + time.Duration(o.random.Int64N(int64(950*time.Millisecond)))
	o.queue = append(o.queue, waitingTask{task, time.Now().Add(delay.Round(time.Second) + latency)})
}

// SetFailingTime does nothing: the simulated provider never fails.
func (o *agentSimulation) SetFailingTime(context.Context, campaign.Batch, campaign.FailingTime) (bool, error) {
	return true, nil
}

// run passes the tasks to functions until every message that is not lost is sent.
func (o *agentSimulation) run(t *testing.T) {
	t.Helper()
	s := &send.Sender{
		Store: o, Blobs: o, Provider: agentSimulationProvider{o}, Recorder: o, Reach: reach.Lookup{OptOuts: o, Lists: noLists{}}, Queue: o,
		Concurrency: 64, SweepAfter: sweepAfter, Now: time.Now, Jitter: rand.Float64,
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	for began := time.Now(); o.left() > 0; time.Sleep(100 * time.Millisecond) {
		o.poll(t, s, &calls)
		if time.Since(began) > 24*time.Hour {
			t.Fatalf("%d messages are left after a day", o.left())
		}
	}
}

// poll passes the visible tasks to functions.
func (o *agentSimulation) poll(t *testing.T, s *send.Sender, calls *sync.WaitGroup) {
	t.Helper()
	for tasks := o.take(); len(tasks) > 0; tasks = o.take() {
		calls.Go(func() {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for _, err := range s.Handle(ctx, tasks) {
				if err != nil {
					t.Error(err)
				}
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			o.busy--
			o.billed += time.Since(began)
		})
	}
}

func (o *agentSimulation) left() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

// take returns the tasks of one receive: the oldest visible ones.
func (o *agentSimulation) take() []outgoing.SendTask {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy == functions {
		return nil
	}
	now := time.Now()
	var tasks []outgoing.SendTask
	o.queue = slices.DeleteFunc(o.queue, func(w waitingTask) bool {
		if len(tasks) == perCall || w.visible.After(now) {
			return false
		}
		tasks = append(tasks, w.task)
		return true
	})
	if len(tasks) > 0 {
		o.busy++
	}
	return tasks
}

func (o *agentSimulation) Batch(_ context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.batches[ref].Batch, nil
}

func (o *agentSimulation) LedgerHead(_ context.Context, key campaign.BatchKey) (ledger.Head, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return ledger.Head{States: slices.Clone(o.byKey[key].states)}, nil
}

func (o *agentSimulation) PostponeCheck(_ context.Context, b campaign.Batch, next time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.checks++
	own := o.batches[b.BatchRef]
	if !own.NextCheck.Equal(b.NextCheck) {
		return false, nil
	}
	own.NextCheck = next
	return true, nil
}

func (o *agentSimulation) OptedOut(context.Context, string, time.Time) (func(phone e164.Number) bool, error) {
	return func(e164.Number) bool { return false }, nil
}

func (o *agentSimulation) AllPaused(context.Context) (bool, error) { return false, nil }

func (o *agentSimulation) OwnRoute(context.Context, string, string) (outgoing.Route, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return outgoing.Route{Agent: campaign.Agent{ID: "a", Rate: o.rate}, RateLimit: o.rateLimit}, nil
}

func (o *agentSimulation) TemplateVersion(_ context.Context, id string, version int) (campaign.Template, error) {
	return campaign.Template{ID: id, Version: version, Content: content.Content{Text: "Olá"}}, nil
}

func (o *agentSimulation) RateLimit(context.Context, string) (outgoing.RateLimit, error) {
	time.Sleep(3 * time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rateLimit, nil
}

func (o *agentSimulation) SwapRateLimit(_ context.Context, _ string, old, rateLimit outgoing.RateLimit) (bool, error) {
	time.Sleep(5 * time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rateLimit != old {
		o.lost++
		return false, nil
	}
	o.writes++
	o.rateLimit = rateLimit
	return true, nil
}

func (o *agentSimulation) GetRange(_ context.Context, key string, from, to int) ([]byte, error) {
	if payload.IsPointer(key) {
		return nil, campaign.ErrNotFound
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	messages, err := strconv.Atoi(key)
	if err != nil {
		return nil, err
	}
	return o.payloads[messages].packed[from:to], nil
}

func (o *agentSimulation) Record(_ context.Context, b campaign.Batch, changes []campaign.Change) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range changes {
		if state := &o.byKey[b.Key].states[c.Index]; *state == 0 {
			*state = packed.Number(c.Outcome)
			o.open--
		}
	}
	return nil
}

func (o *agentSimulation) Send(_ context.Context, _ string, body []byte, delay time.Duration) error {
	var task outgoing.SendTask
	if err := json.Unmarshal(body, &task); err != nil {
		return err
	}
	o.mu.Lock()
	o.requeues++
	o.note(task)
	o.mu.Unlock()
	o.put(task, delay)
	return nil
}

// note counts the tickets of a frame: each one is a write.
func (o *agentSimulation) note(task outgoing.SendTask) {
	if task.Ticket == (outgoing.Ticket{}) {
		return
	}
	name := fmt.Sprint(task.BatchID, "/", task.Frame)
	if o.tickets[name] == nil {
		o.tickets[name] = map[int64]bool{}
	}
	o.tickets[name][task.Ticket.Position] = true
}

type agentSimulationProvider struct{ o *agentSimulation }

func (p agentSimulationProvider) Send(_ context.Context, _ campaign.Agent, d outgoing.Message) error {
	o := p.o
	id := o.campaignOf(d.ID)
	o.mu.Lock()
	o.sends = append(o.sends, delivery{id, time.Now()})
	o.mu.Unlock()
	time.Sleep(50 * time.Millisecond)
	return nil
}

// campaignOf returns the campaign of a message.
func (o *agentSimulation) campaignOf(messageID string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	key, _, ok := campaign.ParseMessageID(messageID)
	if !ok {
		panic("no message id")
	}
	return o.byKey[key].CampaignID
}

// first returns when the campaign's first message was sent.
func (o *agentSimulation) first(campaignID string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.sends, func(d delivery) bool { return d.campaignID == campaignID })
	if i < 0 {
		return time.Time{}
	}
	return o.sends[i].at
}

// figures are the results of a simulation.
type figures struct {
	messages, busiestSecond int
	share, worstMinute      float64 // of the agent's rate
	writes, races, requeues float64 // per frame; lost conflicts cost a write too
	mostTickets, checks     int     // of one frame; PostponeCheck calls
	billed                  float64 // seconds of function time per frame
	took                    time.Duration
}

func (o *agentSimulation) figures(t *testing.T, began time.Time) figures {
	t.Helper()
	slices.SortStableFunc(o.sends, func(a, b delivery) int { return a.at.Compare(b.at) })
	frames := float64(len(o.sends)) / campaign.FrameSize
	f := figures{
		messages: len(o.sends), busiestSecond: o.busiestSecond(), worstMinute: o.worstMinute(began),
		writes: float64(o.writes) / frames, races: float64(o.lost) / frames, requeues: float64(o.requeues) / frames,
		checks: o.checks, billed: o.billed.Seconds() / frames, took: o.sends[len(o.sends)-1].at.Sub(began).Round(time.Second),
	}
	f.share = float64(f.messages) / float64(o.rate) / f.took.Seconds()
	for _, tickets := range o.tickets {
		f.mostTickets = max(f.mostTickets, len(tickets))
	}
	t.Logf("%+v", f)
	return f
}

// keeps fails the test if the rate was exceeded, less than 95% of it was used, or a frame
// cost more than one write for a ticket and one for its reservation.
func (f figures) keeps(t *testing.T, rate int) {
	t.Helper()
	f.keepsRate(t, rate)
	if f.share < 0.95 || f.worstMinute < 0.95 {
		t.Errorf("%.3f of the rate was used, %.3f in the worst minute", f.share, f.worstMinute)
	}
	if f.writes > 2 || f.mostTickets > 1 {
		t.Errorf("%.2f writes a frame, up to %d tickets", f.writes, f.mostTickets)
	}
}

// keepsRate fails the test if the rate was exceeded.
func (f figures) keepsRate(t *testing.T, rate int) {
	t.Helper()
	if f.busiestSecond > rate+1+rate/100 {
		t.Errorf("%d messages were sent within a second", f.busiestSecond)
	}
}

// busiestSecond returns the maximum number of messages within a second.
func (o *agentSimulation) busiestSecond() int {
	most, i := 0, 0
	for j := range o.sends {
		for o.sends[j].at.Sub(o.sends[i].at) >= time.Second {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

// worstMinute returns the lowest share of the rate used in a minute, from the first second
// to the last message.
func (o *agentSimulation) worstMinute(began time.Time) float64 {
	worst, i := 1.0, 0
	end := o.sends[len(o.sends)-1].at
	for from := began.Add(time.Second); !from.Add(time.Minute).After(end); from = from.Add(time.Second) {
		for o.sends[i].at.Before(from) {
			i++
		}
		n, _ := slices.BinarySearchFunc(o.sends, from.Add(time.Minute), func(d delivery, at time.Time) int { return d.at.Compare(at) })
		worst = min(worst, float64(n-i)/60/float64(o.rate))
	}
	return worst
}

// simulate executes each step at its time and runs until all messages are sent.
func (o *agentSimulation) simulate(t *testing.T, steps map[time.Duration]func()) time.Time {
	t.Helper()
	began := time.Now()
	for after, step := range steps {
		if after == 0 {
			step()
			continue
		}
		o.later(1)
		time.AfterFunc(after, func() {
			step()
			o.later(-1)
		})
	}
	o.run(t)
	return began
}

// later keeps the simulation running until the last step.
func (o *agentSimulation) later(steps int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open += steps
}

// sentUntil counts each campaign's messages sent until then.
func (o *agentSimulation) sentUntil(at time.Time) map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	counts := map[string]int{}
	for _, d := range o.sends {
		if !d.at.After(at) {
			counts[d.campaignID]++
		}
	}
	return counts
}
