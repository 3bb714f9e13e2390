package reconcile

import (
	"context"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/retry"
)

const (
	// backlog is how many tasks wait where a frame that is not sent may be waiting
	// among them rather than lost: send takes as many in a few minutes at most. To
	// queue it again would make the backlog longer, and bring it no earlier.
	backlog = 1000
	// share is how much of a backlog one sweep sees at least: it reads no batches but
	// those that are due, and they come due one after the other.
	share = backlog / 20
	// heldMargin is what is kept of a call's time for the batches that are held.
	heldMargin = 15 * time.Second
)

// heldBatch is a batch found behind a backlog, with its frames that are not sent.
type heldBatch struct {
	campaign.Batch
	frames []int
}

// waitingTenants returns the tenants whose held frames may be waiting in the queue.
//
// The queue is fair: tenants take turns, so before the last task of one of them as
// many of each other one are taken, if it has as many. A tenant with little to send
// waits for little, however long the backlogs of others are, and what it has not
// sent when its batch is due is lost.
func waitingTenants(held []heldBatch) map[string]bool {
	unsent := map[string]int{}
	for _, b := range held {
		unsent[b.Tenant] += len(b.frames)
	}
	waits := map[string]bool{}
	for tenant, own := range unsent {
		ahead := 0
		for _, n := range unsent {
			ahead += min(n, own)
		}
		waits[tenant] = ahead >= share
	}
	return waits
}

// settleHeld queues the frames of the held batches again, except those of the
// tenants that wait. What the end of ctx leaves no time for stays due.
func (r *round) settleHeld(ctx context.Context, waits map[string]bool) {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for _, b := range r.held {
		if starting.Err() != nil {
			return
		}
		did, err := r.sweeper.settle(ctx, b, waits[b.Tenant])
		if err != nil {
			slog.ErrorContext(ctx, "a batch could not be swept", "tenant", b.Tenant, "campaign_id", b.CampaignID, "batch_id", b.BatchID, "error", err)
			did = failed
		}
		r.actions[did]++
		r.turns.next()
	}
}

func (s *Sweeper) settle(ctx context.Context, b heldBatch, waits bool) (action, error) {
	if waits {
		return waiting, s.check(ctx, b.Batch, s.Now().Add(s.After))
	}
	return resent, s.queueFrames(ctx, b)
}

func (s *Sweeper) queueFrames(ctx context.Context, b heldBatch) error {
	tasks := make([]any, len(b.frames))
	for i, f := range b.frames {
		tasks[i] = campaign.SendTask{BatchRef: b.BatchRef, Frame: f}
	}
	return s.queue(ctx, s.Frames, b.Batch, tasks)
}
