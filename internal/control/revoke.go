package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

// firstAgain is when a frame is looked at again of which messages were still
// being sent, or which the provider had no time for. It doubles with each look, up
// to maxAgain, the longest time for which the queue holds a task back.
const (
	firstAgain = 20 * time.Second
	maxAgain   = 15 * time.Minute
)

// revoke takes back those messages of a frame that the provider has and that are
// not delivered. What is still on its way to the provider is waited for, as long
// as the provider tries to deliver a message.
//
// A message that ended as stopped may be with the provider all the same: what an
// earlier attempt gave it without hearing its answer is stopped by the next. So
// those are taken back too, once the whole frame has ended. What the provider
// never had it refuses for good, which does no harm. The others keep their
// outcome, unless one turns out to have been delivered.
func (c *Canceller) revoke(ctx context.Context, t campaign.RevokeTask) error {
	b, err := c.Ledger.Batch(ctx, t.BatchRef)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if !b.Cancelled() || b.State == campaign.BatchCancelled || t.Frame < 0 || t.Frame >= b.Frames() {
		return nil
	}
	batchLedger, err := c.Ledger.Ledger(ctx, b, []int{t.Frame})
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	outcomes := batchLedger.Frames[t.Frame].Outcomes
	ended := len(outcomes) >= b.FrameLen(t.Frame)
	var may []int
	for index, outcome := range outcomes {
		if outcome == campaign.OutcomeSent || ended && outcome == campaign.OutcomeStopped {
			may = append(may, index)
		}
	}
	left, err := c.takeBack(ctx, b, t, may)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if left || !ended {
		return c.again(ctx, b, t)
	}
	return nil
}

// again lets the task come once more, unless it can help no more.
func (c *Canceller) again(ctx context.Context, b campaign.Batch, t campaign.RevokeTask) error {
	if c.Now().After(b.CancelledAt.Add(campaign.MessageTTL)) {
		return nil
	}
	delay := min(firstAgain<<min(t.Attempt, 10), maxAgain)
	t.Attempt++
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write a task: %w", err)
	}
	return c.Tasks.Send(ctx, t.Tenant, body, delay)
}

// takeBack revokes messages of a frame, and reports whether some have to be tried
// again. Nothing is recorded: the provider's answer says little, and its events
// tell which messages it revoked and which were delivered before.
func (c *Canceller) takeBack(ctx context.Context, b campaign.Batch, t campaign.RevokeTask, indexes []int) (left bool, err error) {
	if len(indexes) == 0 {
		return false, nil
	}
	if b, err = c.Ledger.AdoptAgent(ctx, b); err != nil {
		return false, err
	}
	channel, err := c.Ledger.Channel(ctx, b.Tenant, b.AgentID)
	if err != nil {
		return false, err
	}
	var messages []campaign.Message
	err = payload.OfLatest(ctx, c.Ledger.Batch, c.Blobs, b, func(b campaign.Batch) (err error) {
		messages, err = payload.ReadFrame(ctx, c.Blobs, b, t.Frame)
		return err
	})
	if err != nil {
		return false, err
	}
	// Of what was erased nothing is left that the provider could be told.
	indexes = slices.DeleteFunc(indexes, func(i int) bool { return messages[i%campaign.FrameSize].Erased() })
	var heard answers
	var calls errgroup.Group
	calls.SetLimit(max(c.Concurrency, 1))
	for _, index := range indexes {
		calls.Go(func() error {
			heard.add(c.Provider.Revoke(ctx, channel.Agent, b.Key.MessageID(index), messages[index%campaign.FrameSize].Phone))
			return nil
		})
	}
	_ = calls.Wait()
	heard.report(ctx, t)
	return heard.failed > 0, nil
}

// answers are what came of revoking the messages of one task.
type answers struct {
	mu      sync.Mutex
	taken   int
	refused int   // for good: the provider has not got it, or it was delivered
	failed  int   // to be tried again
	first   error // of those that failed; it stands for all
}

func (a *answers) add(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	failure := &campaign.Failure{Kind: campaign.Transient}
	switch _ = errors.As(err, &failure); {
	case err == nil:
		a.taken++
	case failure.Kind == campaign.Permanent:
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
		"taken_back", a.taken, "refused", a.refused,
	}
	if a.failed > 0 {
		slog.WarnContext(ctx, "the provider did not take messages back, they are tried again", append(line, "failed", a.failed, "error", a.first)...)
		return
	}
	slog.InfoContext(ctx, "messages taken back", line...)
}
