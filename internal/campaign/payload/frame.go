package payload

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// Blobs reads the bytes [from, to) of an object.
type Blobs interface {
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
}

// ReadFrame reads one frame of a batch. The error wraps campaign.ErrDamaged if the payload
// is corrupt, or else the error of blobs.
func ReadFrame(ctx context.Context, blobs Blobs, b campaign.Batch, frame int) ([]campaign.Message, error) {
	return readFrames(ctx, blobs, b, frame, frame+1)
}

// ReadAll reads all messages of a batch with a single read. Its errors are those of
// ReadFrame.
func ReadAll(ctx context.Context, blobs Blobs, b campaign.Batch) ([]campaign.Message, error) {
	return readFrames(ctx, blobs, b, 0, b.Frames())
}

// readFrames reads the frames [from, to) of a batch.
func readFrames(ctx context.Context, blobs Blobs, b campaign.Batch, from, to int) ([]campaign.Message, error) {
	if from < 0 || to > b.Frames() || len(b.Offsets) != b.Frames()+1 {
		return nil, fmt.Errorf("read frames of batch %s: %w", b.BatchID, errDamaged)
	}
	raw, err := blobs.GetRange(ctx, b.Payload, b.Offsets[from], b.Offsets[to])
	if err != nil {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", from, b.BatchID, err)
	}
	if len(raw) != b.Offsets[to]-b.Offsets[from] {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", from, b.BatchID, errDamaged)
	}
	var all []campaign.Message
	for f := from; f < to; f++ {
		messages, err := Decode(raw[b.Offsets[f]-b.Offsets[from] : b.Offsets[f+1]-b.Offsets[from]])
		if err == nil && len(messages) != b.FrameLen(f) {
			err = errDamaged
		}
		if err != nil {
			return nil, fmt.Errorf("read frame %d of batch %s: %w", f, b.BatchID, err)
		}
		all = append(all, messages...)
	}
	return all, nil
}
