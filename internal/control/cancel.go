package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
)

// codeCancelled says why a message was stopped.
const codeCancelled = "cancelled"

// batchesAtOnce is how many batches are moved side by side.
const batchesAtOnce = 16

// canceller moves batches.
type canceller interface {
	CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, takeBack bool, nextCheck time.Time) error
}

// cancelBatches cancels those of a cancelled campaign's batches that have not
// ended. One that cannot be cancelled does not keep the others from it. Sweep
// looks at nextCheck after what was never released.
func cancelBatches(ctx context.Context, store canceller, c campaign.Campaign, nextCheck time.Time) error {
	errs := make([]error, len(c.Batches))
	var group errgroup.Group
	group.SetLimit(batchesAtOnce)
	for i, b := range c.Batches {
		if b.Done() || b.Cancelled() && (b.TakeBack || !c.Revoke) {
			continue
		}
		group.Go(func() error {
			errs[i] = store.CancelBatch(ctx, b.BatchRef, c.CancelledAt, c.Revoke, nextCheck)
			return nil
		})
	}
	_ = group.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cancel the batches of campaign %s: %w", c.CampaignID, err)
	}
	return nil
}

// Ledger keeps campaigns, their batches and what became of their messages.
type Ledger interface {
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	Ledger(ctx context.Context, b campaign.Batch, frames []int) (campaign.Ledger, error)
	Channel(ctx context.Context, tenant, agentID string) (campaign.Channel, error)
	// AdoptAgent returns the batch with the agent that it is sent by.
	AdoptAgent(ctx context.Context, b campaign.Batch) (campaign.Batch, error)
	CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, takeBack bool, nextCheck time.Time) error
}

// Recorder records outcomes, each once however often it is told.
type Recorder interface {
	Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error
}

// Tasks takes the tasks of revoking.
type Tasks interface {
	Send(ctx context.Context, group string, body []byte, delay time.Duration) error
	SendAll(ctx context.Context, group string, bodies [][]byte) error
}

// Blobs reads payloads: the bytes from offset from up to, not including, to.
type Blobs interface {
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
}

// Provider takes back messages that are not delivered. An error that is no
// campaign.Failure counts as a transient one.
type Provider interface {
	Revoke(ctx context.Context, agent campaign.Agent, messageID, phone string) error
}

// Canceller does what cancelling a campaign leaves to do. Whatever step it dies
// at, the same task given to it again does the rest.
type Canceller struct {
	Ledger   Ledger
	Recorder Recorder
	Tasks    Tasks
	Blobs    Blobs
	Provider Provider
	// Concurrency is how many messages one task revokes at once.
	Concurrency int
	// SweepAfter is how long a batch is left to its task before sweep looks at it.
	SweepAfter time.Duration
	Now        func() time.Time
}

// Handle does the tasks, and returns an error by its position for each that has
// to come again.
func (c *Canceller) Handle(ctx context.Context, tasks []campaign.RevokeTask) []error {
	errs := make([]error, len(tasks))
	for i, t := range tasks {
		if t.BatchID == "" {
			errs[i] = c.cancel(ctx, t.ID)
		} else {
			errs[i] = c.revoke(ctx, t)
		}
		if errors.Is(errs[i], campaign.ErrNotFound) {
			slog.WarnContext(ctx, "a task names what does not exist", "campaign_id", t.CampaignID, "batch_id", t.BatchID, "error", errs[i])
			errs[i] = nil
		}
	}
	return errs
}

// cancel cancels the batches of a campaign, stops the messages of those that were
// never released, and queues the revoking of what the provider may have.
func (c *Canceller) cancel(ctx context.Context, id campaign.ID) error {
	all, err := c.Ledger.Campaign(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if all.CancelledAt.IsZero() {
		return nil
	}
	errs := []error{cancelBatches(ctx, c.Ledger, all, c.Now().Add(c.SweepAfter))}
	for _, b := range all.Batches {
		if b.Done() && (!all.Revoke || b.Head.Counts[campaign.OutcomeStopped] == 0) {
			continue
		}
		errs = append(errs, c.settle(ctx, b, all.Revoke))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	return nil
}

// settle does what a batch needs that was cancelled just now or before: only its
// row reports whether cancelling it was faster than releasing it.
func (c *Canceller) settle(ctx context.Context, p campaign.Progress, revoke bool) error {
	b, err := c.Ledger.Batch(ctx, p.BatchRef)
	if err != nil {
		return err
	}
	if b.State == campaign.BatchCancelled {
		return c.Recorder.Record(ctx, b, stopped(b))
	}
	if !revoke {
		return nil
	}
	tasks := make([]campaign.RevokeTask, b.Frames())
	for f := range tasks {
		tasks[f] = campaign.RevokeTask{BatchRef: b.BatchRef, Frame: f}
	}
	bodies, err := campaign.Bodies(tasks)
	if err != nil {
		return err
	}
	return c.Tasks.SendAll(ctx, b.Tenant, bodies)
}

// stopped are the changes of a batch none of whose messages was given to the
// provider.
func stopped(b campaign.Batch) []campaign.Change {
	changes := make([]campaign.Change, b.Accepted)
	for i := range changes {
		changes[i] = campaign.Change{Index: i, Outcome: campaign.OutcomeStopped, Code: codeCancelled, At: b.CancelledAt}
	}
	return changes
}
