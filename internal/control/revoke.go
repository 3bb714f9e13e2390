package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
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

// takeBack revokes messages of a frame, and tells whether some have to be tried
// again. Nothing is recorded: the provider's answer says little, and its events
// tell which messages it revoked and which were delivered before.
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
	var again atomic.Bool
	var calls errgroup.Group
	calls.SetLimit(max(c.Concurrency, 1))
	for _, index := range indexes {
		calls.Go(func() error {
			err := c.Provider.Revoke(ctx, channel.Agent, b.Key.MessageID(index), messages[index%campaign.FrameSize].Phone)
			if retryable(err) {
				again.Store(true)
			}
			return nil
		})
	}
	err = calls.Wait()
	return again.Load(), err
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
