package recent_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/insight"
)

var now = time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC)

// shop has campaigns of 50 messages in a batch, all read within a minute.
type shop struct {
	list    []campaign.Listed
	batches map[string]int
	sent    map[string]time.Time

	mu    sync.Mutex
	read  []string
	lists int // reads of the list
}

func newShop() *shop { return &shop{batches: map[string]int{}, sent: map[string]time.Time{}} }

// add adds a campaign that went some hours ago.
func (s *shop) add(ago, batches int, change ...func(c *campaign.Listed)) {
	id := fmt.Sprintf("c%d", len(s.list)+1)
	c := campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: id}}
	for _, change := range change {
		change(&c)
	}
	s.list, s.batches[id], s.sent[id] = append(s.list, c), batches, now.Add(-time.Duration(ago)*time.Hour)
}

func (s *shop) ListCampaigns(context.Context, string, string, int32) ([]campaign.Listed, error) {
	s.lists++
	return s.list, nil
}

func (s *shop) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	found := map[string]campaign.Summary{}
	for _, id := range ids {
		found[id] = campaign.Summary{Batches: s.batches[id]}
	}
	return found, nil
}

func (s *shop) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	s.mu.Lock()
	s.read = append(s.read, id.CampaignID)
	s.mu.Unlock()
	at := s.sent[id.CampaignID]
	line := campaign.Timeline{Start: at, Slots: []campaign.Slot{{Net: map[campaign.Outcome]int{campaign.OutcomeRead: 50}}}}
	b := campaign.BatchProgress{Batch: campaign.Batch{Due: at}, Head: campaign.LedgerSummary{Timeline: line}}
	return campaign.Campaign{ID: id, Batches: []campaign.BatchProgress{b}}, nil
}

func (s *shop) times(t *testing.T) recent.Times {
	t.Helper()
	times, err := (&recent.Reads{Store: s, Now: func() time.Time { return now }}).Times(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// The last ten campaigns are read, up to 200 batches. Tests and campaigns that went nowhere are not.
func TestReads_Bounded(t *testing.T) {
	t.Parallel()
	s := newShop()
	s.add(1, 1, func(c *campaign.Listed) { c.Test = true })
	s.add(2, 0)
	s.add(3, 1000)
	s.add(4, 150)
	s.add(5, 51)
	for i := range 12 {
		s.add(6+i, 2)
	}
	times := s.times(t)
	slices.Sort(s.read)
	if want := []string{"c10", "c11", "c12", "c13", "c14", "c4", "c6", "c7", "c8", "c9"}; !slices.Equal(s.read, want) {
		t.Errorf("the campaigns %v were read, want %v", s.read, want)
	}
	if times.Campaigns != insight.MostCompared || times.Total() != 500 {
		t.Errorf("%d campaigns with %g reads are counted", times.Campaigns, times.Total())
	}
}

// The times are read again after an hour, and sooner while many messages are still to be read.
func TestReads_Cached(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ago  []int // hours
		want time.Duration
	}{
		"settled":       {[]int{24, 30}, time.Hour},
		"still read":    {[]int{1, 30}, 5 * time.Minute},
		"few were read": {[]int{24}, time.Minute},
		"none":          {nil, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, clock := newShop(), now
			for _, ago := range test.ago {
				s.add(ago, 1)
			}
			reads := &recent.Reads{Store: s, Now: func() time.Time { return clock }}
			for i, after := range []time.Duration{0, test.want - 1, test.want} {
				clock = now.Add(after)
				if _, err := reads.Times(t.Context(), "acme"); err != nil || s.lists != 1+i/2 {
					t.Errorf("after %v the campaigns were read %d times: %v", after, s.lists, err)
				}
			}
		})
	}
}

// An hour is proposed of enough messages, of enough campaigns that were sent at different hours.
func TestTimes_Enough(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ago  []int // hours
		want bool
	}{
		"none":          {nil, false},
		"two campaigns": {[]int{1, 2}, false},
		"three":         {[]int{1, 1, 2}, true},
		"one hour":      {[]int{1, 1 + 7*24, 1 + 14*24}, false},
	} {
		s := newShop()
		for _, ago := range test.ago {
			s.add(ago, 1)
		}
		if times := s.times(t); times.Enough() != test.want {
			t.Errorf("%s: %t for %g reads of %d campaigns sent at %d hours", name, times.Enough(), times.Total(), times.Campaigns, times.Sent)
		}
	}
}
