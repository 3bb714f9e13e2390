package simulation_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/area"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/send/release"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
	webhooks "campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/testsize"
)

// windowSimulation is an agent's sending with send windows: release, send and sweep in memory.
type windowSimulation struct {
	*agentSimulation

	t       *testing.T
	policy  reach.TenantHours
	outside int // messages that were sent while their window was closed
	writes  map[campaign.BatchRef]int
	fail    func() error // of the provider, nil for none
	pause   pause
}

func newWindowSimulation(t *testing.T, rate int, p reach.TenantHours) *windowSimulation {
	t.Helper()
	return &windowSimulation{agentSimulation: newAgentSimulation(rate), t: t, policy: p, writes: map[campaign.BatchRef]int{}}
}

// accept accepts a batch with messages to each zone, sorted like dispatch, and releases it when it is due.
func (o *windowSimulation) acceptZones(campaignID string, counts []window.Count, edit func(*campaign.Batch)) {
	var w payload.Writer
	messages := 0
	for _, c := range counts {
		for range c.Messages {
			w.Add(numberIn(c.Zone, messages), nil, nil)
			messages++
		}
	}
	packed, offsets := w.Finish()
	key := messages + 10_000*(len(o.payloads)+1) // a payload of its own
	o.payloads[key] = frames{packed, offsets}
	b := o.accept(campaignID, messages)
	own := o.batches[b.BatchRef]
	own.Offsets, own.Payload, own.Zones = offsets, strconv.Itoa(key), counts
	own.State, own.Due, own.AgentID = campaign.BatchPending, time.Now(), ""
	edit(&own.Batch)
}

// numberIn returns a number of a zone.
func numberIn(z window.Zone, n int) uint64 {
	for code := uint64(11); code < 100; code++ {
		number := 55e11 + code*1e9 + 900000000 + uint64(n)
		if area.Zone(number) == z {
			return number
		}
	}
	panic("no area code of zone " + z.String())
}

func (o *windowSimulation) OwnRoute(ctx context.Context, tenant, agentID string) (outgoing.Route, error) {
	route, err := o.agentSimulation.OwnRoute(ctx, tenant, agentID)
	o.mu.Lock()
	defer o.mu.Unlock()
	route.Hours, route.Paused = o.policy, o.pause.paused()
	return route, err
}

// Route is what sweep reads.
func (o *windowSimulation) Route(ctx context.Context, tenant, agentID string) (outgoing.Route, error) {
	return o.OwnRoute(ctx, tenant, agentID)
}

func (o *windowSimulation) TenantHours(context.Context, string) (reach.TenantHours, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.policy, nil
}

func (o *windowSimulation) Tenant(_ context.Context, id string) (campaign.Tenant, error) {
	return campaign.Tenant{ID: id, AgentID: "a"}, nil
}

func (o *windowSimulation) StartRelease(_ context.Context, ref campaign.BatchRef, agentID string, _, next time.Time) (bool, error) {
	return o.change(ref, func(b *campaign.Batch) {
		b.State, b.AgentID, b.NextCheck = campaign.BatchReleasing, agentID, next
	})
}

func (o *windowSimulation) EndRelease(_ context.Context, read campaign.Batch, next time.Time, keep bool) (bool, error) {
	return o.change(read.BatchRef, func(b *campaign.Batch) {
		b.State, b.Waits.Zones, b.NeverOpen = campaign.BatchSending, read.Waits.Zones, read.NeverOpen
		if !keep {
			b.NextCheck = next
		}
	})
}

func (o *windowSimulation) PostponeCheck(_ context.Context, read campaign.Batch, next time.Time) (changed bool, err error) {
	time.Sleep(o.latency())
	_, err = o.change(read.BatchRef, func(b *campaign.Batch) {
		if changed = b.NextCheck.Equal(read.NextCheck); changed {
			b.NextCheck, b.Waits, b.NeverOpen = next, read.Waits, read.NeverOpen
		}
	})
	return changed, err
}

func (o *windowSimulation) MarkSent(_ context.Context, ref campaign.BatchRef, _ time.Time) (bool, error) {
	return o.change(ref, func(b *campaign.Batch) { b.State, b.NextCheck = campaign.BatchSent, time.Time{} })
}

func (o *windowSimulation) change(ref campaign.BatchRef, edit func(*campaign.Batch)) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	edit(&o.batches[ref].Batch)
	o.writes[ref]++
	return true, nil
}

func (o *windowSimulation) Due(_ context.Context, _ int, now time.Time) iter.Seq2[overdue.Item, error] {
	o.mu.Lock()
	defer o.mu.Unlock()
	var due []overdue.Item
	for ref, b := range o.batches {
		if !b.NextCheck.IsZero() && !b.NextCheck.After(now) {
			due = append(due, overdue.Item{Batch: ref, Check: b.NextCheck})
		}
	}
	return func(yield func(overdue.Item, error) bool) {
		for _, item := range due {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (*windowSimulation) DueShard(campaign.BatchRef) int { return 0 }

func (*windowSimulation) TenantOf(context.Context, string) (string, error) { return "", nil }

func (*windowSimulation) DueDeliveries(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return func(func(overdue.Item, error) bool) {}
}

func (o *windowSimulation) Resumed(context.Context) ([]string, error) { return o.pause.ended(), nil }

func (*windowSimulation) Submission(context.Context, campaign.ID) (s submission.Submission, err error) {
	return s, campaign.ErrNotFound
}

func (*windowSimulation) SaveSubmission(_ context.Context, s submission.Submission) (submission.Submission, error) {
	return s, nil
}

func (*windowSimulation) Move(context.Context, campaign.ID) (m campaign.Move, err error) {
	return m, campaign.ErrNotFound
}

func (*windowSimulation) PostponeDelivery(context.Context, webhooks.NotifyTask, time.Time, time.Time) (bool, error) {
	return true, nil
}

func (*windowSimulation) ExpireUnconfirmed(context.Context, campaign.Batch) error { return nil }

func (o *windowSimulation) Complete(ctx context.Context, b campaign.Batch) (bool, error) {
	_, err := o.MarkSent(ctx, b.BatchRef, time.Time{})
	return false, err
}

func (*windowSimulation) Close(context.Context, campaign.Batch) error { return nil }

// SendAll queues tasks of frames.
func (o *windowSimulation) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	for _, body := range bodies {
		if err := o.Send(ctx, group, body, 0); err != nil {
			return err
		}
	}
	return nil
}

// windowProvider checks the clock of each recipient.
type windowProvider struct{ o *windowSimulation }

func (p windowProvider) Send(ctx context.Context, agent campaign.Agent, d outgoing.Message) error {
	o := p.o
	b := o.batchOf(d.ID)
	hours := o.policy.HoursOfBatch(b, campaign.Promotion)
	o.mu.Lock()
	if !hours.Open(hours.Zone(e164.FromText(d.Phone)), time.Now()) {
		o.outside++
	}
	var err error
	if o.fail != nil {
		err = o.fail()
	}
	o.mu.Unlock()
	if err != nil {
		return err
	}
	return agentSimulationProvider{o.agentSimulation}.Send(ctx, agent, d)
}

func (o *windowSimulation) batchOf(messageID string) campaign.Batch {
	o.mu.Lock()
	defer o.mu.Unlock()
	key, _, _ := campaign.ParseMessageID(messageID)
	return o.byKey[key].Batch
}

// senders are those of the functions, each with a cache of its own. More than one only matters to a pause.
func (o *windowSimulation) senders() []*send.Sender {
	all := make([]*send.Sender, max(1, o.pause.functions))
	for i := range all {
		all[i] = &send.Sender{
			Store: o, Blobs: o, Provider: windowProvider{o}, Recorder: o, Reach: reach.Lookup{OptOuts: o, Lists: noLists{}}, Queue: o.agentSimulation,
			Concurrency: 64, SweepAfter: sweepAfter, Now: time.Now, Jitter: rand.Float64,
		}
	}
	return all
}

// run passes the time until every message has an outcome, at most for the given time.
func (o *windowSimulation) run(most time.Duration) {
	o.t.Helper()
	senders := o.senders()
	r := release.Releaser{Store: o, Frames: o, SweepAfter: sweepAfter, Now: time.Now}
	w := sweep.Sweeper{
		Store: o, Recorder: o, Frames: o, Shards: 1, SweepAfter: sweepAfter, Now: time.Now,
		Queued: func(context.Context) (int, error) { return o.queued(), nil },
	}
	for ref, b := range o.batches {
		if b.State == campaign.BatchPending {
			for _, err := range r.Handle(o.t.Context(), []campaign.ReleaseTask{{BatchRef: ref}}) {
				o.must(err)
			}
		}
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	began, swept := time.Now(), time.Now()
	for o.left() > 0 && time.Since(began) < most {
		senders = append(senders[1:], senders[0])
		o.poll(o.t, senders[0], &calls)
		if time.Since(swept) >= time.Minute {
			swept = time.Now()
			o.must(w.Sweep(o.t.Context(), sweep.Section{}))
		}
		step := 100 * time.Millisecond
		if o.idle() {
			step = o.pause.until(o.untilDue(most-time.Since(began)).Truncate(time.Minute)) - time.Since(swept)
		}
		time.Sleep(max(step, 100*time.Millisecond))
	}
}

func (o *windowSimulation) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Error(err)
	}
}

// queued returns the number of tasks in the queue.
func (o *windowSimulation) queued() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue)
}

func (o *windowSimulation) idle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.queue) == 0 && o.busy == 0
}

// untilDue returns the time until the minute in which a batch is due, at most for the given time. Before, a sweep would
// find nothing.
func (o *windowSimulation) untilDue(most time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.batches {
		if !b.NextCheck.IsZero() {
			most = min(most, time.Until(b.NextCheck))
		}
	}
	return max(most, 0) + time.Minute
}

// between returns how many messages were sent in a period, as a share of the agent's rate.
func (o *windowSimulation) between(from, to time.Time) float64 {
	n := 0
	for _, s := range o.sends {
		if !s.at.Before(from) && s.at.Before(to) {
			n++
		}
	}
	return float64(n) / to.Sub(from).Seconds() / float64(o.rate)
}

// sleepUntil advances the clock of the bubble.
func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }

// 12,000 messages, or 20,000 in `make prove`, in four zones are accepted on the evening before a national holiday and a
// weekend.
func TestWindow_HolidayAndWeekend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rate, batches := testsize.Of(3, 5), testsize.Of(6, 10)
		o := newWindowSimulation(t, rate, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}})
		evening := time.Date(2026, 11, 19, 20, 30, 0, 0, time.FixedZone("", -3*3600)) // a Thursday; the 20th is a holiday
		sleepUntil(evening)
		zones := []window.Count{{Zone: window.SaoPaulo, Messages: 1000}, {Zone: window.Recife, Messages: 500}, {Zone: window.Manaus, Messages: 300}, {Zone: window.RioBranco, Messages: 200}}
		for range batches {
			o.acceptZones("c", zones, func(*campaign.Batch) {})
		}
		o.run(100 * time.Hour)
		// The windows of São Paulo and Recife close at 21:00; the other zones have messages for ten minutes more.
		thursday := o.between(evening.Add(10*time.Second), evening.Add(39*time.Minute))
		last := o.sends[len(o.sends)-1].at
		saturday := o.between(time.Date(2026, 11, 21, 10, 1, 0, 0, evening.Location()), last)
		t.Logf("%d sent, the last at %v; share of the rate: %.3f on Thursday, %.3f on Saturday", len(o.sends), last.In(evening.Location()), thursday, saturday)
		if o.outside > 0 || o.left() > 0 || len(o.sends) != 2000*batches {
			t.Errorf("%d messages were sent, %d of them outside their window; %d are left", len(o.sends), o.outside, o.left())
		}
		if min(thursday, saturday) < 0.95 {
			t.Errorf("%.3f and %.3f of the rate were used while open", thursday, saturday)
		}
	})
}

// nights is what a property test draws: a rule, batches, and a provider that fails.
type nights struct {
	rule    reach.Rule
	rate    int
	fails   int // of five calls
	minute  int // of the acceptance, in a week with a holiday
	batches [][]window.Count
	unknown bool // the batches were accepted without zones
}

func drawNights(t *rapid.T) (n nights) {
	n.rule.OffHolidays = rapid.Bool().Draw(t, "holidays")
	for day := range n.rule.Week {
		if rapid.IntRange(0, 3).Draw(t, "open") > 0 {
			from := rapid.IntRange(0, window.Day-90).Draw(t, "from")
			n.rule.Week[day] = window.Hours{From: from, Until: rapid.IntRange(from+90, window.Day).Draw(t, "until")}
		}
	}
	if n.rule.Week.Closed() {
		n.rule.Week[time.Monday] = window.Hours{From: 9 * 60, Until: 18 * 60}
	}
	n.rate = rapid.SampledFrom([]int{0, 1, 20}).Draw(t, "rate")
	n.fails = rapid.IntRange(0, 3).Draw(t, "fails")
	n.minute = rapid.IntRange(0, 7*window.Day).Draw(t, "minute")
	n.unknown = rapid.Bool().Draw(t, "unknown")
	for range rapid.IntRange(1, 2).Draw(t, "batches") {
		zones := []window.Count{{Zone: window.SaoPaulo, Messages: rapid.IntRange(1, 150).Draw(t, "messages")}}
		for _, z := range window.All()[1:] {
			if rapid.IntRange(0, 5).Draw(t, "zone") == 0 {
				zones = append(zones, window.Count{Zone: z, Messages: rapid.IntRange(1, 150).Draw(t, "messages")})
			}
		}
		n.batches = append(n.batches, zones)
	}
	return n
}

// For any rule, zones and failures, no message is sent outside its window, and all are sent in the end.
func TestWindow_NeverOutside(t *testing.T) {
	t.Parallel()
	cases, failed := 0, false
	rapid.Check(t, func(drawn *rapid.T) {
		if cases++; cases > testsize.Of(25, 100) && !failed { // rapid draws 100, and more after a failure
			return
		}
		n := drawNights(drawn)
		synctest.Test(t, func(t *testing.T) {
			o := newWindowSimulation(t, n.rate, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: n.rule}})
			o.fail = func() error {
				if o.random.IntN(5) < n.fails {
					return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
				}
				return nil
			}
			ended := false
			defer func() { failed = failed || !ended }()
			sleepUntil(time.Date(2026, 11, 16, 0, n.minute, 0, 0, time.UTC))
			for _, zones := range n.batches {
				o.acceptZones("c", zones, func(b *campaign.Batch) {
					if n.unknown {
						b.Zones = nil
					}
				})
			}
			messages := o.left()
			o.run(30 * 24 * time.Hour)
			if o.outside > 0 || o.left() > 0 || len(o.sends) != messages {
				failed = true
				drawn.Errorf("%d of %d messages were sent, %d of them outside their window; %d are left", len(o.sends), messages, o.outside, o.left())
			}
			ended = true
		})
	})
}
