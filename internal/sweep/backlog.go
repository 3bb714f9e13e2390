package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/send/outgoing"
)

const (
	// backlog is the queue length above which an unsent frame is probably still queued, not
	// lost. The consumers need at most a few minutes for such a queue. Requeueing the frame
	// would only lengthen the queue.
	backlog = 1000
	// minSeen is the part of a backlog that a sweep certainly finds. It reads only batches
	// that are due, and they become due one after the other.
	minSeen      = backlog / 20
	queuedMargin = 15 * time.Second // time reserved for queued batches at the end of a call
)

// queuedBatch is a batch found during a backlog, with its unsent frames that may be sent.
type queuedBatch struct {
	campaign.Batch
	frames []int
	opens  time.Time // when the first of its closed send windows opens, zero if none is closed
}

// nextCheck returns when a batch is checked after its frames were queued, or left to the queue.
func (b queuedBatch) nextCheck(s *Sweeper) time.Time {
	next := s.Now().Add(s.SweepAfter)
	if !b.opens.IsZero() && b.opens.Before(next) {
		return b.opens
	}
	return next
}

// queuedTenants returns the tenants whose frames may still be queued.
//
// The queue serves tenants in turn, so each other tenant has at most as many tasks ahead as
// this tenant has itself. The tasks of a small tenant wait only briefly, whatever
// the backlogs of others. If they are unsent when the batch is due, they are lost.
func queuedTenants(queued []queuedBatch) map[string]bool {
	unsent := map[string]int{}
	for _, b := range queued {
		unsent[b.Tenant] += len(b.frames)
	}
	waits := map[string]bool{}
	for tenant, own := range unsent {
		ahead := 0
		for _, n := range unsent {
			ahead += min(n, own)
		}
		waits[tenant] = ahead >= minSeen
	}
	return waits
}

// requeueLost requeues the frames of the queued batches, except those of tenants whose frames may still be queued.
// Batches not reached before the end of ctx stay due.
func (r *shardSweep) requeueLost(ctx context.Context, waits map[string]bool) {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for _, b := range r.queued {
		if starting.Err() != nil {
			r.cut = true
			return
		}
		r.count(ctx, b.BatchRef, func(ctx context.Context, _ campaign.BatchRef) (action, error) {
			return r.sweeper.requeueIfLost(ctx, b, waits[b.Tenant])
		})
		r.semaphore.next()
	}
}

func (s *Sweeper) requeueIfLost(ctx context.Context, b queuedBatch, waits bool) (action, error) {
	if waits {
		return inQueue, s.check(ctx, b.Batch, b.nextCheck(s))
	}
	return resent, s.queueFrames(ctx, b)
}

// queueOpened queues the frames of a batch that waited. The mark of a pause is cleared first: a function that still has the
// pause in its cache marks the batch again, and its frames are not lost. After a crash in between, the batch is due. If its
// row has changed since it was read, the next sweep does all this.
func (s *Sweeper) queueOpened(ctx context.Context, b queuedBatch) (action, error) {
	if b.Waits.Paused {
		now := s.Now()
		b.Waits.Paused = false
		cleared, err := s.Store.PostponeCheck(ctx, b.Batch, now)
		if err != nil || !cleared {
			return paused, err
		}
		b.NextCheck = now
	}
	return woken, s.queueFrames(ctx, b)
}

func (s *Sweeper) queueFrames(ctx context.Context, b queuedBatch) error {
	tasks, now := make([]any, len(b.frames)), s.Now()
	for i, f := range b.frames {
		tasks[i] = outgoing.SendTask{BatchRef: b.BatchRef, Frame: f, Released: now}
	}
	return s.queueUntil(ctx, s.Frames, b.Batch, tasks, b.nextCheck(s))
}

func (r *shardSweep) processSubmission(ctx context.Context, id campaign.ID) {
	result, err := r.sweeper.sweepSubmission(ctx, id)
	if err != nil {
		slog.ErrorContext(ctx, "processing due submission failed", "tenant", id.Tenant, "campaign_id", id.CampaignID, "error", err)
		result = failed
	}
	r.actions[result]++
}

// sweepSubmission queues the lost task of a submission again, and discards a submission that has
// expired. The row is saved first, so that its worker, if it still runs, stops instead of the one of
// the new task.
func (s *Sweeper) sweepSubmission(ctx context.Context, id campaign.ID) (action, error) {
	sub, err := s.Store.Submission(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return over, nil
	}
	if err != nil {
		return failed, err
	}
	if check := sub.NextCheck(sub.UpdatedAt); check.IsZero() || check.After(s.Now()) { // the index is outdated
		return postponed, nil
	}
	if sub, err = s.moved(ctx, sub); err != nil {
		return failed, err
	}
	result, expired := continued, !sub.Closed() && !s.Now().Before(sub.FilesUntil())
	if !expired && !sub.Working() && !sub.Closed() { // it was rescheduled: nothing is lost
		_, err := s.Store.SaveSubmission(ctx, sub)
		return postponed, ignoreLostRace(err)
	}
	if sub.Repairs++; expired {
		sub, result = sub.Close(submission.StateDiscarded), discarded
		slog.InfoContext(ctx, "submission expired", "tenant", id.Tenant, "campaign_id", id.CampaignID)
	}
	if _, err := s.Store.SaveSubmission(ctx, sub); errors.Is(err, campaign.ErrLostRace) {
		return postponed, nil
	} else if err != nil {
		return failed, err
	}
	tasks := []submission.Task{{Tenant: id.Tenant, CampaignID: id.CampaignID}}
	if err := port.SendAll(ctx, s.Intake, id.Tenant, tasks); err != nil {
		return failed, fmt.Errorf("queue the task of submission %s: %w", id.CampaignID, err)
	}
	return result, nil
}

func ignoreLostRace(err error) error {
	if errors.Is(err, campaign.ErrLostRace) {
		return nil
	}
	return err
}

// moved returns a submission in waves with the time to which its campaign was rescheduled: its waves wait as long after
// the new time.
func (s *Sweeper) moved(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	if sub.Sending.Wave() == 0 || sub.Closed() {
		return sub, nil
	}
	last, err := s.Store.Move(ctx, sub.ID)
	return sub.Moved(last), campaign.IgnoreNotFound(err)
}
