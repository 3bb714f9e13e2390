// Package release schedules the release of accepted batches and queues the frames of due
// batches.
package release

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
)

// Store reads and updates batches.
type Store interface {
	port.SentBatches

	// Tenant returns a tenant. The error wraps campaign.ErrNotFound if there is none.
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	// StartRelease moves a due batch to releasing with its agent, and reports whether it did.
	StartRelease(ctx context.Context, ref campaign.BatchRef, agentID string, now, nextCheck time.Time) (bool, error)
	// EndRelease moves a releasing batch to sending, and reports whether it did. It keeps the next check if keep is set.
	EndRelease(ctx context.Context, b campaign.Batch, nextCheck time.Time, keep bool) (bool, error)
	// TenantHours returns the hours of a tenant, zero for none. The error wraps campaign.ErrDamaged if they cannot be read.
	TenantHours(ctx context.Context, tenant string) (reach.TenantHours, error)
}

// Releaser releases batches. Tasks can be repeated. After a crash, the task's next receive
// resumes; frames queued twice are sent once.
type Releaser struct {
	Store      Store
	Frames     port.BatchQueue
	Releases   port.Queue
	SweepAfter time.Duration // time until sweep checks a released batch
	Now        func() time.Time
}

// maxRequeueDelay is the maximum delay of SQS. A task that is early by at most this time is
// requeued. Other early batches are released by sweep.
const maxRequeueDelay = 15 * time.Minute

// unmovedDelay is the time until the next attempt to release a due batch without the due time
// of its rescheduled campaign.
const unmovedDelay = 30 * time.Second

// Handle releases the batches of the tasks. It returns an error by position for each task to retry.
func (r Releaser) Handle(ctx context.Context, tasks []campaign.ReleaseTask) []error {
	return port.HandleEach(ctx, tasks, r.release)
}

func (r Releaser) release(ctx context.Context, task campaign.ReleaseTask) error {
	b, err := r.Store.Batch(ctx, task.BatchRef)
	if errors.Is(err, campaign.ErrNotFound) {
		slog.WarnContext(ctx, "task ignored: batch not found", "campaign_id", task.CampaignID, "batch_id", task.BatchID)
		return nil
	}
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if b.State == campaign.BatchPending {
		wait := b.Due.Sub(r.Now())
		if b.Unmoved { // its row changes first
			wait = max(wait, unmovedDelay)
		}
		if wait > 0 {
			return r.requeue(ctx, task, wait)
		}
		if b, err = r.start(ctx, b); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	if b.State != campaign.BatchReleasing {
		return nil // already released, cancelled, or rescheduled
	}
	return r.queueFrames(ctx, b)
}

// requeue requeues the task until its batch is due.
func (r Releaser) requeue(ctx context.Context, task campaign.ReleaseTask, wait time.Duration) error {
	if wait > maxRequeueDelay {
		return nil
	}
	// Delays are in whole seconds. Add one, so that the task is not early again.
	return port.Send(ctx, r.Releases, task.Tenant, task, min(wait+time.Second, maxRequeueDelay))
}

// start moves the batch to releasing, with the tenant's current agent. It returns the
// updated batch, which another call may have released or cancelled.
func (r Releaser) start(ctx context.Context, b campaign.Batch) (campaign.Batch, error) {
	tenant, err := r.Store.Tenant(ctx, b.Tenant)
	if campaign.IgnoreNotFound(err) != nil {
		return b, err
	}
	if tenant.AgentID == "" { // sweep releases the batch once the tenant has one
		slog.WarnContext(ctx, "batch not released: its tenant has no agent", "tenant", b.Tenant,
			"campaign_id", b.CampaignID, "batch_id", b.BatchID)
		return b, nil
	}
	now := r.Now()
	started, err := r.Store.StartRelease(ctx, b.BatchRef, tenant.AgentID, now, now.Add(r.SweepAfter))
	if err != nil {
		return b, err
	}
	if started {
		b.State, b.AgentID = campaign.BatchReleasing, tenant.AgentID
		return b, nil
	}
	return r.Store.Batch(ctx, b.BatchRef)
}

// queueFrames queues the frames with messages that may go. Those whose send window is closed wait, without a task.
func (r Releaser) queueFrames(ctx context.Context, b campaign.Batch) error {
	hours, err := r.hours(ctx, b)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	now := r.Now()
	frames := hours.FramesOf(b, func(int) bool { return true }, now)
	tasks := make([]outgoing.SendTask, len(frames.Open))
	for i, frame := range frames.Open {
		tasks[i] = outgoing.SendTask{BatchRef: b.BatchRef, Frame: frame, Released: now}
	}
	if err := port.SendAll(ctx, r.Frames, b.Tenant, tasks); err != nil {
		return fmt.Errorf("queue the frames of batch %s: %w", b.BatchID, err)
	}
	nextCheck, keep := r.Now().Add(r.SweepAfter), true
	b, opens := hours.Postpone(b, frames.Closed, now)
	if !opens.IsZero() && (len(tasks) == 0 || opens.Before(nextCheck)) {
		nextCheck, keep = opens, false
	}
	ended, err := r.Store.EndRelease(ctx, b, nextCheck, keep)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	slog.InfoContext(ctx, "batch released", "tenant", b.Tenant, "campaign_id", b.CampaignID, "batch_id", b.BatchID,
		"frames", len(tasks), "messages", b.Accepted, "again", !ended)
	return nil
}

func (r Releaser) hours(ctx context.Context, b campaign.Batch) (reach.Hours, error) {
	p, err := r.Store.TenantHours(ctx, b.Tenant)
	if err != nil {
		return reach.Hours{}, err
	}
	return reach.Load(ctx, r.Store, p, b)
}

// Schedules sends messages to the release queue.
type Schedules interface {
	// At schedules a message by its name. One that is scheduled already is not an error.
	At(ctx context.Context, name string, at time.Time, body []byte) error
}

// Scheduler queues batches for release, at least once each.
type Scheduler struct {
	Releases  port.Queue
	Schedules Schedules
}

// Schedule queues or schedules the batch's release.
func (r Scheduler) Schedule(ctx context.Context, b campaign.Batch) error {
	body, err := json.Marshal(campaign.ReleaseTask{BatchRef: b.BatchRef})
	if err != nil {
		return fmt.Errorf("encode release task: %w", err)
	}
	if b.Scheduled {
		return r.Schedules.At(ctx, scheduleName(b), b.Due, body)
	}
	return r.Releases.Send(ctx, b.Tenant, body, 0)
}

// scheduleName returns a schedule name that depends only on the batch and its due time. It
// has 43 characters; the maximum is 64.
func scheduleName(b campaign.Batch) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", b.Tenant, b.CampaignID, b.BatchID, b.Due.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
