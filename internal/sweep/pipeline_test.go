package sweep_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/privacy/expiry"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/send/release"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/localstack/stackenv"
)

const (
	sweepAfter = 10 * time.Minute
	sweepDelay = time.Minute
)

// maxReceives is the number of receives before a task becomes a dead letter.
const maxReceives = 5

// beginning is far from now, so that the stack's own sweep finds no batch of a test.
var beginning = time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)

// pipeline runs a batch from its acceptance to the provider: the real use cases and the real
// table, with queues, payloads, provider and clock in memory. It runs one process at a
// time, which can crash at any call.
type pipeline struct {
	t          *testing.T
	store      *dynamotest.Store
	releases   *tasks
	frames     *tasks
	events     *tasks
	deliveries *tasks
	revokes    *tasks
	sink       *sink
	blobs      map[string][]byte
	provider   *provider
	death      *death
	tenant     string
	agent      string
	template   campaign.Template
	ledgers    []campaign.BatchKey
	fed        map[campaign.BatchKey]int // entries of them
	written    map[campaign.BatchKey]bool

	mu  sync.Mutex
	now time.Time
}

func newPipeline(t *testing.T) *pipeline {
	t.Helper()
	env := stackenv.Load(t)
	w := &pipeline{t: t, now: beginning, blobs: map[string][]byte{}, death: &death{}, fed: map[campaign.BatchKey]int{}, written: map[campaign.BatchKey]bool{}}
	w.store = dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]),
		Outcomes: env.OwnTable(t, env["OUTCOMES_TABLE"]), Webhooks: env.OwnTable(t, env["WEBHOOKS_TABLE"]), Now: w.clock,
	})
	for _, q := range []**tasks{&w.releases, &w.frames, &w.events, &w.deliveries, &w.revokes} {
		*q = &tasks{clock: w.clock}
	}
	w.sink = &sink{posts: map[string]map[string]int{}, contents: map[string]string{}}
	w.provider = &provider{pipeline: w, taken: map[string]string{}, phones: map[string]string{}}
	w.tenant, w.agent = "tenant-"+rand.Text(), "agent-"+rand.Text()
	w.must(w.store.SaveAgent(t.Context(), campaign.Agent{ID: w.agent}))
	w.must(w.store.SaveTenant(t.Context(), campaign.Tenant{ID: w.tenant, AgentID: w.agent}, nil))
	template, err := w.store.PutTemplate(t.Context(), campaign.Template{ID: uuid(), Tenant: w.tenant, Content: content.Content{Text: "Olá {{nome}}"}})
	w.must(err)
	w.template = template
	return w
}

func (w *pipeline) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *pipeline) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *pipeline) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// accept writes a batch like dispatch, without queueing its release.
func (w *pipeline) accept(messages int, edit ...func(*campaign.Batch)) campaign.Batch {
	w.t.Helper()
	return w.acceptPart(messages, campaign.SubmissionTotals{}, edit...)
}

// acceptPart is accept for a part of a file, with the totals after it.
func (w *pipeline) acceptPart(messages int, totals campaign.SubmissionTotals, edit ...func(*campaign.Batch)) campaign.Batch {
	w.t.Helper()
	var writer payload.Writer
	for i := range messages {
		writer.Add(5511900000000+uint64(i), []byte("uid"), [][]byte{[]byte(strconv.Itoa(i))})
	}
	b := campaign.Batch{
		BatchRef:   campaign.BatchRef{ID: campaign.ID{Tenant: w.tenant, CampaignID: uuid()}, BatchID: campaign.BatchID(rand.Text())},
		TemplateID: w.template.ID, TemplateVersion: w.template.Version,
		Payload: rand.Text(), Accepted: messages,
		AcceptedAt: w.clock(), Due: w.clock(), NextCheck: w.clock().Add(2 * time.Minute), State: campaign.BatchPending,
	}
	_, _ = rand.Read(b.Key[:])
	w.blobs[b.Payload], b.Offsets = writer.Finish()
	for _, e := range edit {
		e(&b)
	}
	if b.State == campaign.BatchSending {
		tenant, err := w.store.Tenant(w.t.Context(), b.Tenant)
		w.must(err)
		b.AgentID = tenant.AgentID // as its release records it
	}
	a := acceptance.Command{Batch: b, Campaign: rand.Text(), Ordinal: max(b.Ordinal, 1), Packed: []byte{0}, Submission: totals}
	if a.Ordinal > 1 {
		c, err := w.store.Dispatched(w.t.Context(), b.ID)
		w.must(err)
		a.CreatedAt = c.CreatedAt
	}
	w.must(w.store.Accept(w.t.Context(), a, rand.Text()))
	w.ledgers = append(w.ledgers, b.Key)
	return b
}

func (w *pipeline) handOff(b campaign.Batch) {
	w.t.Helper()
	body, err := json.Marshal(campaign.ReleaseTask{BatchRef: b.BatchRef})
	w.must(err)
	w.releases.add(body, 0)
}

func (w *pipeline) releaser() sqs.Handler {
	m := mortal{w}
	return sqs.BatchHandler(release.Releaser{Store: m, Frames: mortalQueue{m, w.frames}, Releases: mortalQueue{m, w.releases}, SweepAfter: sweepAfter, Now: w.clock}.Handle)
}

func (w *pipeline) sender(concurrency int) sqs.Handler {
	m := mortal{w}
	s := &send.Sender{
		Store: m, Blobs: m, Provider: m, Recorder: w.recorder(), Queue: mortalQueue{m, w.frames},
		Reach: reach.Lookup{
			OptOuts: &optout.Book{Store: m, Now: w.clock}, Lists: &lookup.Cache{Store: w.store, Blobs: m, Now: w.clock},
		},
		Concurrency: concurrency, SweepAfter: sweepAfter, Now: w.clock, Jitter: mathrand.Float64,
	}
	return sqs.BatchHandler(s.Handle)
}

func (w *pipeline) recorder() *outcome.Recorder {
	m := mortal{w}
	return &outcome.Recorder{
		Store: m, Blobs: m, Notify: mortalQueue{m, w.deliveries}, SweepAfter: sweepAfter, Now: w.clock,
	}
}

func (w *pipeline) applier() sqs.Handler {
	m := mortal{w}
	a := &outcome.Applier{
		Store: m, Contents: m, Recorder: w.recorder(),
		OptOuts: &optout.Book{Store: m, Now: w.clock, MaxRow: 10, MaxPart: 10}, // every opt-out splits its shard
	}
	return sqs.CountingBatchHandler(a.Handle, (*reaction.EventTask).Received)
}

func (w *pipeline) sweeper() *sweep.Sweeper {
	m := mortal{w}
	return &sweep.Sweeper{
		Store: m, Recorder: w.recorder(), Expire: (&expiry.Expirer{Store: w.store, Now: w.clock}).ExpireIfDue,
		Releases: mortalQueue{m, w.releases}, Frames: mortalQueue{m, w.frames}, Queued: mortalQueue{m, w.frames}.Queued, Notify: mortalQueue{m, w.deliveries}, Revokes: mortalQueue{m, w.revokes},
		Shards: 1, DeliveryShards: 1, SweepAfter: sweepAfter, SweepDelay: sweepDelay, Now: w.clock, // see Due and DueDeliveries of mortal
	}
}

// run advances the pipeline until the batch waits for delivery events, nothing is due any
// more, or the time is over.
func (w *pipeline) run(b campaign.Batch, until time.Duration) campaign.Batch {
	w.t.Helper()
	for end := w.clock().Add(until); w.clock().Before(end); {
		for w.step() {
		}
		if now := w.batch(b); now.NextCheck.IsZero() || now.State == campaign.BatchSent && !w.provider.answers {
			return now
		}
		w.advance(w.idle(end))
		w.attempt(func(ctx context.Context) { _ = w.sweeper().Sweep(ctx, sweep.Section{}) })
	}
	return w.batch(b)
}

// idle returns the time until the minute in which a task or a row is due, or until the end.
// Before, a sweep would find nothing.
func (w *pipeline) idle(end time.Time) time.Duration {
	w.t.Helper()
	next := end
	for _, q := range []*tasks{w.releases, w.frames, w.events, w.deliveries, w.revokes} {
		next = q.next(next)
	}
	for _, table := range []string{w.store.Tables().Campaigns, w.store.Tables().Webhooks} {
		for _, r := range w.rowsOf(table) {
			if check := checkOf(w.t, r); !check.IsZero() && check.Before(next) {
				next = check
			}
		}
	}
	if ended, err := w.store.Resumed(w.t.Context()); err != nil || len(ended) > 0 {
		w.must(err)
		return time.Minute
	}
	wait := next.Add(time.Minute - time.Nanosecond).Sub(w.clock()).Truncate(time.Minute)
	return max(time.Minute, wait)
}

// checkOf returns when sweep reads a row of the index, the zero time for never.
func checkOf(t *testing.T, r row) time.Time {
	t.Helper()
	if _, err := strconv.Atoi(textOf(r, "due")); err != nil {
		return time.Time{} // not in the index, or with a key that sweep does not read
	}
	check, ok := r["nextCheck"].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("the row %v is in the index without the time of its check", r["pk"])
	}
	milliseconds, err := strconv.ParseInt(check.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMilli(milliseconds).UTC()
}

// step delivers some visible tasks and reports whether there were any.
func (w *pipeline) step() bool {
	return w.deliver(w.releases, w.releaser(), 1) || w.deliver(w.frames, w.sender(1), 5) ||
		w.deliver(w.revokes, w.canceller(), 1) || w.deliver(w.events, w.applier(), 500) || w.feed() || w.deliver(w.deliveries, w.notifier(), 1)
}

// deliver passes up to n tasks to a function. Tasks that failed, or whose process crashed,
// are received again.
func (w *pipeline) deliver(q *tasks, handler sqs.Handler, n int) bool {
	event := q.receive(n)
	if len(event.Records) == 0 {
		return false
	}
	again := map[string]bool{}
	for _, m := range event.Records {
		again[m.MessageId] = true
	}
	w.attempt(func(ctx context.Context) {
		answer, err := handler(ctx, event)
		if err != nil || w.death.dead() {
			return
		}
		clear(again)
		for _, f := range answer.BatchItemFailures {
			again[f.ItemIdentifier] = true
		}
	})
	for _, m := range event.Records {
		q.settle(m.MessageId, again[m.MessageId])
	}
	return true
}

// attempt runs one process.
func (w *pipeline) attempt(do func(ctx context.Context)) {
	do(w.t.Context())
	w.death.resurrect()
}

func (w *pipeline) batch(b campaign.Batch) campaign.Batch {
	w.t.Helper()
	now, err := w.store.Batch(w.t.Context(), b.BatchRef)
	w.must(err)
	return now
}

// outcomes checks that the batch's log, states and counts are consistent, and returns the
// number of messages by outcome and code.
func (w *pipeline) outcomes(b campaign.Batch) map[string]int {
	w.t.Helper()
	read, err := w.store.LedgerHead(w.t.Context(), b.Key)
	w.must(err)
	head := read.Summary()
	log, err := w.store.Changes(w.t.Context(), b, 0, campaign.MaxChanges)
	w.must(err)
	byLog, counts, codes := map[int]campaign.Outcome{}, map[campaign.Outcome]int{}, map[string]int{}
	last := map[int]string{}
	for _, c := range log {
		if old := byLog[c.Index]; !c.Outcome.Supersedes(old) {
			w.t.Errorf("message %d went from %q to %q", c.Index, old, c.Outcome)
		}
		byLog[c.Index] = c.Outcome
		last[c.Index] = string(c.Outcome) + " " + c.Code
	}
	for index, is := range last {
		counts[byLog[index]]++
		codes[is]++
	}
	byState := map[int]campaign.Outcome{}
	for index := range b.Accepted {
		if o := read.Outcome(index); o != "" {
			byState[index] = o
		}
	}
	if diff := cmp.Diff(byLog, byState); diff != "" {
		w.t.Errorf("the log and the states differ:\n%s", diff)
	}
	want := campaign.LedgerSummary{Sequence: len(log), Counts: counts}
	if diff := cmp.Diff(want, head, cmpopts.IgnoreFields(campaign.LedgerSummary{}, "Reasons", "Timeline")); diff != "" {
		w.t.Errorf("the head differs from the log:\n%s", diff)
	}
	w.checkReasons(head)
	return codes
}

// checkReasons checks that the reasons and the timeline of a head add up to its counts.
func (w *pipeline) checkReasons(head campaign.LedgerSummary) {
	w.t.Helper()
	byReason, lost, byTime := map[campaign.Outcome]int{}, map[campaign.Outcome]int{}, map[campaign.Outcome]int{}
	for reason, n := range head.Reasons {
		byReason[reason.Outcome] += n
	}
	for outcome, n := range head.Counts {
		if outcome != campaign.OutcomeSent && outcome != campaign.OutcomeDelivered && outcome != campaign.OutcomeRead {
			lost[outcome] = n
		}
	}
	for _, slot := range head.Timeline.Slots {
		for outcome, n := range slot.Net {
			byTime[outcome] += n
		}
	}
	for _, sums := range []map[campaign.Outcome]int{byReason, byTime} {
		maps.DeleteFunc(sums, func(_ campaign.Outcome, n int) bool { return n == 0 })
	}
	if diff := cmp.Diff(lost, byReason); diff != "" {
		w.t.Errorf("the reasons do not add up to the counts:\n%s", diff)
	}
	if diff := cmp.Diff(head.Counts, byTime); diff != "" {
		w.t.Errorf("the timeline does not add up to the counts:\n%s", diff)
	}
}

// checkSent checks that each message of the batch was sent once.
func (w *pipeline) checkSent(b campaign.Batch) {
	w.t.Helper()
	if now, soon := w.batch(b), w.clock().Add(campaign.MessageTTL); now.State != campaign.BatchSent || !now.NextCheck.After(soon) {
		w.t.Errorf("the batch is %s, to be checked at %v; want it sent, and checked when no answer can come", now.State, now.NextCheck)
	}
	if diff := cmp.Diff(map[string]int{"sent ": b.Accepted}, w.outcomes(b)); diff != "" {
		w.t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	w.provider.check(w.t, b)
}

func uuid() string {
	var k campaign.BatchKey
	_, _ = rand.Read(k[:])
	return k.MessageID(0)
}

// provider accepts each message ID once, like the real one, and can be configured to fail.
type provider struct {
	pipeline *pipeline
	answers  bool // it sends delivered and read events for each message, three times, in a bad order
	refuse   func(d outgoing.Message) error
	forget   bool // it sends no events for revoked messages

	mu      sync.Mutex
	taken   map[string]string // text by message id
	phones  map[string]string // message id by phone
	twice   []string          // phones with messages of two IDs
	revoked map[string]bool   // message ids
	calls   int
	agents  map[string]int // calls by agent
}

func (p *provider) asked(agent campaign.Agent) {
	if p.agents == nil {
		p.agents = map[string]int{}
	}
	p.agents[agent.ID]++
}

func (p *provider) Send(_ context.Context, agent campaign.Agent, d outgoing.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	p.asked(agent)
	if p.refuse != nil {
		if err := p.refuse(d); err != nil {
			return err
		}
	}
	if id, ok := p.phones[d.Phone]; ok && id != d.ID {
		p.twice = append(p.twice, d.Phone)
	}
	if p.answers && p.taken[d.ID] == "" {
		p.answer(d.ID)
	}
	p.taken[d.ID], p.phones[d.Phone] = d.Content.Text, d.ID
	return nil
}

func (p *provider) answer(id string) {
	at := p.pipeline.clock()
	for i, kind := range []reaction.EventKind{
		reaction.EventDelivered, reaction.EventDelivered, reaction.EventRead, reaction.EventDelivered, reaction.EventRead, reaction.EventRead,
	} {
		body, _ := json.Marshal(reaction.EventTask{Kind: kind, EventID: rand.Text(), AgentID: p.pipeline.agent, MessageID: id, At: at})
		p.pipeline.events.add(body, time.Duration(i)*time.Second)
	}
}

func (p *provider) check(t *testing.T, b campaign.Batch) {
	t.Helper()
	want := map[string]string{}
	for i := range b.Accepted {
		want[b.Key.MessageID(i)] = fmt.Sprint("Olá ", i)
	}
	if diff := cmp.Diff(want, p.taken); diff != "" {
		t.Errorf("what the provider has (-want +got):\n%s", diff)
	}
	if len(p.twice) > 0 {
		t.Errorf("%d phones got two messages", len(p.twice))
	}
}

// tasks is an at-least-once queue with delays.
type tasks struct {
	clock func() time.Time
	mu    sync.Mutex
	added int
	held  map[string]*heldTask
	dead  []string
}

type heldTask struct {
	body     string
	from     time.Time
	receives int
	taken    bool
}

func (q *tasks) add(body []byte, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held == nil {
		q.held = map[string]*heldTask{}
	}
	q.added++
	q.held[fmt.Sprintf("%06d", q.added)] = &heldTask{body: string(body), from: q.clock().Add(delay)}
}

func (q *tasks) receive(n int) events.SQSEvent {
	q.mu.Lock()
	defer q.mu.Unlock()
	var event events.SQSEvent
	for i := 1; i <= q.added && len(event.Records) < n; i++ {
		id := fmt.Sprintf("%06d", i)
		if m := q.held[id]; m != nil && !m.taken && !m.from.After(q.clock()) {
			m.taken = true
			m.receives++
			event.Records = append(event.Records, events.SQSMessage{
				MessageId: id, Body: m.body, Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)},
			})
		}
	}
	return event
}

// next returns when the next task is visible, or the limit if none is before it.
func (q *tasks) next(limit time.Time) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.held {
		if !m.taken && m.from.Before(limit) {
			limit = m.from
		}
	}
	return limit
}

// waiting returns the number of visible tasks.
func (q *tasks) waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.held {
		if !m.taken && !m.from.After(q.clock()) {
			n++
		}
	}
	return n
}

// settle deletes a task, or makes it visible again after a while.
func (q *tasks) settle(id string, again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.held[id]
	if again && m.receives >= maxReceives {
		q.dead = append(q.dead, m.body)
		again = false
	}
	if !again {
		delete(q.held, id)
		return
	}
	m.taken, m.from = false, q.clock().Add(6*time.Minute)
}

// death crashes a process at one of its external calls: before the call, or after it,
// before its response. Every later call of the process fails.
type death struct {
	mu     sync.Mutex
	at     int // 0 for never
	after  bool
	turns  bool // every process crashes, one call later than the previous one, alternately before and after the call
	lived  int  // calls of this process
	calls  []string
	killed bool
	deaths int
}

var errDead = errors.New("the process is dead")

func (d *death) call(name string, do func() error) error {
	before, after := d.begin(name)
	if before {
		return errDead
	}
	err := do()
	if after {
		return errDead
	}
	return err
}

func (d *death) begin(name string) (before, after bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed {
		return true, true
	}
	d.calls = append(d.calls, name)
	d.lived++
	after = d.after
	if d.killed = len(d.calls) == d.at; d.turns {
		d.killed, after = d.lived > d.deaths/2, d.deaths%2 > 0
	}
	if !d.killed {
		return false, false
	}
	d.deaths++
	return !after, true
}

func (d *death) dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.killed
}

func (d *death) resurrect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed, d.lived = false, 0
}

// mortal wraps the calls of a process that can crash.
type mortal struct{ w *pipeline }

func call[T any](m mortal, name string, do func() (T, error)) (out T, err error) {
	err = m.w.death.call(name, func() error {
		out, err = do()
		return err
	})
	return out, err
}

func (m mortal) Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	return call(m, "Batch", func() (campaign.Batch, error) { return m.w.store.Batch(ctx, ref) })
}

func (m mortal) Tenant(ctx context.Context, id string) (campaign.Tenant, error) {
	return call(m, "Tenant", func() (campaign.Tenant, error) { return m.w.store.Tenant(ctx, id) })
}

func (m mortal) StartRelease(ctx context.Context, ref campaign.BatchRef, agentID string, now, next time.Time) (bool, error) {
	return call(m, "StartRelease", func() (bool, error) { return m.w.store.StartRelease(ctx, ref, agentID, now, next) })
}

func (m mortal) EndRelease(ctx context.Context, b campaign.Batch, next time.Time, keep bool) (bool, error) {
	return call(m, "EndRelease", func() (bool, error) { return m.w.store.EndRelease(ctx, b, next, keep) })
}

func (m mortal) PostponeCheck(ctx context.Context, b campaign.Batch, next time.Time) (bool, error) {
	return call(m, "PostponeCheck", func() (bool, error) { return m.w.store.PostponeCheck(ctx, b, next) })
}

func (m mortal) TenantHours(ctx context.Context, tenant string) (reach.TenantHours, error) {
	return call(m, "TenantHours", func() (reach.TenantHours, error) { return m.w.store.TenantHours(ctx, tenant) })
}

func (m mortal) Resumed(ctx context.Context) ([]string, error) {
	return call(m, "Resumed", func() ([]string, error) { return m.w.store.Resumed(ctx) })
}

func (m mortal) Waits(ctx context.Context, tenant string) iter.Seq2[campaign.BatchRef, error] {
	return func(yield func(campaign.BatchRef, error) bool) {
		if err := m.w.death.call("Waits", func() error { return nil }); err != nil {
			yield(campaign.BatchRef{}, err)
			return
		}
		m.w.store.Waits(ctx, tenant)(yield)
	}
}

func (m mortal) DueShard(ref campaign.BatchRef) int { return m.w.store.DueShard(ref) }

func (m mortal) SetFailingTime(ctx context.Context, b campaign.Batch, failing campaign.FailingTime) (bool, error) {
	return call(m, "SetFailingTime", func() (bool, error) { return m.w.store.SetFailingTime(ctx, b, failing) })
}

func (m mortal) CreateCancelled(ctx context.Context, c campaign.Campaign) error {
	return m.w.death.call("CreateCancelled", func() error { return m.w.store.CreateCancelled(ctx, c) })
}

func (m mortal) MarkSent(ctx context.Context, ref campaign.BatchRef, next time.Time) (bool, error) {
	return call(m, "MarkSent", func() (bool, error) { return m.w.store.MarkSent(ctx, ref, next) })
}

func (m mortal) CloseBatch(ctx context.Context, b campaign.Batch, unused campaign.Money) error {
	return m.w.death.call("CloseBatch", func() error { return m.w.store.CloseBatch(ctx, b, unused) })
}

func (m mortal) Route(ctx context.Context, tenant, agentID string) (outgoing.Route, error) {
	return call(m, "Route", func() (outgoing.Route, error) { return m.w.store.Route(ctx, tenant, agentID) })
}

func (m mortal) OwnRoute(ctx context.Context, tenant, agentID string) (outgoing.Route, error) {
	return call(m, "OwnRoute", func() (outgoing.Route, error) { return m.w.store.OwnRoute(ctx, tenant, agentID) })
}

func (m mortal) AllPaused(ctx context.Context) (bool, error) {
	return call(m, "AllPaused", func() (bool, error) { return m.w.store.AllPaused(ctx) })
}

func (m mortal) TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error) {
	return call(m, "TemplateVersion", func() (campaign.Template, error) { return m.w.store.TemplateVersion(ctx, id, version) })
}

func (m mortal) RateLimit(ctx context.Context, agentID string) (outgoing.RateLimit, error) {
	return call(m, "RateLimit", func() (outgoing.RateLimit, error) { return m.w.store.RateLimit(ctx, agentID) })
}

func (m mortal) SwapRateLimit(ctx context.Context, agentID string, old, rateLimit outgoing.RateLimit) (bool, error) {
	return call(m, "SwapRateLimit", func() (bool, error) { return m.w.store.SwapRateLimit(ctx, agentID, old, rateLimit) })
}

// DueDeliveries omits batches of other tests, which share the table.
func (m mortal) DueDeliveries(ctx context.Context, _ int, now time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		for _, shard := range stackenv.DueShards(m.w.t, m.w.store.Tables().Client, m.w.store.Tables().Webhooks, now) { //nolint:contextcheck // the test looks, not the process
			for due, err := range m.w.store.DueDeliveries(ctx, shard, now) {
				if !yield(due, err) {
					return
				}
			}
		}
	}
}

func (m mortal) Due(ctx context.Context, _ int, now time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		if err := m.w.death.call("Due", func() error { return nil }); err != nil {
			yield(overdue.Item{}, err)
			return
		}
		for _, shard := range stackenv.DueShards(m.w.t, m.w.store.Tables().Client, m.w.store.Tables().Campaigns, now) { //nolint:contextcheck // the test looks, not the process
			for due, err := range m.w.store.Due(ctx, shard, now) {
				if (err != nil || m.w.owns(due)) && !yield(due, err) {
					return
				}
			}
		}
	}
}

func (w *pipeline) owns(due overdue.Item) bool {
	return due.Batch.Tenant == w.tenant || due.Delivery != nil && due.Delivery.Tenant == w.tenant ||
		due.Campaign != nil && due.Campaign.Tenant == w.tenant
}

func (m mortal) GetRange(_ context.Context, key string, from, to int) ([]byte, error) {
	return call(m, "GetRange", func() ([]byte, error) { return m.w.blobs[key][from:to], nil })
}

func (m mortal) Send(ctx context.Context, agent campaign.Agent, d outgoing.Message) error {
	return m.w.death.call("provider", func() error { return m.w.provider.Send(ctx, agent, d) })
}

type mortalQueue struct {
	mortal
	queue *tasks
}

func (q mortalQueue) Send(_ context.Context, _ string, body []byte, delay time.Duration) error {
	return q.w.death.call("queue", func() error {
		q.queue.add(body, delay)
		return nil
	})
}

func (q mortalQueue) Queued(context.Context) (n int, err error) {
	return n, q.w.death.call("waiting", func() error {
		n = q.queue.waiting()
		return nil
	})
}

func (q mortalQueue) SendAll(_ context.Context, _ string, bodies [][]byte) error {
	for _, body := range bodies { // a crash in between has sent some of them
		err := q.w.death.call("queue", func() error {
			q.queue.add(body, 0)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (q mortalQueue) SendGroups(ctx context.Context, _ []string, bodies [][]byte) error {
	return q.SendAll(ctx, "", bodies)
}

func (m mortal) Taps(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error) {
	return call(m, "Taps", func() (ledger.Taps, error) { return m.w.store.Taps(ctx, key) })
}

func (m mortal) Clicks(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error) {
	return call(m, "Clicks", func() (ledger.Taps, error) { return m.w.store.Clicks(ctx, key) })
}

func (m mortal) AppendTaps(ctx context.Context, b campaign.Batch, taps ledger.Taps, news []campaign.Change) (ledger.Taps, error) {
	return call(m, "AppendTaps", func() (ledger.Taps, error) { return m.w.store.AppendTaps(ctx, b, taps, news) })
}
