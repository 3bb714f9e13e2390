package recount_test

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/insight/recount"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/localstack/stackenv"
)

// now is the first day of March in UTC, and the last one of February in São Paulo.
var now = time.Date(2037, 3, 1, 1, 0, 0, 0, time.UTC)

// books are the counts of a new tenant, whose outcomes were recorded without counting.
type books struct {
	t         *testing.T
	store     *dynamotest.Store
	recounter *recount.Recounter
	tenant    string
}

func newBooks(t *testing.T) books {
	t.Helper()
	env, clock := stackenv.Load(t), func() time.Time { return now }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
	})
	store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = env.LedgerTable(t) })
	return books{t, store, &recount.Recounter{Store: store, Now: clock, Random: func(int) int { return 0 }}, "tenant-" + rand.Text()}
}

func (b books) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// campaign stores a campaign created and due before now, and its outcomes.
func (b books) campaign(name string, created, due time.Duration, outcomes ...campaign.Outcome) {
	b.t.Helper()
	b.add(name, created, due, false, outcomes)
}

// test stores a test message of now, and its outcome.
func (b books) test(name string, o campaign.Outcome) {
	b.t.Helper()
	b.add(name, 0, 0, true, []campaign.Outcome{o})
}

func (b books) add(name string, created, due time.Duration, test bool, outcomes []campaign.Outcome) {
	b.t.Helper()
	batch := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: b.tenant, CampaignID: "0198d3a0-0000-4000-8000-" + rand.Text()[:12]}, BatchID: campaign.BatchID("1")},
		Ordinal:  1, Accepted: len(outcomes), AcceptedAt: now.Add(-created), Due: now.Add(-due), Scheduled: created != due,
		State: campaign.BatchSending, AgentID: "agent", NextCheck: now.Add(time.Hour), Test: test,
	}
	_, _ = rand.Read(batch.Key[:])
	b.must(b.store.Accept(b.t.Context(), acceptance.Command{Batch: batch, Campaign: name, Ordinal: 1, Packed: []byte{0}}, rand.Text()))
	var changes []campaign.Change
	for i, o := range outcomes {
		changes = append(changes, campaign.Change{Index: i, Outcome: o, At: now})
	}
	_, err := outcome.AppendLedger(b.t.Context(), b.store, batch, changes)
	b.must(err)
}

func (b books) days() map[string]campaign.DayCounts {
	b.t.Helper()
	days, err := b.store.Days(b.t.Context(), b.tenant, "2036-01-01", "2037-12-31")
	b.must(err)
	counts := map[string]campaign.DayCounts{}
	for _, d := range days {
		counts[d.Date] = d.DayCounts
	}
	return counts
}

const day = 24 * time.Hour

// A recount counts the last 5 days. Test messages are not counted, whatever the names of
// campaigns, and opt-outs that were counted without the log keep their counts.
func TestTenant(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	sent, read, failed := campaign.OutcomeSent, campaign.OutcomeRead, campaign.OutcomeFailed
	b.campaign("today", 0, 0, sent, read, failed)
	b.campaign("scheduled long ago", 100*day, day, campaign.OutcomeDelivered)
	b.campaign("a week ago", 7*day, 7*day, sent)
	b.campaign("Teste: liquidação 10:00:00", 0, 0, sent)
	b.test("Prova da vitrine", failed)
	_, err := b.store.SetDay(t.Context(), b.tenant, campaign.Day{Date: "2037-02-28", DayCounts: campaign.DayCounts{Sent: 7, OptedOut: 1}})
	b.must(err)
	b.must(b.recounter.Tenant(t.Context(), b.tenant))
	want := map[string]campaign.DayCounts{
		"2037-02-28": {Sent: 3, Delivered: 1, Read: 1, Failed: 1, OptedOut: 1},
		"2037-02-27": {Sent: 1, Delivered: 1},
	}
	if diff := cmp.Diff(want, b.days()); diff != "" {
		t.Errorf("days after the first recount (-want +got):\n%s", diff)
	}
	b.campaign("late, two days ago", 2*day, 2*day, sent)
	b.must(b.recounter.Tenant(t.Context(), b.tenant))
	want["2037-02-26"] = campaign.DayCounts{Sent: 1}
	if diff := cmp.Diff(want, b.days()); diff != "" {
		t.Errorf("days after the second recount (-want +got):\n%s", diff)
	}
}

// A recount without differences writes nothing, and neither does that of a tenant without
// campaigns. A day that changed since it was read keeps its counts.
func TestTenant_Unchanged(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.must(b.recounter.Tenant(t.Context(), b.tenant))
	if days := b.days(); len(days) > 0 {
		t.Errorf("a tenant without campaigns has days: %v", days)
	}
	b.campaign("today", 0, 0, campaign.OutcomeSent)
	b.must(b.recounter.Tenant(t.Context(), b.tenant))
	version := func() int {
		days, err := b.store.Days(t.Context(), b.tenant, "2037-02-28", "2037-02-28")
		b.must(err)
		return days[0].Version
	}
	before := version()
	b.must(b.recounter.Tenant(t.Context(), b.tenant))
	if version() != before {
		t.Error("a recount without differences wrote the day")
	}
	b.must(b.store.AddDay(t.Context(), b.tenant, "2037-02-28", campaign.DayCounts{Sent: 1}))
	if set, err := b.store.SetDay(t.Context(), b.tenant, campaign.Day{Date: "2037-02-28", Version: before}); set || err != nil {
		t.Errorf("a day that changed was replaced: %t, %v", set, err)
	}
}

// accepting accepts a campaign while the recount reads: after it listed the campaigns, or after it read the days.
type accepting struct {
	*dynamotest.Store
	afterList, afterDays func()
}

func (s accepting) ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error) {
	listed, err := s.Store.ListCampaigns(ctx, tenant, after, limit)
	s.afterList()
	return listed, err
}

func (s accepting) Days(ctx context.Context, tenant, from, to string) ([]campaign.Day, error) {
	days, err := s.Store.Days(ctx, tenant, from, to)
	s.afterDays()
	return days, err
}

// A campaign that is accepted and counted during a recount stays counted.
func TestTenant_AcceptedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(s *accepting, accept func()){
		"after the campaigns were listed": func(s *accepting, accept func()) { s.afterList = accept },
		"after the days were read":        func(s *accepting, accept func()) { s.afterDays = accept },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			b.campaign("today", 0, 0, campaign.OutcomeSent)
			s := accepting{b.store, func() {}, func() {}}
			at(&s, sync.OnceFunc(func() {
				b.campaign("meanwhile", 0, 0, campaign.OutcomeSent)
				b.must(b.store.AddDay(t.Context(), b.tenant, "2037-02-28", campaign.DayCounts{Sent: 1}))
			}))
			b.recounter.Store = s
			b.must(b.store.AddDay(t.Context(), b.tenant, "2037-02-28", campaign.DayCounts{Sent: 1, Failed: 1})) // to be corrected
			b.must(b.recounter.Tenant(t.Context(), b.tenant))
			if got := b.days()["2037-02-28"]; got.Sent != 2 {
				t.Errorf("the day has %d messages, want 2", got.Sent)
			}
		})
	}
}

// one is a store with one tenant.
type one struct {
	*dynamotest.Store
	tenant string
}

func (s one) Tenants(context.Context) ([]campaign.Tenant, error) {
	return []campaign.Tenant{{ID: s.tenant}}, nil
}

// A tenant has its turn in one minute of six hours, that of the start of a sweep, however late the sweep recounts.
func TestRecount_OneMinute(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.campaign("today", 0, 0, campaign.OutcomeSent)
	b.recounter.Store = one{b.store, b.tenant}
	b.must(b.store.AddDay(t.Context(), b.tenant, "2037-02-28", campaign.DayCounts{Failed: 1}))
	turns := 0
	for minute := range 6 * 60 {
		b.must(b.recounter.Recount(t.Context(), now.Add(time.Duration(minute)*time.Minute)))
		if b.days()["2037-02-28"] != (campaign.DayCounts{Failed: 1}) {
			turns++
			b.must(b.store.AddDay(t.Context(), b.tenant, "2037-02-28", campaign.DayCounts{Sent: -1, Failed: 1}))
		}
	}
	if turns != 1 {
		t.Errorf("%d turns in six hours, want 1", turns)
	}
}
