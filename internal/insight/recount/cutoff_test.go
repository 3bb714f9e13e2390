package recount_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

var errDied = errors.New("the process ended")

// books adds campaigns of tenants, and counts that are wrong.
func (m *memory) books(tenants []string, campaigns int) *memory {
	m.tenants = tenants
	for _, tenant := range tenants {
		for i := range campaigns {
			m.old(tenant, i)
		}
		for i := range 30 {
			at := now.Add(-time.Duration(i%4) * day)
			m.add(tenant, at, batch(at, campaign.BatchSending, sentAndRead))
		}
		first := now.Add(-360 * day) // the last one of the list has a batch that counts
		m.add(tenant, first, batch(first, campaign.BatchCompleted, sentAndRead), batch(now.Add(-day), campaign.BatchSent, sentAndRead))
		m.addDay(tenant, "2037-02-27", campaign.DayCounts{Sent: 1000})
	}
	return m
}

// cut ends a call at its nth call of the store: late, because its time is over, or dead, so that nothing is stored after.
func (m *memory) cut(n int, dead bool) (calls *int) {
	calls = new(int)
	over := false
	m.before = func(ctx context.Context, kind, _ string) error {
		m.mu.Lock()
		*calls++
		over = over || *calls == n
		now := over
		m.mu.Unlock()
		switch {
		case !now:
			return nil
		case dead:
			return errDied
		case kind == "SaveRecountCursor": // there is time for it
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return calls
}

// call is one call of sweep, which has 50 seconds.
func (m *memory) call(t *testing.T, at time.Time) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	defer cancel()
	return m.recounter().Recount(ctx, at)
}

// A call that ends at any point is continued by the next ones, and the days are those of one call. What was counted is not
// counted again if the call had the time to keep it.
func TestRecount_CutOff(t *testing.T) {
	t.Parallel()
	const campaigns = 130
	at := time.Unix(0, 0).Add(1000 * time.Minute)
	tenants := turnOf(t, at, manyTenants())[:2]
	whole := newMemory().books(tenants, campaigns)
	calls := whole.cut(-1, false)
	if err := whole.call(t, at); err != nil {
		t.Fatal(err)
	}
	for _, dead := range []bool{false, true} {
		for n := 1; n <= *calls; n++ {
			t.Run(fmt.Sprintf("call %d, dead %t", n, dead), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := newMemory().books(tenants, campaigns)
					m.cut(n, dead)
					_ = m.call(t, at)
					m.before = uncut
					next := at.Add(time.Minute)
					if dead || n <= 2 { // nothing is kept: the tenants' next turn
						next = at.Add(6 * time.Hour)
					}
					if err := m.call(t, next); err != nil {
						t.Fatal(err)
					}
					for _, tenant := range tenants {
						if diff := cmp.Diff(m.window(tenant), m.shown(tenant)); diff != "" {
							t.Errorf("days of %s (-want +got):\n%s", tenant, diff)
						}
					}
					if most := whole.listed + 50; !dead && m.listed > most {
						t.Errorf("%d entries of the list were read, want at most %d", m.listed, most)
					}
				})
			})
		}
	}
}

// window returns the truth of the days that a recount counts.
func (m *memory) window(tenant string) map[string]campaign.DayCounts {
	days := m.truth(tenant)
	for date := range days {
		if date < "2037-02-24" || date > "2037-02-28" {
			delete(days, date)
		}
	}
	return days
}

// A process that ends at once loses what it counted since progress was kept, in chunks of 20.
func TestRecount_KeepsProgress(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0).Add(1000 * time.Minute)
	tenants := turnOf(t, at, manyTenants())[:1]
	m := newMemory().books(tenants, 3_000)
	const lists = 45 // chunks are read
	seen := 0
	m.before = func(_ context.Context, kind, _ string) error {
		if kind == "ListCampaigns" {
			seen++
		}
		if seen > lists {
			return errDied
		}
		return nil
	}
	_ = m.call(t, at)
	m.before, m.listed = uncut, 0
	if err := m.call(t, at.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if left := 3_031 - 40*50; m.listed != left {
		t.Errorf("the next call reads %d entries of the list, want %d", m.listed, left)
	}
	if diff := cmp.Diff(m.window(tenants[0]), m.shown(tenants[0])); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

// Calls without work write nothing, and a queue that was worked off is emptied once.
func TestRecount_NothingToDo(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0).Add(1000 * time.Minute)
	m := newMemory().books(turnOf(t, at, manyTenants())[:1], 10)
	for range 3 {
		if err := m.call(t, at); err != nil || m.saves != 0 {
			t.Fatalf("%d writes of the cursor, %v", m.saves, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		m.cut(6, false)
		_ = m.call(t, at)
	})
	m.before = uncut
	for range 3 {
		if err := m.call(t, at.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if m.saves != 2 {
		t.Errorf("%d writes of the cursor, want one for what is left and one for nothing left", m.saves)
	}
}

// With time for one tenant a call, the tenants of several turns are all recounted, whatever the random start. One of them,
// whose first chunk takes longer than a call, delays the others for three calls.
func TestRecount_NoTenantIsStarved(t *testing.T) {
	t.Parallel()
	at, all := time.Unix(0, 0).Add(1000*time.Minute), manyTenants()
	var turns []string
	for minute := range 3 {
		turns = append(turns, turnOf(t, at.Add(time.Duration(minute)*time.Minute), all)...)
	}
	for start, slow := range turns {
		t.Run("slow: "+slow, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, began, done := newMemory(turns...), 0, map[string]bool{}
				m.before = func(ctx context.Context, kind, tenant string) error {
					if kind == "Days" {
						began++
					}
					if began > 1 && kind == "Days" || kind == "ListCampaigns" && tenant == slow {
						<-ctx.Done()
						return ctx.Err()
					}
					done[tenant] = done[tenant] || kind == "ListCampaigns"
					return nil
				}
				r := m.recounter()
				r.Random = func(n int) int { return start % n }
				for minute := range len(turns) + 3 {
					began = 0
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
					if err := r.Recount(ctx, at.Add(time.Duration(minute)*time.Minute)); err != nil {
						t.Fatal(err)
					}
					cancel()
				}
				for _, tenant := range turns {
					if !done[tenant] && tenant != slow {
						t.Errorf("%s was not recounted in %d calls", tenant, len(turns)+3)
					}
				}
			})
		})
	}
}

// A tenant whose recount takes many calls lets the others go first after ten of them, and goes on where it was.
func TestRecount_LargeTenant(t *testing.T) {
	t.Parallel()
	const campaigns, chunksOfACall, most = 3_000, 3, 12
	at, all := time.Unix(0, 0).Add(1000*time.Minute), manyTenants()
	large, others := turnOf(t, at, all)[:1], turnOf(t, at.Add(time.Minute), all)
	synctest.Test(t, func(t *testing.T) {
		m, lists := newMemory().books(large, campaigns), 0
		m.tenants = slices.Concat(large, others)
		m.before = func(ctx context.Context, kind, tenant string) error {
			if kind == "ListCampaigns" && tenant == large[0] {
				lists++
			}
			if lists <= chunksOfACall || kind == "SaveRecountCursor" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		for minute := range campaigns/50/chunksOfACall + 3 {
			lists = 0
			if err := m.call(t, at.Add(time.Duration(minute)*time.Minute)); err != nil {
				t.Fatal(err)
			}
			if minute == most && len(m.counted) != len(m.tenants) {
				t.Errorf("after %d calls, %q of %q were begun", most, m.counted, m.tenants)
			}
		}
		if diff := cmp.Diff(m.window(large[0]), m.shown(large[0])); diff != "" {
			t.Errorf("days of the large tenant (-want +got):\n%s", diff)
		}
		if m.listed > campaigns+50 || len(m.counted) != len(m.tenants) {
			t.Errorf("%d entries of its list were read, and %q were begun", m.listed, m.counted)
		}
	})
}
