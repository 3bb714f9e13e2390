package readback

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/payload"
)

// framesAtOnce is how many frames are read side by side.
const framesAtOnce = 8

// contents returns the batch's messages at the indexes.
func (s *Service) contents(ctx context.Context, b campaign.Batch, indexes []int) (map[int]campaign.Message, error) {
	frames := map[int]bool{}
	for _, i := range indexes {
		frames[i/campaign.FrameSize] = true
	}
	found := map[int]campaign.Message{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(framesAtOnce)
	for frame := range frames {
		group.Go(func() error {
			messages, err := s.frame(ctx, b, frame)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for i, m := range messages {
				found[frame*campaign.FrameSize+i] = m
			}
			return nil
		})
	}
	return found, group.Wait()
}

var errShortBatch = errors.New("the batch has not as many messages as its row says")

func (s *Service) frame(ctx context.Context, b campaign.Batch, frame int) ([]campaign.Message, error) {
	if frame >= b.Frames() || len(b.Offsets) <= frame+1 {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", frame, b.BatchID, errShortBatch)
	}
	raw, err := s.payload(ctx, b, b.Offsets[frame], b.Offsets[frame+1])
	if err != nil {
		return nil, err
	}
	return decode(raw, b, frame)
}

// whole returns all messages of a batch, by a single read.
func (s *Service) whole(ctx context.Context, b campaign.Batch) ([]campaign.Message, error) {
	if len(b.Offsets) <= b.Frames() {
		return nil, fmt.Errorf("read batch %s: %w", b.BatchID, errShortBatch)
	}
	raw, err := s.payload(ctx, b, b.Offsets[0], b.Offsets[b.Frames()])
	if err != nil {
		return nil, err
	}
	all := make([]campaign.Message, 0, b.Accepted)
	for frame := range b.Frames() {
		messages, err := decode(raw[b.Offsets[frame]-b.Offsets[0]:b.Offsets[frame+1]-b.Offsets[0]], b, frame)
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
	}
	return all, nil
}

func (s *Service) payload(ctx context.Context, b campaign.Batch, from, to int) ([]byte, error) {
	raw, err := s.Blobs.GetRange(ctx, b.Payload, from, to)
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		return nil, &gateway.Problem{
			Status: http.StatusGone, Code: "contents_expired",
			Detail: "The numbers and uids of this batch were deleted: they are kept for 460 days.",
		}
	case err != nil:
		return nil, fmt.Errorf("read the messages of batch %s: %w", b.BatchID, err)
	case len(raw) != to-from:
		return nil, fmt.Errorf("read the messages of batch %s: %w", b.BatchID, errShortBatch)
	}
	return raw, nil
}

// decode reads the messages of a frame.
func decode(raw []byte, b campaign.Batch, frame int) ([]campaign.Message, error) {
	messages, err := payload.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", frame, b.BatchID, err)
	}
	if len(messages) != b.FrameLen(frame) {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", frame, b.BatchID, errShortBatch)
	}
	return messages, nil
}

// changes returns all changes of a batch in the order of its log: the sequence of
// the first one is 1.
func (s *Service) changes(ctx context.Context, b campaign.Batch) ([]campaign.Change, error) {
	pages, err := s.Store.Log(ctx, b.Key, 0)
	if err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	var all []campaign.Change
	for _, p := range pages {
		all = append(all, p.Changes...)
	}
	return all, nil
}
