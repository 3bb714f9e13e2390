package dynamo

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dispatch/acceptance"
)

func callsOf(t *testing.T, s *AuthStore, tenant string) acceptance.CallBucket {
	t.Helper()
	snapshot, err := New(s.Tables).Snapshot(t.Context(), acceptance.Query{Tenant: tenant, Calls: true})
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Calls
}

func TestAddCall(t *testing.T) {
	t.Parallel()
	s, tenant := authStore(t), unique()
	l := acceptance.CallLimit{Rate: 10, Burst: 2}
	bucket := func(period int, next time.Duration) acceptance.CallBucket {
		return acceptance.CallBucket{Period: period, Next: authNow.Add(next)}
	}
	none := acceptance.CallBucket{}
	for i, step := range []struct {
		now     time.Duration
		read    acceptance.CallBucket
		counted bool
		after   acceptance.CallBucket
	}{
		{0, none, true, bucket(1, 100*time.Millisecond)},
		{0, none, true, bucket(1, 200*time.Millisecond)},                             // read at the same time as the first
		{0, bucket(1, 100*time.Millisecond), false, bucket(1, 200*time.Millisecond)}, // used up
		{time.Hour, bucket(1, 200*time.Millisecond), true, bucket(2, time.Hour+100*time.Millisecond)},
		{time.Hour, bucket(1, 200*time.Millisecond), true, bucket(2, time.Hour+200*time.Millisecond)},  // read at the same time
		{time.Hour, bucket(1, 200*time.Millisecond), false, bucket(2, time.Hour+200*time.Millisecond)}, // used up
		{time.Hour, bucket(1, 2*time.Hour), false, bucket(2, time.Hour+200*time.Millisecond)},          // the period has ended
		{2 * time.Hour, none, false, bucket(2, time.Hour+200*time.Millisecond)},                        // two periods ago
		{2 * time.Hour, bucket(2, time.Hour), true, bucket(3, 2*time.Hour+100*time.Millisecond)},       // after its TTL
		{2*time.Hour + time.Second, bucket(9, 0), false, bucket(3, 2*time.Hour+100*time.Millisecond)},  // never read in this state
		{2*time.Hour + time.Minute, bucket(3, 0), true, bucket(4, 2*time.Hour+time.Minute+100*time.Millisecond)},
	} {
		current, counted, err := s.AddCall(t.Context(), tenant, step.read, l, authNow.Add(step.now))
		if err != nil || counted != step.counted {
			t.Fatalf("step %d: counted %t, %v", i, counted, err)
		}
		if diff := cmp.Diff(step.after, callsOf(t, s, tenant)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		if !counted && !cmp.Equal(current, step.after) {
			t.Errorf("step %d: current %+v, want %+v", i, current, step.after)
		}
	}
}

// Concurrent calls that read a full bucket are counted with one write each.
func TestAddCall_ConcurrentFromFull(t *testing.T) {
	t.Parallel()
	s, tenant := authStore(t), unique()
	l := acceptance.CallLimit{Rate: 25, Burst: 50}
	read := acceptance.CallBucket{}
	for round := range 2 {
		now := authNow.Add(time.Duration(round) * time.Hour)
		counted := make([]bool, 80)
		var running sync.WaitGroup
		for i := range counted {
			running.Go(func() {
				var err error
				if _, counted[i], err = s.AddCall(t.Context(), tenant, read, l, now); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		n := 0
		for _, c := range counted {
			if c {
				n++
			}
		}
		read = callsOf(t, s, tenant)
		if n != l.Burst || read.Period != round+1 || !read.Next.Equal(now.Add(2*time.Second)) {
			t.Errorf("round %d: %d counted, bucket %+v", round, n, read)
		}
	}
}
