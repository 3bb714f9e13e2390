package recount_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/insight/recount"
)

// memory is a store in memory, for recounts of many campaigns and calls that end at any point.
type memory struct {
	mu        sync.Mutex
	tenants   []string
	campaigns map[string][]*kept // by tenant, those that go last first
	byID      map[campaign.ID]*kept
	days      map[string]map[string]campaign.Day
	cursor    []byte
	version   int
	// before runs before each call, with its kind and its tenant. An error ends the call.
	before func(ctx context.Context, kind, tenant string) error

	listed, standings, overviews int // campaigns that were read, see rows
	counted                      []string
	saves                        int // of the cursor
}

// kept is a campaign as it is stored.
type kept struct {
	campaign.Campaign

	cursor               string
	test                 bool
	completedAt, stopped time.Time
}

func newMemory(tenants ...string) *memory {
	return &memory{
		tenants: tenants, campaigns: map[string][]*kept{}, byID: map[campaign.ID]*kept{}, days: map[string]map[string]campaign.Day{},
		before: uncut,
	}
}

func uncut(context.Context, string, string) error { return nil }

// add stores a campaign of batches. It is listed by the time of its first one.
func (m *memory) add(tenant string, created time.Time, batches ...campaign.BatchProgress) *kept {
	id := campaign.ID{Tenant: tenant, CampaignID: fmt.Sprintf("c%06d", len(m.campaigns[tenant]))}
	c := &kept{Campaign: campaign.Campaign{ID: id, Name: id.CampaignID, CreatedAt: created, Batches: batches, BatchCount: len(batches)}}
	c.cursor = campaign.CursorAt(batches[0].SendAt()) + id.CampaignID
	m.byID[id] = c
	all := m.campaigns[tenant]
	at, _ := slices.BinarySearchFunc(all, c.cursor, later)
	m.campaigns[tenant] = slices.Insert(all, at, c)
	return c
}

func later(c *kept, cursor string) int { return cmp.Compare(cursor, c.cursor) }

// batch returns a batch with outcomes that goes at a time.
func batch(due time.Time, state campaign.BatchState, counts map[campaign.Outcome]int) campaign.BatchProgress {
	b := campaign.BatchProgress{Batch: campaign.Batch{AcceptedAt: due, Due: due, State: state}, Head: campaign.LedgerSummary{Counts: counts}}
	for _, n := range counts {
		b.Accepted += n
	}
	return b
}

// addDay counts outcomes, as the outcomes function does.
func (m *memory) addDay(tenant, date string, more campaign.DayCounts) {
	if m.days[tenant] == nil {
		m.days[tenant] = map[string]campaign.Day{}
	}
	d := m.days[tenant][date]
	d.Date, d.DayCounts, d.Version = date, d.Plus(more), d.Version+1
	m.days[tenant][date] = d
}

func (m *memory) begin(ctx context.Context, kind, tenant string) error {
	if err := m.before(ctx, kind, tenant); err != nil {
		return err
	}
	m.mu.Lock()
	return nil
}

func (m *memory) Tenants(ctx context.Context) (all []campaign.Tenant, err error) {
	if err := m.begin(ctx, "Tenants", ""); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	for _, id := range m.tenants {
		all = append(all, campaign.Tenant{ID: id})
	}
	return all, nil
}

func (m *memory) ListCampaigns(ctx context.Context, tenant, after string, limit int32) (listed []campaign.Listed, err error) {
	if err := m.begin(ctx, "ListCampaigns", tenant); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	all, at := m.campaigns[tenant], 0
	if after != "" {
		var found bool
		if at, found = slices.BinarySearchFunc(all, after, later); found {
			at++
		}
	}
	for _, c := range all[at:min(at+int(limit), len(all))] {
		listed = append(listed, campaign.Listed{ID: c.ID, Name: c.Name, CreatedAt: c.CreatedAt, Cursor: c.cursor, Test: c.test})
	}
	m.listed += len(listed)
	return listed, nil
}

func (m *memory) Standings(ctx context.Context, tenant string, ids []string) (map[string]campaign.Summary, error) {
	if err := m.begin(ctx, "Standings", tenant); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	m.standings += len(ids)
	found := map[string]campaign.Summary{}
	for _, id := range ids {
		found[id] = m.byID[campaign.ID{Tenant: tenant, CampaignID: id}].summary()
	}
	return found, nil
}

func (c *kept) summary() campaign.Summary {
	s := campaign.Summary{
		Batches: c.BatchCount, CompletedAt: c.completedAt, CancelledAt: c.CancelledAt, StoppedAt: c.stopped, Submission: c.Submission,
	}
	for _, b := range c.Batches {
		s.Scheduled = s.Scheduled || b.Scheduled
		if b.State == campaign.BatchCompleted {
			s.Completed++
		}
	}
	return s
}

func (m *memory) Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	if err := m.begin(ctx, "Overview", id.Tenant); err != nil {
		return campaign.Campaign{}, err
	}
	defer m.mu.Unlock()
	m.overviews++
	found := m.byID[id].Campaign
	found.Batches = slices.Clone(found.Batches)
	for i, b := range found.Batches {
		found.Batches[i].Head.Counts = maps.Clone(b.Head.Counts)
	}
	return found, nil
}

func (m *memory) LoggedOptOuts(ctx context.Context, tenant string, _ time.Time) iter.Seq2[reaction.LoggedOptOut, error] {
	return func(yield func(reaction.LoggedOptOut, error) bool) {
		if err := m.before(ctx, "LoggedOptOuts", tenant); err != nil {
			yield(reaction.LoggedOptOut{}, err)
		}
	}
}

func (m *memory) Days(ctx context.Context, tenant, from, to string) (days []campaign.Day, err error) {
	if err := m.begin(ctx, "Days", tenant); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	m.counted = append(m.counted, tenant)
	for _, date := range slices.Sorted(maps.Keys(m.days[tenant])) {
		if from <= date && date <= to {
			days = append(days, m.days[tenant][date])
		}
	}
	return days, nil
}

func (m *memory) SetDay(ctx context.Context, tenant string, d campaign.Day) (bool, error) {
	if err := m.begin(ctx, "SetDay", tenant); err != nil {
		return false, err
	}
	defer m.mu.Unlock()
	if m.days[tenant][d.Date].Version != d.Version {
		return false, nil
	}
	if m.days[tenant] == nil {
		m.days[tenant] = map[string]campaign.Day{}
	}
	d.Version++
	m.days[tenant][d.Date] = d
	return true, nil
}

func (m *memory) RecountCursor(ctx context.Context) ([]byte, int, error) {
	if err := m.begin(ctx, "RecountCursor", ""); err != nil {
		return nil, 0, err
	}
	defer m.mu.Unlock()
	return m.cursor, m.version, nil
}

func (m *memory) SaveRecountCursor(ctx context.Context, cursor []byte, version int) (bool, error) {
	if err := m.begin(ctx, "SaveRecountCursor", ""); err != nil {
		return false, err
	}
	defer m.mu.Unlock()
	if version != m.version {
		return false, nil
	}
	m.saves++
	m.cursor, m.version = cursor, version+1
	return true, nil
}

// truth returns the counts of a tenant by day, from its ledgers.
func (m *memory) truth(tenant string) map[string]campaign.DayCounts {
	days := map[string]campaign.DayCounts{}
	for _, c := range m.campaigns[tenant] {
		for date, of := range c.DayCounts() {
			if days[date] = days[date].Plus(of); c.test {
				days[date] = days[date].Minus(of)
			}
		}
	}
	maps.DeleteFunc(days, func(_ string, c campaign.DayCounts) bool { return c == campaign.DayCounts{} })
	return days
}

// shown returns the counts of a tenant by day, as the overview reads them.
func (m *memory) shown(tenant string) map[string]campaign.DayCounts {
	days := map[string]campaign.DayCounts{}
	for date, d := range m.days[tenant] {
		if d.DayCounts != (campaign.DayCounts{}) {
			days[date] = d.DayCounts
		}
	}
	return days
}

func (m *memory) recounter() *recount.Recounter {
	return &recount.Recounter{Store: m, Now: func() time.Time { return now }, Random: func(int) int { return 0 }}
}

// turnOf returns which of some tenants have their turn at an instant.
func turnOf(t *testing.T, at time.Time, tenants []string) []string {
	t.Helper()
	m := newMemory(tenants...)
	if err := m.recounter().Recount(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	return m.counted
}

// manyTenants returns the IDs of 1,000 tenants.
func manyTenants() []string {
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprintf("tenant-%04d", i)
	}
	return ids
}
