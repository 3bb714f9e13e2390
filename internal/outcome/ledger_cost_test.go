package outcome_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	crand "crypto/rand"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/feed"
	"campaign-dispatch/internal/ledger"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/localstack/metering"
	"campaign-dispatch/localstack/stackenv"
)

// metered is a ledger, a feeder and a batch of a tenant with so many endpoints, whose
// calls of DynamoDB are metered by what it says that they consume.
type metered struct {
	used    *metering.Consumed
	ledgers *dynamo.Ledgers
	feeder  *feed.Feeder
	tasks   int
	batch   campaign.Batch
}

func (m *metered) SendAll(_ context.Context, _ string, bodies [][]byte) error {
	m.tasks += len(bodies)
	return nil
}

func newMetered(t *testing.T, endpoints int) *metered {
	t.Helper()
	env := stackenv.Load(t)
	m := &metered{used: &metering.Consumed{}}
	client := dynamodb.NewFromConfig(env.AWS(), m.used.Attach)
	table, _ := env.LedgerTable(t)
	tenants, _ := env.LedgerTable(t)
	store := &dynamo.Store{Client: client, Campaigns: tenants, Now: time.Now}
	m.ledgers = &dynamo.Ledgers{Client: client, Table: table, Now: time.Now}
	m.feeder = &feed.Feeder{Batches: m.ledgers, Endpoints: store, Queue: m, Now: time.Now}
	m.batch = campaign.Batch{Accepted: campaign.MaxMessages, AcceptedAt: time.Now()}
	m.batch.Tenant, m.batch.CampaignID, m.batch.BatchID = "tenant-"+crand.Text(), crand.Text(), campaign.BatchID(crand.Text())
	_, _ = crand.Read(m.batch.Key[:])
	for range endpoints {
		if err := store.SaveEndpoint(t.Context(), campaign.Endpoint{ID: "ep_" + crand.Text(), Tenant: m.batch.Tenant}); err != nil {
			t.Fatal(err)
		}
	}
	m.used.Take()
	return m
}

// record enters changes and feeds what is new.
func (m *metered) record(t *testing.T, changes []campaign.Change) {
	t.Helper()
	e, err := outcome.EnterLedger(t.Context(), m.ledgers, m.batch, changes)
	if err != nil {
		t.Fatal(err)
	}
	news := ledger.Fresh{Key: m.batch.Key, Entries: ledger.Numbered(e.Before.Sequence+1, e.Before.News(changes))}
	if err := m.feeder.Handle(t.Context(), []ledger.Fresh{news}); err != nil {
		t.Fatal(err)
	}
}

// groups records a kind of change of those messages in any order, so many at once, over
// a time.
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

// TestLedgerUnits_IsolatedEvents meters 200 reads of a batch of 2,000, each alone in
// its call, spread over a day, after a tenth of it has failed and all others were
// delivered and half of them read. The first and the second hundred are metered apart
// only for the log.
func TestLedgerUnits_IsolatedEvents(t *testing.T) {
	t.Parallel()
	for _, endpoints := range []int{0, 1, 2, 5} {
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
			used := m.used.Take()
			t.Logf("%.3f write units and %.2f read units an event, %.2f tasks", used.Writes/200, used.Reads/200, float64(m.tasks)/200)
			if mean := used.Writes / 200; mean > 1.3 || used.Writes <= 200 {
				t.Errorf("%.3f write units an event, want more than 1, since the tail moves, and 1.3 at most", mean)
			}
			if m.tasks != 200*endpoints {
				t.Errorf("%d tasks, want %d", m.tasks, 200*endpoints)
			}
		})
	}
}

// TestLedgerUnits_Groups meters what TestWriteUnits meters of the former rows: a batch
// of 2,000 that is sent, delivered and read in groups of 500 in any order.
func TestLedgerUnits_Groups(t *testing.T) {
	t.Parallel()
	m := newMetered(t, 2)
	kinds := []campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead}
	total := 0.0
	for i, kind := range kinds {
		m.groups(t, 500, rand.Perm(campaign.MaxMessages), kind, time.Duration(i)*time.Minute, time.Hour)
		used := m.used.Take()
		t.Logf("%s: %.2f write units and %.2f read units a group of 500", kind, used.Writes/4, used.Reads/4)
		total += used.Writes
	}
	t.Logf("%.4f write units a message, %d tasks", total/campaign.MaxMessages, m.tasks)
	if perMessage := total / campaign.MaxMessages; perMessage > 0.06 {
		t.Errorf("%.4f write units a message, want 0.06 at most", perMessage)
	}
}
