package outcome_test

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/internal/webhook/feed"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/testsize"
)

// metered is a batch with a ledger and a number of endpoints. One warm process records and
// feeds its outcomes. The units of its calls are metered.
type metered struct {
	used    *metering.Meter
	store   *dynamotest.Store // not measured
	applier *outcome.Applier
	feeder  *feed.Feeder
	fed     int // entries
	tasks   int
	batch   campaign.Batch

	contents contents
}

// contents are the contents of events by their keys.
type contents map[string]reaction.EventContent

func (c contents) Put(context.Context, string, []byte, string) error { return nil }

func (c contents) Get(_ context.Context, key string) ([]byte, error) { return json.Marshal(c[key]) }

// SendAll counts the tasks that outcomes queues.
func (m *metered) SendAll(_ context.Context, _ string, bodies [][]byte) error {
	m.tasks += len(bodies)
	return nil
}

func (m *metered) SendGroups(_ context.Context, _ []string, bodies [][]byte) error {
	for _, body := range bodies {
		var message delivery.NotifyMessage
		if err := json.Unmarshal(body, &message); err != nil {
			return err
		}
		m.tasks += len(message.Tasks())
	}
	return nil
}

func newMetered(t *testing.T, endpoints int, kinds ...string) *metered {
	t.Helper()
	env := stackenv.Load(t)
	sizes := metering.RowSizes(t.Context(), dynamodb.NewFromConfig(env.AWS()))
	m := &metered{used: &metering.Meter{Rules: metering.OfService(sizes)}, contents: contents{}}
	m.store = dynamotest.New(dynamo.Tables{Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: time.Now})
	m.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = env.LedgerTable(t) })
	store := *m.store
	store.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(env.AWS(), m.used.AttachTo) })
	m.feeder = &feed.Feeder{Store: &store, Queue: m, Now: time.Now}
	m.applier = &outcome.Applier{
		Store: &store, Contents: m.contents, OptOuts: &optout.Book{Store: &store, Now: time.Now},
		Recorder: &outcome.Recorder{
			Store: &store, Blobs: discard{}, Notify: m, SweepAfter: time.Hour, Now: time.Now,
		},
	}
	tenant := "tenant-" + crand.Text()
	m.batch = accept(t, m.store, tenant, 1)[0]
	for range endpoints {
		if err := m.store.SaveEndpoint(t.Context(), delivery.Endpoint{ID: "ep_" + crand.Text(), Tenant: tenant, Kinds: kinds}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// record records changes and feeds the new entries.
func (m *metered) record(t *testing.T, changes []campaign.Change) {
	t.Helper()
	if kind := changes[0].Outcome; kind == campaign.OutcomeDelivered || kind == campaign.OutcomeRead {
		m.apply(t, changes)
	} else if err := m.applier.Recorder.Record(t.Context(), m.batch, changes); err != nil {
		t.Fatal(err)
	}
	entries, err := m.store.Entries(t.Context(), m.batch.Key, m.fed, campaign.MaxChanges)
	if err != nil {
		t.Fatal(err)
	}
	m.fed += len(entries)
	if err := m.feeder.Handle(t.Context(), []ledger.NewEntries{{Key: m.batch.Key, Entries: entries}}); err != nil {
		t.Fatal(err)
	}
}

// apply records changes as provider events.
func (m *metered) apply(t *testing.T, changes []campaign.Change) {
	t.Helper()
	kinds := map[campaign.Outcome]reaction.EventKind{campaign.OutcomeDelivered: reaction.EventDelivered, campaign.OutcomeRead: reaction.EventRead}
	var tasks []reaction.EventTask
	for _, c := range changes {
		tasks = append(tasks, reaction.EventTask{Kind: kinds[c.Outcome], AgentID: "agent", MessageID: m.batch.Key.MessageID(c.Index), At: c.At})
	}
	if err := errors.Join(m.applier.Handle(t.Context(), tasks)...); err != nil {
		t.Fatal(err)
	}
}

// groups records one kind of change of the messages in random order, in groups of a size,
// over a time.
func (m *metered) groups(t *testing.T, size int, messages []int, kind campaign.Outcome, from, over time.Duration) {
	t.Helper()
	for first := 0; first < len(messages); first += size {
		var changes []campaign.Change
		for at, i := range messages[first:min(first+size, len(messages))] {
			after := from + over*time.Duration(first+at)/time.Duration(len(messages))
			c := campaign.Change{Index: i, Outcome: kind, At: m.batch.AcceptedAt.Add(after)}
			if kind == campaign.OutcomeFailed {
				c.Code = "unreachable"
			}
			changes = append(changes, c)
		}
		m.record(t, changes)
	}
}

// TestLedgerUnits_IsolatedEvents measures 200 read events of a batch of 2,000, each in its
// own call, spread over a day, after 10% have failed, the others are delivered, and half of
// those are read. The two hundreds are logged separately. `make prove` tries 1 and 2 endpoints
// too.
func TestLedgerUnits_IsolatedEvents(t *testing.T) {
	t.Parallel()
	for _, endpoints := range []int{0, 5, 1, 2}[:testsize.Of(2, 4)] {
		t.Run(fmt.Sprintf("%d endpoints", endpoints), func(t *testing.T) {
			t.Parallel()
			m := newMetered(t, endpoints)
			order := rand.Perm(campaign.MaxMessages)
			m.groups(t, 100, order[:200], campaign.OutcomeFailed, 0, 10*time.Minute)
			m.groups(t, 500, order[200:], campaign.OutcomeSent, 0, 10*time.Minute)
			m.groups(t, 500, order[200:], campaign.OutcomeDelivered, time.Minute, 30*time.Minute)
			m.groups(t, 75, order[200:1100], campaign.OutcomeRead, 2*time.Minute, 24*time.Hour)
			m.used.Take()
			m.tasks = 0
			m.groups(t, 1, order[1100:1300], campaign.OutcomeRead, time.Hour, 24*time.Hour)
			used := metering.Sum(m.used.Take())
			t.Logf("%.3f write units and %.2f read units an event, %.2f tasks", used.Writes/200, used.Reads/200, float64(m.tasks)/200)
			if mean := used.Writes / 200; mean > 1.3 || used.Writes <= 200 {
				t.Errorf("%.3f write units an event, want more than 1, since the tail moves, and 1.3 at most", mean)
			}
			if mean := used.Reads / 200; mean > 1.05 {
				t.Errorf("%.2f read units an event, want that of the head", mean)
			}
			if m.tasks != 200*endpoints {
				t.Errorf("%d tasks, want %d", m.tasks, 200*endpoints)
			}
		})
	}
}

// tap records taps on the suggestions of messages, with so many in a call. The messages were
// read.
func (m *metered) tap(t *testing.T, messages []int, suggestion, inCall int) {
	t.Helper()
	var tasks []reaction.EventTask
	for at, i := range messages {
		phone := fmt.Sprintf("+55119%08d", i)
		key := fmt.Sprint("events/agent/", i, ".", suggestion)
		m.contents[key] = reaction.EventContent{Phone: phone, Text: "Sim", Postback: reaction.Postback(m.batch, i, suggestion, phone)}
		tasks = append(tasks, reaction.EventTask{
			Kind: reaction.EventReply, AgentID: "agent", EventID: key, Blob: key, Receives: 1,
			At: m.batch.AcceptedAt.Add(time.Hour + time.Duration(at)*time.Minute).Truncate(time.Millisecond),
		})
	}
	for call := range slices.Chunk(tasks, inCall) {
		if err := errors.Join(m.applier.Handle(t.Context(), call)...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLedgerUnits_IsolatedTaps measures 200 taps of a batch of 2,000 read messages with
// three suggestions, each in its own call, after 400 other taps. Each tap is a task for each
// endpoint that lists taps.
func TestLedgerUnits_IsolatedTaps(t *testing.T) {
	t.Parallel()
	m := newMetered(t, 2, string(delivery.KindTapped))
	order := rand.Perm(campaign.MaxMessages)
	m.groups(t, 500, order, campaign.OutcomeRead, time.Minute, 24*time.Hour)
	m.tap(t, order[:250], 1, 50)
	m.tap(t, order[100:250], 3, 50)
	m.used.Take()
	m.tasks = 0
	m.tap(t, order[250:450], 2, 1)
	used := metering.Sum(m.used.Take())
	t.Logf("%.3f write units and %.2f read units a tap, %.2f tasks", used.Writes/200, used.Reads/200, float64(m.tasks)/200)
	if mean := used.Writes / 200; mean > 1.05 || used.Writes <= 200 {
		t.Errorf("%.3f write units a tap, want more than 1, since the tail moves, and 1.05 at most", mean)
	}
	if mean := used.Reads / 200; mean > 3.05 {
		t.Errorf("%.2f read units a tap, want those of the head, of the completed batch and of the taps", mean)
	}
	if m.tasks != 400 {
		t.Errorf("%d tasks, want 400", m.tasks)
	}
}

// A written reply of any length costs one write unit, without endpoints.
func TestLedgerUnits_WrittenReply(t *testing.T) {
	t.Parallel()
	m := newMetered(t, 0)
	m.groups(t, 1, []int{0}, campaign.OutcomeRead, time.Minute, time.Minute)
	m.used.Take()
	const key, phone = "events/agent/reply", "+5511900000000"
	m.contents[key] = reaction.EventContent{Phone: phone, Text: strings.Repeat("não ", 1000)}
	task := reaction.EventTask{
		Kind: reaction.EventReply, AgentID: "agent", EventID: key, Blob: key, MessageID: m.batch.Key.MessageID(0), At: time.Now().Truncate(time.Millisecond),
	}
	if err := m.applier.Handle(t.Context(), []reaction.EventTask{task})[0]; err != nil {
		t.Fatal(err)
	}
	if used := metering.Sum(m.used.Take()); used.Writes != 1 {
		t.Errorf("%.1f write units, want 1", used.Writes)
	}
	if kept, err := m.store.RepliesOf(t.Context(), m.batch.Tenant, []string{phone}); err != nil || len(kept) != 1 {
		t.Errorf("%d replies are stored, error %v", len(kept), err)
	}
}

// TestLedgerUnits_Groups measures a batch of 2,000 that is sent, delivered and read in groups of
// 500 in random order.
func TestLedgerUnits_Groups(t *testing.T) {
	t.Parallel()
	m := newMetered(t, 2)
	kinds := []campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead}
	total := 0.0
	for i, kind := range kinds {
		m.groups(t, 500, rand.Perm(campaign.MaxMessages), kind, time.Duration(i)*time.Minute, time.Hour)
		used := metering.Sum(m.used.Take())
		t.Logf("%s: %.2f write units and %.2f read units a group of 500", kind, used.Writes/4, used.Reads/4)
		total += used.Writes
	}
	t.Logf("%.4f write units a message, %d tasks", total/campaign.MaxMessages, m.tasks)
	if perMessage := total / campaign.MaxMessages; perMessage > 0.06 {
		t.Errorf("%.4f write units a message, want 0.06 at most", perMessage)
	}
}

// TestDayUnits measures what counting the results of a day adds to recording them, and what
// it counts: a batch of 2,000 of which 10% failed, the others were sent and delivered, and
// half of them read, in groups, and 160 more read in calls of their own.
func TestDayUnits(t *testing.T) {
	t.Parallel()
	m := newMetered(t, 0)
	counter := &dayCounter{Days: m.store}
	m.applier.Recorder.Days = counter
	order := rand.Perm(campaign.MaxMessages)
	m.groups(t, 100, order[:200], campaign.OutcomeFailed, 0, 10*time.Minute)
	m.groups(t, 500, order[200:], campaign.OutcomeSent, 0, 10*time.Minute)
	m.groups(t, 500, order[200:], campaign.OutcomeDelivered, time.Minute, 30*time.Minute)
	m.groups(t, 75, order[200:1100], campaign.OutcomeRead, 2*time.Minute, 24*time.Hour)
	m.groups(t, 1, order[1100:1260], campaign.OutcomeRead, time.Hour, 24*time.Hour)
	added := float64(counter.calls) / campaign.MaxMessages
	t.Logf("%d writes of days, %.4f a message", counter.calls, added)
	if added > 0.1 {
		t.Errorf("%.4f write units a message, want 0.1 at most", added)
	}
	want := campaign.DayCounts{Sent: 1800, Delivered: 1800, Read: 1060, Failed: 200}
	if diff := cmp.Diff(want, counter.sum); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// dayCounter counts the writes of days and their sum.
type dayCounter struct {
	outcome.Days

	calls int
	sum   campaign.DayCounts
}

func (d *dayCounter) AddDay(ctx context.Context, tenant, date string, counts campaign.DayCounts) error {
	d.calls++
	d.sum = d.sum.Plus(counts)
	return d.Days.AddDay(ctx, tenant, date, counts)
}
