package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/payload"
)

// revokeAgain is when a frame is looked at again of which messages were still
// being sent, or which the provider had no time for.
const revokeAgain = 20 * time.Second

// revoke takes back those messages of a frame that the provider has and that are
// not delivered. What is still on its way to the provider is waited for, as long
// as the provider tries to deliver a message.
func (c *Canceller) revoke(ctx context.Context, t campaign.RevokeTask) error {
	b, err := c.Books.Batch(ctx, t.BatchRef)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if !b.Cancelled() || t.Frame < 0 || t.Frame >= b.Frames() {
		return nil
	}
	books, err := c.Books.Books(ctx, b.Key, []int{t.Frame})
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	outcomes := books.Frames[t.Frame].Outcomes
	var sent []int
	for index, outcome := range outcomes {
		if outcome == campaign.OutcomeSent {
			sent = append(sent, index)
		}
	}
	left, err := c.takeBack(ctx, b, t.Frame, sent)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	if left || len(outcomes) < b.FrameLen(t.Frame) {
		return c.again(ctx, b, t)
	}
	return nil
}

// again lets the task come once more, unless it can help no more.
func (c *Canceller) again(ctx context.Context, b campaign.Batch, t campaign.RevokeTask) error {
	if c.Now().After(b.CancelledAt.Add(campaign.MessageTTL)) {
		return nil
	}
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write a task: %w", err)
	}
	return c.Tasks.Send(ctx, t.Tenant, body, revokeAgain)
}

// takeBack revokes messages of a frame and records those that it could. It tells
// whether some have to be tried again. What the provider refuses to take back
// stays as it is: it may have been delivered.
func (c *Canceller) takeBack(ctx context.Context, b campaign.Batch, frame int, indexes []int) (left bool, err error) {
	if len(indexes) == 0 {
		return false, nil
	}
	channel, err := c.Books.Channel(ctx, b.Tenant)
	if err != nil {
		return false, err
	}
	messages, err := c.messages(ctx, b, frame)
	if err != nil {
		return false, err
	}
	var mu sync.Mutex
	var changes []campaign.Change
	var calls errgroup.Group
	calls.SetLimit(max(c.Concurrency, 1))
	for _, index := range indexes {
		calls.Go(func() error {
			err := c.Provider.Revoke(ctx, channel.Agent, b.Key.MessageID(index), messages[index%campaign.FrameSize].Phone)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				changes = append(changes, campaign.Change{Index: index, Outcome: campaign.OutcomeRevoked, Code: "revoked", At: c.Now()})
			}
			left = left || retryable(err)
			return nil
		})
	}
	_ = calls.Wait()
	if len(changes) == 0 {
		return left, nil
	}
	return left, c.Recorder.Record(ctx, b, changes)
}

func retryable(err error) bool {
	failure := &campaign.Failure{Kind: campaign.Transient}
	_ = errors.As(err, &failure)
	return err != nil && failure.Kind != campaign.Permanent
}

var errShortFrame = errors.New("the frame has not as many messages as its batch says")

func (c *Canceller) messages(ctx context.Context, b campaign.Batch, frame int) ([]campaign.Message, error) {
	if len(b.Offsets) != b.Frames()+1 {
		return nil, errShortFrame
	}
	raw, err := c.Blobs.GetRange(ctx, b.Payload, b.Offsets[frame], b.Offsets[frame+1])
	if err != nil {
		return nil, err
	}
	messages, err := payload.Decode(raw)
	if err != nil {
		return nil, err
	}
	if len(messages) != b.FrameLen(frame) {
		return nil, errShortFrame
	}
	return messages, nil
}
