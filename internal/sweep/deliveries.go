package sweep

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
)

// sweepDeliveries starts to queue the due deliveries of the Webhooks table, all shards of
// the section in parallel. The returned function waits for the result. The work stops shortly
// before the end of ctx.
func (s *Sweeper) sweepDeliveries(ctx context.Context, section Section) (wait func() []*shardSweep) {
	var sweeps []*shardSweep
	var shards sync.WaitGroup
	for shard := range s.DeliveryShards {
		if !section.sweeps(shard) {
			continue
		}
		r := &shardSweep{sweeper: s, shard: shard, actions: map[action]int{}}
		sweeps = append(sweeps, r)
		shards.Go(func() { r.err = r.processDeliveries(ctx) })
	}
	return func() []*shardSweep {
		shards.Wait()
		return sweeps
	}
}

func (r *shardSweep) processDeliveries(ctx context.Context) error {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	pending := deliveries{sweeper: r.sweeper, actions: r.actions}
	defer pending.flush(ctx)
	for due, err := range r.sweeper.Store.DueDeliveries(ctx, r.shard, r.sweeper.Now()) {
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		if starting.Err() != nil {
			r.cut = true
			return nil
		}
		pending.add(ctx, due)
	}
	return nil
}

// deliveries collects due deliveries of a shard by tenant, to queue them in batches.
type deliveries struct {
	sweeper  *Sweeper
	actions  map[action]int
	gathered map[string][]overdue.Item // by tenant
}

// perCall is the number of messages per SQS call.
const perCall = 10

func (n *deliveries) add(ctx context.Context, due overdue.Item) {
	if n.gathered == nil {
		n.gathered = map[string][]overdue.Item{}
	}
	tenant := due.Delivery.Tenant
	n.gathered[tenant] = append(n.gathered[tenant], due)
	if len(n.gathered[tenant]) >= perCall {
		n.queue(ctx, tenant)
	}
}

func (n *deliveries) flush(ctx context.Context) {
	for tenant := range n.gathered {
		n.queue(ctx, tenant)
	}
}

// queue queues the tenant's deliveries, then postpones their next check. A crash in between
// requeues them (at least once).
func (n *deliveries) queue(ctx context.Context, tenant string) {
	gathered := n.gathered[tenant]
	delete(n.gathered, tenant)
	if err := n.sweeper.queueDeliveries(ctx, tenant, gathered); err != nil {
		slog.ErrorContext(ctx, "requeueing deliveries failed", "tenant", tenant, "error", err)
		n.actions[failed] += len(gathered)
		return
	}
	n.actions[notified] += len(gathered)
}

func (s *Sweeper) queueDeliveries(ctx context.Context, tenant string, gathered []overdue.Item) error {
	tasks := make([]delivery.NotifyTask, len(gathered))
	for i, due := range gathered {
		tasks[i] = *due.Delivery
	}
	if err := port.SendAll(ctx, s.Notify, tenant, tasks); err != nil {
		return err
	}
	next := s.Now().Add(s.SweepAfter)
	for _, due := range gathered {
		if _, err := s.Store.PostponeDelivery(ctx, *due.Delivery, due.Check, next); err != nil {
			return err
		}
	}
	return nil
}
