package lists_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
)

// together lets all racers read the lists before any of them writes.
type together struct {
	*world
	arrived *sync.WaitGroup
	once    *sync.Once
}

func (s together) Lists(ctx context.Context, tenant string) ([]lists.List, error) {
	all, err := s.world.Lists(ctx, tenant)
	s.once.Do(func() {
		s.arrived.Done()
		s.arrived.Wait()
	})
	return all, err
}

// With 63 lists, 12 deleted or new ones that are put at once give 64.
func TestChange_RacingAdditions(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"deleted": true, "new": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { raceAdditions(t, deleted) })
		})
	}
}

func raceAdditions(t *testing.T, deleted bool) {
	t.Helper()
	const racers, before = 12, lists.MaxLists - 1
	w := newWorld()
	for i := range racers {
		if deleted {
			w.change(t, fmt.Sprint("again", i), lists.Change{Settings: &settings})
			if err := w.book.Delete(t.Context(), tenant, fmt.Sprint("again", i), account.AuditEntry{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range before {
		w.change(t, fmt.Sprint("kept", i), lists.Change{Settings: &settings})
	}
	var arrived, racing sync.WaitGroup
	arrived.Add(racers)
	results := make([]error, racers)
	for i := range racers {
		racing.Go(func() {
			b := &book.Book{Store: together{world: w, arrived: &arrived, once: &sync.Once{}}, Blobs: w, Now: w.book.Now}
			_, results[i] = b.Change(t.Context(), tenant, fmt.Sprint("again", i), lists.Change{Settings: &settings}, account.AuditEntry{})
		})
	}
	racing.Wait()
	all, _ := w.Lists(t.Context(), tenant)
	if live := len(lists.Live(all)); live != lists.MaxLists {
		t.Errorf("%d lists, want %d", live, lists.MaxLists)
	}
	saved := 0
	for _, err := range results {
		if err == nil {
			saved++
		} else if !errors.Is(err, lists.ErrTooMany) {
			t.Error(err)
		}
	}
	if saved != 1 {
		t.Errorf("%d calls were accepted, want 1", saved)
	}
}
