package sweep_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
)

// unpaused is a store without a pause.
type unpaused struct{ sweep.Store }

func (unpaused) Resumed(context.Context) ([]string, error) { return nil, nil }

// crowdStore has batches of which nothing was sent, and the queue of their frames.
type crowdStore struct {
	unpaused

	t       *testing.T
	now     time.Time
	batches map[campaign.BatchRef]campaign.Batch
	frames  *tasks
}

func newCrowd(t *testing.T) *crowdStore {
	t.Helper()
	s := &crowdStore{t: t, now: beginning, batches: map[campaign.BatchRef]campaign.Batch{}}
	s.frames = &tasks{clock: func() time.Time { return s.now }}
	return s
}

func (s *crowdStore) Due(_ context.Context, _ int, now time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		for _, b := range slices.Collect(maps.Values(s.batches)) {
			if !b.NextCheck.After(now) && !yield(overdue.Item{Batch: b.BatchRef, Check: b.NextCheck}, nil) {
				return
			}
		}
	}
}

func (s *crowdStore) Batch(_ context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	return s.batches[ref], nil
}

func (*crowdStore) LedgerHead(context.Context, campaign.BatchKey) (ledger.Head, error) {
	return ledger.Head{}, nil
}

func (*crowdStore) Route(context.Context, string, string) (outgoing.Route, error) {
	return outgoing.Route{}, nil
}

func (s *crowdStore) PostponeCheck(_ context.Context, b campaign.Batch, next time.Time) (bool, error) {
	now := s.batches[b.BatchRef]
	if !now.NextCheck.Equal(b.NextCheck) {
		return false, nil
	}
	now.NextCheck = next
	s.batches[b.BatchRef] = now
	return true, nil
}

func (s *crowdStore) SendAll(_ context.Context, _ string, bodies [][]byte) error {
	for _, body := range bodies {
		s.frames.add(body, 0)
	}
	return nil
}

// crowd queues batches of a tenant for sending, as release does. No function receives them.
func (s *crowdStore) crowd(tenant string, batches, frames int) (last campaign.BatchRef) {
	s.t.Helper()
	for range batches {
		last = campaign.BatchRef{ID: campaign.ID{Tenant: tenant, CampaignID: uuid()}, BatchID: rand.Text()}
		s.batches[last] = campaign.Batch{
			BatchRef: last, Accepted: frames * campaign.FrameSize, State: campaign.BatchSending,
			Due: s.now, NextCheck: s.now.Add(sweepAfter),
		}
		for f := range frames {
			body, err := json.Marshal(outgoing.SendTask{BatchRef: last, Frame: f})
			if err != nil {
				s.t.Fatal(err)
			}
			s.frames.add(body, 0)
		}
	}
	return last
}

// tasksOf counts the visible tasks of a tenant.
func (s *crowdStore) tasksOf(tenant string) int {
	n := 0
	for _, m := range s.frames.held {
		if strings.Contains(m.body, tenant) && !m.from.After(s.now) {
			n++
		}
	}
	return n
}

func (s *crowdStore) sweepEach(every time.Duration, times int) {
	s.t.Helper()
	sweeper := &sweep.Sweeper{
		Store: s, Frames: s, Queued: func(context.Context) (int, error) { return s.frames.waiting(), nil },
		Shards: 1, SweepAfter: sweepAfter, SweepDelay: sweepDelay, Now: func() time.Time { return s.now },
	}
	for range times {
		s.now = s.now.Add(every)
		if err := sweeper.Sweep(s.t.Context(), sweep.Section{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// A batch that was checked before its due time is checked again after the delay that its acceptance has.
func TestSweep_BeforeDueTime(t *testing.T) {
	t.Parallel()
	s := newCrowd(t)
	later := campaign.BatchRef{ID: campaign.ID{Tenant: "acme", CampaignID: uuid()}, BatchID: "later"}
	due := s.now.Add(time.Hour)
	s.batches[later] = campaign.Batch{BatchRef: later, State: campaign.BatchPending, Due: due, NextCheck: s.now}
	s.sweepEach(time.Minute, 1)
	if next := s.batches[later].NextCheck; !next.Equal(due.Add(sweepDelay)) {
		t.Errorf("the next check is at %v, want %v after %v", next, sweepDelay, due)
	}
}

// With a long queue, frames wait longer than the sweep interval. They are requeued only
// if they cannot be in the queue.
func TestSweep_Backlog(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(s *crowdStore) campaign.BatchRef{
		"of one tenant": func(s *crowdStore) campaign.BatchRef { return s.crowd("own", 50, 20) },
		"of batches that come due minute by minute": func(s *crowdStore) campaign.BatchRef {
			var last campaign.BatchRef
			for range 10 {
				last = s.crowd("own", 10, 10)
				s.now = s.now.Add(time.Minute)
			}
			return last
		},
		"of many tenants": func(s *crowdStore) campaign.BatchRef {
			for range 20 {
				s.crowd(rand.Text(), 5, 10)
			}
			return s.crowd("own", 1, 10)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCrowd(t)
			b := fill(s)
			before := s.frames.waiting()
			s.sweepEach(time.Minute, 21)
			if after := s.frames.waiting(); after != before {
				t.Errorf("%d tasks wait after the sweeps, %d before", after, before)
			}
			if wait := s.batches[b].NextCheck.Sub(s.now); wait <= 0 || wait > sweepAfter {
				t.Errorf("it looks again in %v, want at most %v", wait, sweepAfter)
			}

			clear(s.frames.held) // the waiting tasks are lost after all
			s.sweepEach(time.Minute, 11)
			if again := s.frames.waiting(); again < 1000 {
				t.Errorf("%d of %d lost tasks were queued again", again, before)
			}
		})
	}
}

// The queue is fair: behind one tenant's backlog, tasks of others are received at once, so
// their unsent frames are lost.
func TestSweep_LostFramesBehindAnotherTenantsBacklog(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]struct{ batches, frames int }{
		"one frame": {1, 1}, "a full batch": {1, 20}, "a frame of each of several batches": {10, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCrowd(t)
			s.crowd("own", lost.batches, lost.frames)
			clear(s.frames.held)
			s.crowd("noisy", 100, 20)
			s.sweepEach(sweepAfter+time.Minute, 1)
			if got, want := s.tasksOf("own"), lost.batches*lost.frames; got != want {
				t.Errorf("%d lost frames were queued again, want %d", got, want)
			}
			if got := s.tasksOf("noisy"); got != 2000 {
				t.Errorf("%d tasks of the tenant with the backlog, want 2000", got)
			}
		})
	}
}
