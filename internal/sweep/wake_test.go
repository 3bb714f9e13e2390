package sweep_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
)

// endedStore has pauses that ended lately, and a waiting batch of each tenant. It records what is read.
type endedStore struct {
	sweep.Store

	ended []string

	mu      sync.Mutex
	due     []time.Time // until when due rows were read
	listed  []string    // the tenants whose waiting batches were read
	batches []string    // those that were read, by tenant
}

func (s *endedStore) Resumed(context.Context) ([]string, error) { return s.ended, nil }

func (s *endedStore) Due(_ context.Context, _ int, until time.Time) iter.Seq2[overdue.Item, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = append(s.due, until)
	return func(func(overdue.Item, error) bool) {}
}

func (s *endedStore) Waits(_ context.Context, tenant string) iter.Seq2[campaign.BatchRef, error] {
	return func(yield func(campaign.BatchRef, error) bool) {
		s.listed = append(s.listed, tenant)
		yield(campaign.BatchRef{ID: campaign.ID{Tenant: tenant, CampaignID: "c"}, BatchID: "b"}, nil)
	}
}

func (*endedStore) DueShard(ref campaign.BatchRef) int { return len(ref.Tenant) }

func (*endedStore) TenantOf(_ context.Context, agentID string) (string, error) {
	return "owner of " + agentID, nil
}

func (s *endedStore) Batch(_ context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, ref.Tenant)
	return campaign.Batch{}, campaign.ErrNotFound
}

// A change of one tenant reads the tenant's waiting batches once, in its part, and no rows that are due later.
func TestSweep_ReadsTheWaitingBatchesOfTheTenant(t *testing.T) {
	t.Parallel()
	id := campaign.ID{Tenant: "a#b", CampaignID: "c"}
	for name, test := range map[string]struct {
		ended []string
		part  sweep.Section
		want  []string // the tenants
		later bool     // whether rows that are due later are read
	}{
		"policy":          {[]string{reach.Changed("acme")}, sweep.Section{}, []string{"acme"}, false},
		"tenant":          {[]string{"tenant#acme"}, sweep.Section{}, []string{"acme"}, false},
		"campaign":        {[]string{campaign.PauseSubject(id)}, sweep.Section{}, []string{"a#b"}, false},
		"agent":           {[]string{"agent#1"}, sweep.Section{}, []string{"owner of 1"}, false},
		"twice a tenant":  {[]string{reach.Changed("acme"), "tenant#acme"}, sweep.Section{}, []string{"acme"}, false},
		"of another part": {[]string{"tenant#acme"}, sweep.Section{Number: 1, Of: 4}, nil, false},
		"of this part":    {[]string{"tenant#acme"}, sweep.Section{Number: 0, Of: 4}, []string{"acme"}, false},
		"all tenants":     {[]string{"all"}, sweep.Section{}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &endedStore{ended: test.ended}
			sweeper := &sweep.Sweeper{Store: s, Shards: 8, Now: func() time.Time { return beginning }}
			if err := sweeper.Sweep(t.Context(), test.part); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]string{test.want, test.want}, [][]string{s.listed, s.batches}); diff != "" {
				t.Errorf("tenants whose batches were listed and read (-want +got):\n%s", diff)
			}
			if later := slices.ContainsFunc(s.due, beginning.Before); later != test.later {
				t.Errorf("due rows were read until %v", s.due)
			}
		})
	}
}
