package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
)

// deliveryStore has three due deliveries in each shard of the Webhooks table and nothing
// else.
type deliveryStore struct {
	unpaused

	mu      sync.Mutex
	indexes error // of shard 1
	moved   []string
	queued  []string
}

func (*deliveryStore) Due(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return func(func(overdue.Item, error) bool) {}
}

func (s *deliveryStore) DueDeliveries(_ context.Context, shard int, now time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		if s.indexes != nil && shard == 1 {
			yield(overdue.Item{}, s.indexes)
			return
		}
		for i := range 3 {
			t := delivery.NotifyTask{DeliveryID: fmt.Sprint(shard, "-", i), Tenant: "t", EndpointID: "e"}
			if !yield(overdue.Item{Delivery: &t, Check: now.Add(-time.Minute)}, nil) {
				return
			}
		}
	}
}

func (s *deliveryStore) PostponeDelivery(_ context.Context, t delivery.NotifyTask, read, next time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = append(s.moved, fmt.Sprint(t.DeliveryID, " by ", next.Sub(read)))
	return true, nil
}

func (s *deliveryStore) SendAll(_ context.Context, group string, bodies [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range bodies {
		s.queued = append(s.queued, group+" "+string(body))
	}
	return nil
}

func (s *deliveryStore) sweep(t *testing.T) error {
	t.Helper()
	now := time.Unix(5e9, 0)
	sweeper := &sweep.Sweeper{
		Store: s, Notify: s, DeliveryShards: 2, SweepAfter: 10 * time.Minute, Now: func() time.Time { return now },
	}
	return sweeper.Sweep(t.Context(), sweep.Section{})
}

func TestSweep_DeliveriesOfTheWebhooksTable(t *testing.T) {
	t.Parallel()
	s := &deliveryStore{}
	if err := s.sweep(t); err != nil {
		t.Error(err)
	}
	var queued, moved []string
	for _, id := range []string{"0-0", "0-1", "0-2", "1-0", "1-1", "1-2"} {
		queued = append(queued, fmt.Sprintf(`t {"deliveryId":%q,"tenant":"t","endpointId":"e"}`, id))
		moved = append(moved, id+" by 11m0s")
	}
	slices.Sort(s.queued)
	slices.Sort(s.moved)
	if diff := cmp.Diff(queued, s.queued) + cmp.Diff(moved, s.moved); diff != "" {
		t.Errorf("queued and moved (-want +got):\n%s", diff)
	}
}

// An unreadable shard of the Webhooks table is an error and does not block other shards.
func TestSweep_UnreadableDeliveries(t *testing.T) {
	t.Parallel()
	s := &deliveryStore{indexes: errUnavailable}
	if err := s.sweep(t); !errors.Is(err, errUnavailable) {
		t.Errorf("sweep: %v, want %v", err, errUnavailable)
	}
	if len(s.queued) != 3 {
		t.Errorf("queued %q, want those of the other shard", s.queued)
	}
}
