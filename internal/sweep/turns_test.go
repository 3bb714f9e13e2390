package sweep_test

import (
	"bytes"
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
)

// busyStore has an endless number of batches in the first half of the shards, and one in
// each of the others. Each read takes time.
type busyStore struct {
	unpaused

	mu            sync.Mutex
	reading, most int
	looked        map[string]bool
}

func (s *busyStore) Due(_ context.Context, shard int, _ time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		due := overdue.Item{Batch: campaign.BatchRef{BatchID: strconv.Itoa(shard)}}
		for yield(due, nil) && shard < dynamo.DueShards/2 {
			continue
		}
	}
}

func (s *busyStore) Batch(_ context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	s.count(ref.BatchID, 1)
	defer s.count(ref.BatchID, -1)
	time.Sleep(10 * time.Millisecond)
	return campaign.Batch{}, campaign.ErrNotFound
}

func (s *busyStore) count(id string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading += n
	s.most = max(s.most, s.reading)
	s.looked[id] = true
}

// Shards with more items than a call can process do not block other shards, and at most
// atOnce shards are processed concurrently.
func TestSweep_BusyShards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &busyStore{looked: map[string]bool{}}
		sweeper := &sweep.Sweeper{Store: store, Expire: brokenExpirer{}.ExpireIfDue, Shards: dynamo.DueShards, Now: time.Now}
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second) // five seconds are reserved for started work
		defer cancel()
		if nets := netsOf(ctx, t, sweeper, sweep.Section{}); strings.Contains(nets, "due-") {
			t.Errorf("it completed a run of %s, and had items left", nets)
		}
		if len(store.looked) != dynamo.DueShards {
			t.Errorf("batches of %d shards were looked at, want those of all %d", len(store.looked), dynamo.DueShards)
		}
		if store.most > 32 || store.most < 16 {
			t.Errorf("%d batches were read at once, want some, and 32 at most", store.most)
		}
	})
}

// netsOf sweeps, and returns the nets of which it completed a run.
func netsOf(ctx context.Context, t *testing.T, s *sweep.Sweeper, section sweep.Section) string {
	t.Helper()
	var log bytes.Buffer
	handler := metrics.NewHandler(func(ctx context.Context, _ []byte) ([]byte, error) { return nil, s.Sweep(ctx, section) }, &log, time.Now)
	if _, err := handler.Invoke(ctx, nil); err != nil {
		t.Error(err)
	}
	var nets []string
	for line := range strings.Lines(log.String()) {
		if _, net, counted := strings.Cut(line, `"Net":"`); counted {
			net, _, _ = strings.Cut(net, `"`)
			nets = append(nets, net)
		}
	}
	return strings.Join(nets, " ")
}

// overdueDeliveries are more than a call can queue.
type overdueDeliveries struct {
	unpaused

	left bool // whether the call is over before all are read
}

func (overdueDeliveries) Due(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return func(func(overdue.Item, error) bool) {}
}

func (s overdueDeliveries) DueDeliveries(_ context.Context, _ int, _ time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		if s.left {
			time.Sleep(2 * time.Second)
			yield(overdue.Item{Delivery: &delivery.NotifyTask{Tenant: "acme"}}, nil)
		}
	}
}

// A part whose webhooks were not all reached in time is no complete run: the rest may be late for hours.
func TestSweep_DeliveriesLeft(t *testing.T) {
	t.Parallel()
	for left, want := range map[bool]string{false: "deliveries-1 due-1", true: "due-1"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
			defer cancel()
			sweeper := &sweep.Sweeper{Store: overdueDeliveries{left: left}, Shards: 4, DeliveryShards: 4, Now: time.Now}
			if nets := netsOf(ctx, t, sweeper, sweep.Section{Number: 1, Of: 4}); nets != want {
				t.Errorf("left is %t: it completed a run of %q, want %q", left, nets, want)
			}
		})
	}
}

// The parts in the template's rules cover each shard once.
func TestSweepPart_Shards(t *testing.T) {
	t.Parallel()
	looked := map[int]int{}
	for part := range dynamo.DueSections {
		store := &countingStore{looked: looked}
		sweeper := &sweep.Sweeper{Store: store, Shards: dynamo.DueShards, Now: time.Now}
		want := "deliveries-" + strconv.Itoa(part) + " due-" + strconv.Itoa(part)
		if nets := netsOf(t.Context(), t, sweeper, sweep.Section{Number: part, Of: dynamo.DueSections}); nets != want {
			t.Errorf("it completed a run of %q, want %q", nets, want)
		}
		if len(looked) != (part+1)*dynamo.DueShards/dynamo.DueSections {
			t.Errorf("%d shards were read after %d parts", len(looked), part+1)
		}
	}
	for shard, times := range looked {
		if times != 1 {
			t.Errorf("shard %d was read %d times", shard, times)
		}
	}
}

// countingStore counts the reads of each shard. Nothing is due.
type countingStore struct {
	unpaused

	mu     sync.Mutex
	looked map[int]int
}

func (s *countingStore) Due(_ context.Context, shard int, _ time.Time) iter.Seq2[overdue.Item, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked[shard]++
	return func(func(overdue.Item, error) bool) {}
}
