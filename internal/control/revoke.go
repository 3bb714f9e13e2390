package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/send/outgoing"
)

// revocations is the backoff of a frame's attempts. Its maximum is the longest delay of
// SQS.
var revocations = retry.Backoff{First: 20 * time.Second, Max: 15 * time.Minute}

// revoke revokes the sent but undelivered messages of a frame. It retries while
// messages may still be sent, for as long as the provider delivers messages.
//
// A message with outcome stopped may still be at the provider if the answer to an
// earlier send was lost. These messages are revoked too, once the whole frame has
// ended. The provider refuses messages that it does not have, which is harmless.
func (c *Canceller) revoke(ctx context.Context, t campaign.RevokeTask) error {
	b, err := c.Store.Batch(ctx, t.BatchRef)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if !b.Cancelled() || b.State == campaign.BatchCancelled || t.Frame < 0 || t.Frame >= b.Frames() {
		return nil
	}
	head, err := c.Store.LedgerHead(ctx, b.Key)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	ended := head.Complete(b, t.Frame)
	var undelivered []int
	for i := range b.FrameLen(t.Frame) {
		index := t.Frame*campaign.FrameSize + i
		if o := head.Outcome(index); o == campaign.OutcomeSent || ended && o == campaign.OutcomeStopped {
			undelivered = append(undelivered, index)
		}
	}
	left, err := c.revokeMessages(ctx, b, t, undelivered)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if left || !ended {
		return c.requeue(ctx, b, t)
	}
	return nil
}

// requeue queues the task again unless the provider no longer delivers the messages.
func (c *Canceller) requeue(ctx context.Context, b campaign.Batch, t campaign.RevokeTask) error {
	if c.Now().After(b.CancelledAt.Add(campaign.MessageTTL)) {
		return nil
	}
	delay := revocations.Delay(t.Attempt)
	t.Attempt++
	return port.Send(ctx, c.Retries, t.Tenant, t, delay)
}

// revokeMessages revokes messages of a frame, and reports whether some have to be retried. It
// records no outcome: the provider's events report which messages were revoked.
func (c *Canceller) revokeMessages(ctx context.Context, b campaign.Batch, t campaign.RevokeTask, indexes []int) (left bool, err error) {
	if len(indexes) == 0 {
		return false, nil
	}
	route, err := c.Store.Route(ctx, b.Tenant, b.AgentID)
	if err != nil {
		return false, err
	}
	messages, err := payload.LatestFrame(ctx, c.Store.Batch, c.Blobs, b, t.Frame)
	if err != nil {
		return false, err
	}
	// An erased message has no number to revoke it by.
	indexes = slices.DeleteFunc(indexes, func(i int) bool { return messages[i%campaign.FrameSize].Erased() })
	var results answers
	var calls errgroup.Group
	calls.SetLimit(max(c.Concurrency, 1))
	for _, index := range indexes {
		calls.Go(func() error {
			results.add(c.Provider.Revoke(ctx, route.Agent, b.Key.MessageID(index), messages[index%campaign.FrameSize].Phone.String()))
			return nil
		})
	}
	_ = calls.Wait()
	results.report(ctx, t)
	return results.failed > 0, nil
}

// answers counts the results of revoking the messages of one task.
type answers struct {
	mu      sync.Mutex
	taken   int
	refused int   // permanently: unknown to the provider, or delivered
	failed  int   // to be retried
	first   error // first transient error
}

func (a *answers) add(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	failure := &outgoing.Failure{Kind: outgoing.Transient}
	switch _ = errors.As(err, &failure); {
	case err == nil:
		a.taken++
	case failure.Kind == outgoing.Permanent:
		a.refused++
	default:
		if a.failed++; a.first == nil {
			a.first = err
		}
	}
}

func (a *answers) report(ctx context.Context, t campaign.RevokeTask) {
	line := []any{
		"tenant", t.Tenant, "campaign_id", t.CampaignID, "batch_id", t.BatchID, "frame", t.Frame, "attempt", t.Attempt,
		"revoked", a.taken, "refused", a.refused,
	}
	if a.failed > 0 {
		slog.WarnContext(ctx, "revoking messages failed, will retry", append(line, "failed", a.failed, "error", a.first)...)
		return
	}
	slog.InfoContext(ctx, "messages revoked", line...)
}
