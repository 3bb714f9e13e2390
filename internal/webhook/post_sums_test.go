package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// counts are the written posts, by tenant, hour and endpoint.
type counts struct {
	mu      sync.Mutex
	writes  int
	failing bool
	posts   map[string]delivery.PostCount
}

func (c *counts) AddPosts(_ context.Context, tenant string, at time.Time, posts map[string]delivery.PostCount) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	if c.failing {
		return errDied
	}
	if c.posts == nil {
		c.posts = map[string]delivery.PostCount{}
	}
	for id, p := range posts {
		key := fmt.Sprint(tenant, " ", at.Format("15"), " ", id)
		c.posts[key] = delivery.PostCount{Accepted: c.posts[key].Accepted + p.Accepted, Failed: c.posts[key].Failed + p.Failed}
	}
	return nil
}

// count counts posts as a call does that makes no others.
func count(ctx context.Context, s *webhook.PostSums, tenant, endpoint string, at time.Time, p delivery.PostCount) error {
	s.CountPosts(tenant, endpoint, at, p)
	return s.WritePosts(ctx, at)
}

func TestPostSums_Writes(t *testing.T) {
	t.Parallel()
	steps := []struct {
		after             time.Duration
		tenant, endpoint  string
		taken, failed     int
		writes            int
		key               string
		takenIn, failedIn int // the written counts
	}{
		{0, "a", "e", 1, 0, 1, "a 12 e", 1, 0}, // the first ones are written at once
		{time.Minute, "a", "f", 1, 0, 2, "a 12 f", 1, 0},
		{2 * time.Minute, "a", "e", 60, 2, 3, "a 12 e", 61, 2},
		{3 * time.Minute, "b", "g", 0, 1, 4, "b 12 g", 0, 1}, // first of another tenant
		{4 * time.Minute, "a", "f", 4, 0, 4, "a 12 f", 1, 0}, // less than the tenth part
		{5 * time.Minute, "a", "e", 4, 0, 5, "a 12 f", 5, 0},
		{6 * time.Minute, "a", "e", 3, 0, 5, "a 12 e", 65, 2},
		{61 * time.Minute, "b", "g", 1, 0, 7, "a 12 e", 68, 2}, // the hour has ended: the rest, and the first of the next hour
		{4 * time.Hour, "c", "h", 1, 0, 8, "b 13 g", 1, 0},
	}
	store := &counts{}
	sums := webhook.PostSums{Store: store}
	for i, s := range steps {
		if err := count(t.Context(), &sums, s.tenant, s.endpoint, start.Add(s.after), delivery.PostCount{Accepted: s.taken, Failed: s.failed}); err != nil {
			t.Fatal(err)
		}
		want := delivery.PostCount{Accepted: s.takenIn, Failed: s.failedIn}
		if store.writes != s.writes || store.posts[s.key] != want {
			t.Errorf("step %d: %d writes, %s has %v; want %d and %v", i, store.writes, s.key, store.posts[s.key], s.writes, want)
		}
	}
}

// The counts of an hour are at most 10% below its posts, and take few writes.
func TestPostSums_Agree(t *testing.T) {
	t.Parallel()
	store := &counts{}
	sums := webhook.PostSums{Store: store}
	for posted := 1; posted <= 10_000; posted++ {
		if err := count(t.Context(), &sums, "a", "e", start, delivery.PostCount{Accepted: 1}); err != nil {
			t.Fatal(err)
		}
		if counted := store.posts["a 12 e"].Accepted; counted > posted || (posted-counted)*10 > posted {
			t.Fatalf("%d of %d posts are counted", counted, posted)
		}
	}
	if store.writes > 150 {
		t.Errorf("%d writes for 10,000 posts, want 150 at most", store.writes)
	}
}

func TestPostSums_FailedWrites(t *testing.T) {
	t.Parallel()
	store := &counts{failing: true}
	sums := webhook.PostSums{Store: store}
	for range 150 {
		err := count(t.Context(), &sums, "a", "e", start, delivery.PostCount{Accepted: 1})
		if err != nil && !errors.Is(err, errDied) {
			t.Fatal(err)
		}
	}
	store.failing = false
	if err := count(t.Context(), &sums, "a", "e", start.Add(time.Hour), delivery.PostCount{Accepted: 1}); err != nil {
		t.Error(err)
	}
	want := map[string]delivery.PostCount{"a 12 e": {Accepted: 150}, "a 13 e": {Accepted: 1}}
	if diff := cmp.Diff(want, store.posts); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
}

// Concurrent posts are counted once each.
func TestPostSums_Concurrent(t *testing.T) {
	t.Parallel()
	store := &counts{}
	sums := webhook.PostSums{Store: store}
	var posts sync.WaitGroup
	for i := range 20 {
		posts.Go(func() {
			for k := range 50 {
				at := start.Add(time.Duration(k%2) * time.Hour)
				if err := count(t.Context(), &sums, "a", fmt.Sprint("e", i%2), at, delivery.PostCount{Accepted: 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	posts.Wait()
	if err := count(t.Context(), &sums, "b", "f", start.Add(9*time.Hour), delivery.PostCount{Accepted: 1}); err != nil {
		t.Error(err)
	}
	want := map[string]delivery.PostCount{
		"a 12 e0": {Accepted: 250}, "a 12 e1": {Accepted: 250}, "a 13 e0": {Accepted: 250}, "a 13 e1": {Accepted: 250}, "b 21 f": {Accepted: 1},
	}
	if diff := cmp.Diff(want, store.posts); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
}
