package recount_test

import (
	"crypto/rand"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
)

var sentAndRead = map[campaign.Outcome]int{campaign.OutcomeDelivered: 2, campaign.OutcomeRead: 1}

// old adds the nth campaign of a year that ended before the window: most are completed, with one or more batches, on time or
// after a schedule. One of twenty was cancelled.
func (m *memory) old(tenant string, n int) {
	created := now.Add(-time.Duration(8+n%340) * day).Add(time.Duration(n) * time.Second)
	ended := created.Add(day)
	state := campaign.BatchCompleted
	if n%20 == 0 {
		state = campaign.BatchCancelled
	}
	batches := []campaign.BatchProgress{batch(created, state, sentAndRead)}
	for range n % 3 {
		batches = append(batches, batch(created.Add(time.Hour), state, sentAndRead))
	}
	batches[0].Scheduled = n%2 == 0
	c := m.add(tenant, created, batches...)
	if state == campaign.BatchCompleted {
		c.completedAt = ended
		return
	}
	c.CancelledAt, c.stopped = created, ended
	for i := range c.Batches {
		c.Batches[i].CancelledAt = created
	}
}

// A recount reads the list's entry and the two rows of the standing, META and PROGRESS, of a campaign that ended before the
// days that it counts, however many batches it has. It reads the batches of the others only.
func TestTenant_RowsOfOldCampaigns(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5_000, 50_000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			m := newMemory("tenant")
			for i := range n {
				m.old("tenant", i)
			}
			const recent = 10
			for i := range recent {
				m.add("tenant", now.Add(-time.Duration(i)*time.Hour), batch(now.Add(-time.Duration(i)*time.Hour), campaign.BatchSending, sentAndRead))
			}
			if err := m.recounter().Tenant(t.Context(), "tenant"); err != nil {
				t.Fatal(err)
			}
			const rowsOfStanding = 2
			t.Logf("%d campaigns: %d entries of the list, %d rows of standings, %d campaigns with their batches",
				n+recent, m.listed, rowsOfStanding*m.standings, m.overviews)
			if m.listed != n+recent || rowsOfStanding*m.standings > 2*n || m.overviews != recent {
				t.Errorf("%d entries, %d standings, %d overviews", m.listed, m.standings, m.overviews)
			}
			if got, want := m.shown("tenant"), map[string]campaign.DayCounts{"2037-02-28": {Sent: 30, Delivered: 30, Read: 10}}; !cmp.Equal(got, want) {
				t.Errorf("days: %v, want %v", got, want)
			}
		})
	}
}

// Each of these campaigns was created before the days that are counted, and has messages that count on one of them.
func TestTenant_OldAndNotEnded(t *testing.T) {
	t.Parallel()
	created, yesterday := now.Add(-40*day), now.Add(-day)
	done := func(due time.Time) campaign.BatchProgress { return batch(due, campaign.BatchCompleted, sentAndRead) }
	for name, change := range map[string]func(m *memory){
		"one batch with a schedule, sending": func(m *memory) { m.add("t", created, batch(yesterday, campaign.BatchSending, sentAndRead)) },
		"completed yesterday":                func(m *memory) { m.add("t", created, done(created), done(yesterday)).completedAt = now },
		"a later call": func(m *memory) {
			m.add("t", created, done(created), batch(yesterday, campaign.BatchSent, sentAndRead)).completedAt = created.Add(day)
		},
		"moved without a schedule": func(m *memory) { m.add("t", created, done(yesterday)).completedAt = yesterday },
		"completed by an earlier version, without a time": func(m *memory) {
			m.add("t", created, done(created), done(yesterday))
		},
		"cancelled while it was sent, yesterday": func(m *memory) {
			c := m.add("t", created, done(created), batch(yesterday, campaign.BatchSent, sentAndRead))
			c.CancelledAt, c.stopped = yesterday, now
		},
		"an interrupted cancellation: a batch went all the same": func(m *memory) {
			m.add("t", created, done(created), batch(yesterday, campaign.BatchSent, sentAndRead)).CancelledAt = created.Add(day)
		},
		"an interrupted cancellation that was repeated after the batch went": func(m *memory) {
			c := m.add("t", created, done(created), batch(yesterday, campaign.BatchSent, sentAndRead))
			c.CancelledAt, c.stopped = created.Add(day), now
		},
		"parts are to come": func(m *memory) {
			c := m.add("t", created, done(created), done(yesterday))
			c.completedAt, c.Submission = created.Add(day), campaign.SubmissionTotals{Lines: 9, People: 9, Accepted: 6, PartsToCome: 1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory("t")
			change(m)
			if err := m.recounter().Tenant(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			if got, want := m.shown("t"), map[string]campaign.DayCounts{"2037-02-27": {Sent: 3, Delivered: 3, Read: 1}}; !cmp.Equal(got, want) {
				t.Errorf("days: %v, want %v", got, want)
			}
		})
	}
}

// A tenant whose campaigns have all ended before has nothing on the days.
func TestTenant_OnlyOldCampaigns(t *testing.T) {
	t.Parallel()
	m := newMemory("t")
	for i := range 60 {
		m.old("t", i)
	}
	m.addDay("t", "2037-02-27", campaign.DayCounts{Sent: 1})
	if err := m.recounter().Tenant(t.Context(), "t"); err != nil || len(m.shown("t")) > 0 {
		t.Errorf("days: %v, %v", m.shown("t"), err)
	}
}

// In the tables, the recount of a campaign that ended before costs about two read units: those of META and PROGRESS.
func TestTenant_UnitsOfOldCampaigns(t *testing.T) {
	t.Parallel()
	b, env := newBooks(t), stackenv.Load(t)
	const completed, cancelled = 30, 10
	clock := now.Add(-20 * day)
	b.store.Set(func(tables *dynamo.Tables) { tables.Now = func() time.Time { return clock } })
	for range completed + cancelled {
		b.campaign("Natal "+rand.Text(), 20*day, 20*day, campaign.OutcomeDelivered)
	}
	listed, err := b.store.ListCampaigns(t.Context(), b.tenant, "", 50)
	b.must(err)
	for i, c := range listed {
		all, err := b.store.Campaign(t.Context(), c.ID)
		b.must(err)
		if i < completed {
			_, err = b.store.CompleteBatch(t.Context(), all.Batches[0].Batch, 0, clock)
			b.must(err)
			continue
		}
		b.must(b.store.CancelCampaign(t.Context(), c.ID, clock, false))
		b.must(b.store.MarkStopped(t.Context(), c.ID, clock))
		b.must(b.store.MarkStopped(t.Context(), c.ID, now)) // the first time stays
	}
	used := &metering.Meter{Rules: metering.OfService(metering.RowSizes(t.Context(), dynamodb.NewFromConfig(env.AWS())))}
	b.store.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(env.AWS(), used.AttachTo) })
	b.must(b.recounter.Tenant(t.Context(), b.tenant))
	units := metering.Sum(used.Take())
	t.Logf("%.1f read units for %d campaigns", units.Reads, len(listed))
	if mean := units.Reads / float64(len(listed)); mean > 2.2 || units.Writes > 0 {
		t.Errorf("%.2f read units a campaign, %.0f write units", mean, units.Writes)
	}
}
