package recount_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// race is a tenant whose campaigns change between the calls of a recount. Each outcome is counted when it is written, so
// that the days are right unless a recount sets a wrong one.
type race struct {
	*memory

	rng     *rand.Rand
	tenant  string
	touched map[string]bool // days that changed during the recount
}

func newRace(seed uint64, tenant string) *race {
	r := &race{memory: newMemory(tenant), rng: rand.New(rand.NewPCG(seed, 57)), tenant: tenant}
	for i := range 80 + r.rng.IntN(100) {
		r.old(tenant, i)
	}
	for range 20 {
		r.accept()
		r.wait()
	}
	for range 5 {
		r.interrupt()
	}
	for date, of := range r.truth(tenant) {
		r.addDay(tenant, date, of)
	}
	for _, date := range []string{"2037-02-24", "2037-02-26", "2037-02-28"} { // to be corrected
		if r.rng.IntN(2) == 0 {
			r.addDay(tenant, date, campaign.DayCounts{Sent: 1 + r.rng.IntN(9)})
		}
	}
	r.touched = map[string]bool{}
	return r
}

// some returns a time in the days that are counted.
func (r *race) some() time.Time { return now.Add(-time.Duration(r.rng.IntN(4*24)) * time.Hour) }

func (r *race) outcomes() map[campaign.Outcome]int {
	return map[campaign.Outcome]int{campaign.OutcomeDelivered: 1 + r.rng.IntN(5), campaign.OutcomeFailed: r.rng.IntN(3)}
}

// accept adds a new campaign that has gone.
func (r *race) accept() *kept {
	at := r.some()
	return r.add(r.tenant, at, batch(at, campaign.BatchSent, r.outcomes()))
}

// wait adds an old campaign with a second batch that waits for its time.
func (r *race) wait() {
	created := now.Add(-time.Duration(10+r.rng.IntN(300)) * day)
	later := batch(r.some(), campaign.BatchPending, nil)
	later.Scheduled = true
	r.add(r.tenant, created, batch(created, campaign.BatchCompleted, r.outcomes()), later).completedAt = created.Add(day)
}

// interrupt adds an old campaign whose cancellation was interrupted: its second batch still waits for its time.
func (r *race) interrupt() {
	r.wait()
	c := r.pick(func(c *kept) bool { return c.CancelledAt.IsZero() && waits(c) })
	c.CancelledAt = c.completedAt
}

func waits(c *kept) bool { return c.Batches[len(c.Batches)-1].State == campaign.BatchPending }

func (r *race) pick(fits func(c *kept) bool) *kept {
	all := slices.Clone(r.campaigns[r.tenant])
	r.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, c := range all {
		if fits(c) {
			return c
		}
	}
	return nil
}

// happens does one of the things that change counts.
func (r *race) happens() {
	last := func(c *kept) *campaign.BatchProgress { return &c.Batches[len(c.Batches)-1] }
	changes := []struct {
		fits   func(c *kept) bool
		change func(c *kept)
	}{
		{ // a call extends a campaign that had ended
			func(c *kept) bool { return !c.completedAt.IsZero() && c.CancelledAt.IsZero() && !waits(c) },
			func(c *kept) {
				c.Batches, c.BatchCount = append(c.Batches, batch(r.some(), campaign.BatchSent, r.outcomes())), c.BatchCount+1
			},
		},
		{waits, func(c *kept) { last(c).State, last(c).Head.Counts = campaign.BatchSent, r.outcomes() }}, // also after an interrupted cancellation
		{
			func(c *kept) bool { return last(c).State == campaign.BatchSent },
			func(c *kept) { last(c).State, c.completedAt = campaign.BatchCompleted, now },
		},
		{ // a message of any day is read late
			func(c *kept) bool { return c.Batches[0].Head.Counts[campaign.OutcomeDelivered] > 0 },
			func(c *kept) {
				counts := maps.Clone(c.Batches[0].Head.Counts)
				counts[campaign.OutcomeDelivered]--
				counts[campaign.OutcomeRead]++
				c.Batches[0].Head.Counts = counts
			},
		},
		{ // an interrupted cancellation is repeated
			func(c *kept) bool { return !c.CancelledAt.IsZero() && waits(c) },
			func(c *kept) {
				last(c).State, last(c).CancelledAt, c.stopped = campaign.BatchCancelled, c.CancelledAt, now
				last(c).Head.Counts = map[campaign.Outcome]int{campaign.OutcomeStopped: 2}
			},
		},
	}
	n := r.rng.IntN(len(changes) + 1)
	if n == len(changes) {
		r.count(r.accept(), nil)
		return
	}
	if c := r.pick(changes[n].fits); c != nil {
		before := c.DayCounts()
		changes[n].change(c)
		r.count(c, before)
	}
}

// count counts what changed in a campaign.
func (r *race) count(c *kept, before map[string]campaign.DayCounts) {
	for date, of := range c.DayCounts() {
		if more := of.Minus(before[date]); more != (campaign.DayCounts{}) {
			r.addDay(r.tenant, date, more)
			r.touched[date] = true
		}
	}
}

// run recounts the tenant while its campaigns change. Calls end at random points, with and without time to keep what was
// counted.
func (r *race) run(t *testing.T, at time.Time) {
	t.Helper()
	for calls := 0; calls == 0 || r.left(t); calls++ {
		dead, late := false, false
		r.before = func(ctx context.Context, kind, _ string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.rng.IntN(3) == 0 {
				r.happens()
			}
			switch {
			case dead:
				return errDied
			case kind == "SaveRecountCursor":
				return nil
			case r.rng.IntN(200) == 0:
				dead = true
				return errDied
			case late || r.rng.IntN(60) == 0:
				late = true
				r.mu.Unlock()
				<-ctx.Done()
				r.mu.Lock()
				return ctx.Err()
			}
			return nil
		}
		if err := r.call(t, at); err != nil || dead || late && !r.left(t) {
			calls = -1 // it begins again at the next turn, at the latest
		}
	}
}

// left reports whether the calls so far have left work.
func (r *race) left(t *testing.T) bool {
	t.Helper()
	var q struct{ Left []string }
	if err := json.Unmarshal(r.cursor, &q); err != nil && len(r.cursor) > 0 {
		t.Fatal(err)
	}
	return len(q.Left) > 0
}

// In 300 races, no recount makes a right day wrong, and each wrong day that did not change is corrected.
func TestTenant_Races(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0).Add(1000 * time.Minute)
	tenant := turnOf(t, at, manyTenants())[0]
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRace(seed, tenant)
				wrong, right := map[string]bool{}, r.truth(tenant)
				for date, of := range r.shown(tenant) {
					wrong[date] = of != right[date]
				}
				r.run(t, at)
				truth, shown := r.truth(tenant), r.shown(tenant)
				for day := now.AddDate(0, 0, -400); !day.After(now); day = day.AddDate(0, 0, 1) {
					date := localtime.Day(day)
					if shown[date] != truth[date] && (!wrong[date] || !r.touched[date]) {
						t.Errorf("%s: %v, want %v; it changed meanwhile: %t", date, shown[date], truth[date], r.touched[date])
					}
				}
			})
		})
	}
}
