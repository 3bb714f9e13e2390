package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/send/outgoing"
)

const batchesAtOnce = 16

type cancelBatch func(ctx context.Context, ref campaign.BatchRef, at time.Time, revoke bool, nextCheck time.Time) error

// cancelBatches cancels the unfinished batches of a cancelled campaign. An error in one
// batch does not stop the others. Sweep checks unreleased batches at nextCheck.
func cancelBatches(ctx context.Context, cancel cancelBatch, c campaign.Campaign, nextCheck time.Time) error {
	errs := make([]error, len(c.Batches))
	var group errgroup.Group
	group.SetLimit(batchesAtOnce)
	for i, b := range c.Batches {
		if b.Done() || b.Cancelled() && (b.Revoke || !c.Revoke) {
			continue
		}
		group.Go(func() error {
			errs[i] = cancel(ctx, b.BatchRef, c.CancelledAt, c.Revoke, nextCheck)
			return nil
		})
	}
	_ = group.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cancel the batches of campaign %s: %w", c.CampaignID, err)
	}
	return nil
}

// CancellerStore stores campaigns, their batches and the outcomes of their messages.
type CancellerStore interface {
	port.OpenBatches

	// Campaign returns a campaign with its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Route returns how a tenant sends through an agent. Without an existing agent, it is paused.
	Route(ctx context.Context, tenant, agentID string) (outgoing.Route, error)
	// CancelBatch cancels a batch, and keeps the first time. An ended batch is unchanged, which is not an error.
	CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, revoke bool, nextCheck time.Time) error
	// MarkStopped records that the cancellation has reached all batches, and keeps the first time. The error wraps
	// campaign.ErrNotFound if there is no campaign, or it is being deleted.
	MarkStopped(ctx context.Context, id campaign.ID, at time.Time) error
	// Submission returns an error that wraps campaign.ErrNotFound if the campaign has no file.
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	// SaveSubmission returns an error that wraps campaign.ErrLostRace if the stored version is not sub.Version.
	SaveSubmission(ctx context.Context, sub submission.Submission) (submission.Submission, error)
	// FinishMove returns the batches that an open move had left. The error wraps campaign.ErrNotFound for no campaign.
	FinishMove(ctx context.Context, id campaign.ID, nextCheck func(due time.Time) time.Time) ([]campaign.Batch, error)
}

// Provider revokes undelivered messages. An error that is not an *outgoing.Failure is
// transient.
type Provider interface {
	// Revoke returns nil if the provider agreed, now or before. A permanent failure means too late, or no such message.
	Revoke(ctx context.Context, agent campaign.Agent, messageID, phone string) error
}

// Canceller completes the cancellation and the reschedule of a campaign. A task may be
// repeated: after a crash, the next attempt does the remaining steps.
type Canceller struct {
	Store    CancellerStore
	Recorder port.Recorder
	Tasks    port.BatchQueue
	Retries  port.Queue // the queue of Tasks
	Blobs    payload.Blobs
	Provider Provider
	// Concurrency is the number of messages that one task revokes concurrently.
	Concurrency int
	// SweepAfter is the delay after which sweep checks a batch.
	SweepAfter time.Duration
	Now        func() time.Time
}

// Handle handles the tasks. It returns one error per task, nil if the task is done.
func (c *Canceller) Handle(ctx context.Context, tasks []campaign.RevokeTask) []error {
	errs := make([]error, len(tasks))
	for i, t := range tasks {
		if t.BatchID == "" {
			errs[i] = c.cancel(ctx, t.ID)
		} else {
			errs[i] = c.revoke(ctx, t)
		}
		if errors.Is(errs[i], campaign.ErrNotFound) {
			slog.WarnContext(ctx, "task dropped: campaign or batch not found",
				"campaign_id", t.CampaignID, "batch_id", t.BatchID, "error", errs[i])
			errs[i] = nil
		}
	}
	return errs
}

// cancel completes what is open of a campaign. It finishes a reschedule. Of a cancelled
// campaign, it cancels the batches, stops the messages of unreleased batches,
// and queues revoke tasks for the others. At last it records that none is left.
func (c *Canceller) cancel(ctx context.Context, id campaign.ID) error {
	all, err := c.Store.Campaign(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if all.Move.Open {
		if err := c.finishMove(ctx, id); err != nil {
			return err
		}
	}
	if all.CancelledAt.IsZero() {
		return nil
	}
	if err := c.discardWaves(ctx, id); err != nil {
		return err
	}
	errs := []error{cancelBatches(ctx, c.Store.CancelBatch, all, c.Now().Add(c.SweepAfter))}
	for _, b := range all.Batches {
		if b.Done() && (!all.Revoke || b.Head.Counts[campaign.OutcomeStopped] == 0) {
			continue
		}
		errs = append(errs, c.finishCancel(ctx, b, all.Revoke))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if err := c.Store.MarkStopped(ctx, id, c.Now()); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	return nil
}

// discardWaves discards the waves that wait for a person: nobody can open them any more. Sweep queues the task that deletes
// the files. Parts that are being dispatched are refused one by one.
func (c *Canceller) discardWaves(ctx context.Context, id campaign.ID) error {
	sub, err := c.Store.Submission(ctx, id)
	if err == nil && sub.State == submission.StateHolding {
		_, err = c.Store.SaveSubmission(ctx, sub.Close(submission.StateDiscarded))
	}
	if err = campaign.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("discard the waves of campaign %s: %w", id.CampaignID, err)
	}
	return nil
}

// finishMove finishes a reschedule. Sweep releases its batches when they are due, because they
// have no schedules.
func (c *Canceller) finishMove(ctx context.Context, id campaign.ID) error {
	moved, err := c.Store.FinishMove(ctx, id, func(due time.Time) time.Time { return due })
	if err != nil {
		return fmt.Errorf("finish the reschedule: %w", err)
	}
	slog.InfoContext(ctx, "reschedule finished", "tenant", id.Tenant, "campaign_id", id.CampaignID, "batches", len(moved))
	return nil
}

// finishCancel handles a batch after its cancellation. The batch's row states whether it was
// released first.
func (c *Canceller) finishCancel(ctx context.Context, p campaign.BatchProgress, revoke bool) error {
	b, err := c.Store.Batch(ctx, p.BatchRef)
	if err != nil {
		return err
	}
	if b.State == campaign.BatchCancelled {
		return c.Recorder.Record(ctx, b, stopped(b))
	}
	if b.Waits.Any() { // sweep queues it at once, and send stops its messages
		if _, err := c.Store.PostponeCheck(ctx, b, c.Now()); err != nil {
			return err
		}
	}
	if !revoke {
		return nil
	}
	tasks := make([]campaign.RevokeTask, b.Frames())
	for f := range tasks {
		tasks[f] = campaign.RevokeTask{BatchRef: b.BatchRef, Frame: f}
	}
	return port.SendAll(ctx, c.Tasks, b.Tenant, tasks)
}

// stopped returns the changes that stop every message of an unreleased batch.
func stopped(b campaign.Batch) []campaign.Change {
	changes := make([]campaign.Change, b.Accepted)
	for i := range changes {
		changes[i] = campaign.Change{Index: i, Outcome: campaign.OutcomeStopped, Code: campaign.CodeCancelled, At: b.CancelledAt}
	}
	return changes
}
