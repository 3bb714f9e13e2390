package query

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/httpapi"
)

const framesAtOnce = 8

// Contents returns messages of a batch by index, among others of the same frames. Their data may have been erased. The
// error is a *httpapi.Problem if the contents are deleted.
func (s *Service) Contents(ctx context.Context, b campaign.Batch, indexes []int) (map[int]campaign.Message, error) {
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
			messages, err := payload.LatestFrame(ctx, s.Store.Batch, s.Blobs, b, frame)
			if err != nil {
				return expired(err)
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

// Sample returns the first message of a batch, whose data may have been erased. The error is a
// *httpapi.Problem if the contents are deleted.
func (s *Service) Sample(ctx context.Context, ref campaign.BatchRef) (campaign.Message, error) {
	b, err := s.Store.Batch(ctx, ref)
	if err != nil {
		return campaign.Message{}, expired(err)
	}
	found, err := s.Contents(ctx, b, []int{0})
	return found[0], err
}

// expired returns a *httpapi.Problem for expired contents.
func expired(err error) error {
	if errors.Is(err, campaign.ErrNotFound) {
		return &httpapi.Problem{
			Status: http.StatusGone, Code: "contents_expired",
			Detail: "The numbers and uids of this batch were deleted: they are kept for 460 days.",
		}
	}
	return err
}
