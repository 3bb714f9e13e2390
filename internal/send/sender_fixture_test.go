package send_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/outgoing"
)

const (
	sweepAfter   = 10 * time.Minute
	queueLatency = 100 * time.Millisecond
)

var errBroken = errors.New("broken")

// senderFixture contains a sender's dependencies in memory, for one batch. In a synctest
// bubble, its clock runs as fast as possible.
type senderFixture struct {
	mu        sync.Mutex
	batch     campaign.Batch
	route     outgoing.Route
	rateLimit outgoing.RateLimit
	outcomes  map[int]campaign.Change
	payload   []byte
	queued    []queued
	sends     []sent
	random    *rand.Rand // of the jitter
	inFlight  int
	most      int // messages in flight at once
	routes    int // reads of the route
	allPaused bool
	pauses    int // reads of the pause of all sending
	optedOut  map[string]bool
	// optedOutSince are the instants since which opt-outs were looked up.
	optedOutSince []time.Time
	text          string // of the template
	counted       int    // writes of the failing time
	postponed     int    // writes of the next check

	suggestions []content.Suggestion // of the template

	// Hooks of the test, nil for none.
	provider       func(d outgoing.Message, calls int) error
	postponing     func(b *campaign.Batch)    // changes the batch before its next check is set
	swapped        func(p outgoing.RateLimit) // called with each new rate limit
	recordErr      error
	queueErr       error
	blobErr        error
	optOutErr      error
	latency        time.Duration
	rateLimitTakes time.Duration // latency of reading and writing the rate limit
	swapLost       bool          // every update of the rate limit conflicts

	// functions receive the queued tasks, if set
	functions *send.Sender
	running   sync.WaitGroup
}

type queued struct {
	task  outgoing.SendTask
	delay time.Duration
	from  time.Time
}

type sent struct {
	id    string
	phone string
	text  string
	ttl   time.Duration
	at    time.Time
	err   error
}

func newSenderFixture(messages int) *senderFixture {
	g := &senderFixture{outcomes: map[int]campaign.Change{}, text: "Olá {{nome}}", random: rand.New(rand.NewPCG(1, 1))}
	g.route = outgoing.Route{Agent: campaign.Agent{ID: "a"}}
	g.batch = campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, BatchID: "b"},
		Key:      campaign.BatchKey{1, 2, 3}, TemplateID: "template", TemplateVersion: 2, Accepted: messages,
		State: campaign.BatchSending, NextCheck: time.Now().Add(sweepAfter), AgentID: "a",
	}
	var w payload.Writer
	for i := range messages {
		w.Add(5511900000000+uint64(i), nil, [][]byte{[]byte(strconv.Itoa(i))})
	}
	g.payload, g.batch.Offsets = w.Finish()
	return g
}

func (g *senderFixture) sender() *send.Sender {
	return &send.Sender{
		Store: g, Blobs: g, Provider: senderFixtureProvider{g}, Recorder: g, Reach: reach.Lookup{OptOuts: g, Lists: noLists{}}, Queue: g,
		Concurrency: 64, SweepAfter: sweepAfter, Now: time.Now, Jitter: g.jitter,
	}
}

func (g *senderFixture) jitter() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.random.Float64()
}

// frame is the task of a frame, as written by release.
func (g *senderFixture) frame(n int) outgoing.SendTask {
	return outgoing.SendTask{BatchRef: g.batch.BatchRef, Frame: n}
}

func (g *senderFixture) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.batch, nil
}

func (g *senderFixture) LedgerHead(context.Context, campaign.BatchKey) (ledger.Head, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return ledger.Head{}.After(g.batch.Accepted, slices.Collect(maps.Values(g.outcomes))), nil
}

func (g *senderFixture) PostponeCheck(_ context.Context, b campaign.Batch, next time.Time) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.postponing != nil {
		g.postponing(&g.batch)
	}
	if !b.NextCheck.Equal(g.batch.NextCheck) || b.Waits.Any() && !b.Cancelled() && g.batch.Cancelled() {
		return false, nil
	}
	g.batch.NextCheck, g.batch.Waits, g.batch.NeverOpen = next, b.Waits, b.NeverOpen
	g.postponed++
	return true, nil
}

func (g *senderFixture) SetFailingTime(_ context.Context, b campaign.Batch, failing campaign.FailingTime) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if failing != (campaign.FailingTime{}) && !b.FailingTime.At.Equal(g.batch.FailingTime.At) {
		return false, nil
	}
	g.batch.FailingTime = failing
	g.counted++
	return true, nil
}

func (g *senderFixture) OptedOut(_ context.Context, _ string, since time.Time) (func(phone e164.Number) bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.optedOutSince = append(g.optedOutSince, since)
	return func(phone e164.Number) bool { return g.optedOut[phone.String()] }, g.optOutErr
}

func (g *senderFixture) AllPaused(context.Context) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pauses++
	return g.allPaused, nil
}

func (g *senderFixture) OwnRoute(context.Context, string, string) (outgoing.Route, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.routes++
	route := g.route
	route.RateLimit = g.rateLimit
	return route, nil
}

func (g *senderFixture) TemplateVersion(_ context.Context, id string, version int) (campaign.Template, error) {
	return campaign.Template{ID: id, Version: version, Content: content.Content{Text: g.text, Suggestions: g.suggestions}}, nil
}

func (g *senderFixture) RateLimit(context.Context, string) (outgoing.RateLimit, error) {
	time.Sleep(g.rateLimitTakes)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rateLimit, nil
}

func (g *senderFixture) SwapRateLimit(_ context.Context, _ string, old, rateLimit outgoing.RateLimit) (bool, error) {
	time.Sleep(g.rateLimitTakes)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rateLimit != old || g.swapLost {
		return false, nil
	}
	g.rateLimit = rateLimit
	if g.swapped != nil {
		g.swapped(rateLimit)
	}
	return true, nil
}

func (g *senderFixture) GetRange(_ context.Context, key string, from, to int) ([]byte, error) {
	if payload.IsPointer(key) {
		return nil, campaign.ErrNotFound
	}
	if g.blobErr != nil && from > 0 {
		return nil, g.blobErr
	}
	return g.payload[from:to], nil
}

func (g *senderFixture) Record(_ context.Context, _ campaign.Batch, changes []campaign.Change) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.recordErr != nil {
		return g.recordErr
	}
	for _, c := range changes {
		if _, ok := g.outcomes[c.Index]; !ok {
			g.outcomes[c.Index] = c
		}
	}
	return nil
}

func (g *senderFixture) Send(ctx context.Context, _ string, body []byte, delay time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.queueErr != nil {
		return g.queueErr
	}
	var task outgoing.SendTask
	if err := json.Unmarshal(body, &task); err != nil {
		return err
	}
	q := queued{task, delay, time.Now().Add(delay)}
	if g.functions != nil {
		g.deliver(context.WithoutCancel(ctx), q)
		return nil
	}
	g.queued = append(g.queued, q)
	return nil
}

// deliver passes a task to a new function when it is visible, and again a little later, and
// then the tasks queued by it.
func (g *senderFixture) deliver(ctx context.Context, q queued) {
	g.running.Go(func() {
		time.Sleep(time.Until(q.from) + queueLatency)
		for _, err := range g.functions.Handle(ctx, []outgoing.SendTask{q.task}) {
			if err != nil {
				panic(err)
			}
		}
	})
}

// run delivers the tasks until nothing is left to do.
func (g *senderFixture) run(ctx context.Context, tasks ...outgoing.SendTask) {
	g.functions = g.sender()
	for _, task := range tasks {
		g.deliver(ctx, queued{task: task, from: time.Now()})
	}
	g.running.Wait()
}

// accepted returns the messages accepted by the provider, in order.
func (g *senderFixture) accepted() []sent {
	return slices.DeleteFunc(slices.Clone(g.sends), func(s sent) bool { return s.err != nil })
}

type senderFixtureProvider struct{ g *senderFixture }

func (p senderFixtureProvider) Send(ctx context.Context, _ campaign.Agent, d outgoing.Message) error {
	g := p.g
	g.mu.Lock()
	g.inFlight++
	g.most = max(g.most, g.inFlight)
	var err error
	if g.provider != nil {
		err = g.provider(d, len(g.sends))
	}
	g.sends = append(g.sends, sent{d.ID, d.Phone, d.Content.Text, d.TTL, time.Now(), err})
	g.mu.Unlock()
	if waitErr := pause(ctx, g.latency); waitErr != nil {
		err = waitErr
	}
	g.mu.Lock()
	g.inFlight--
	g.mu.Unlock()
	return err
}

// pause waits for d. It makes no timer for 0: goroutines of one synctest bubble that
// receive from due timers at once crash the race detector (golang/go issue 78156).
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noLists are the lists of tenants without lists.
type noLists struct{}

func (noLists) KeptBy(context.Context, string, campaign.Traffic, time.Time) (func(phone e164.Number) int, error) {
	return func(e164.Number) int { return 0 }, nil
}
