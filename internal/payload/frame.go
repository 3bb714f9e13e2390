package payload

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// Blobs reads payloads: the bytes from offset from up to, not including, to.
type Blobs interface {
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
}

// ReadFrame reads one frame of a batch: as many messages as b.FrameLen says. The
// error wraps campaign.ErrDamaged where the payload does not hold them, and
// whatever the blobs' own error is.
func ReadFrame(ctx context.Context, blobs Blobs, b campaign.Batch, frame int) ([]campaign.Message, error) {
	messages, err := readFrame(ctx, blobs, b, frame)
	if err != nil {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", frame, b.BatchID, err)
	}
	return messages, nil
}

func readFrame(ctx context.Context, blobs Blobs, b campaign.Batch, frame int) ([]campaign.Message, error) {
	if frame < 0 || frame >= b.Frames() || len(b.Offsets) != b.Frames()+1 {
		return nil, errDamaged
	}
	raw, err := blobs.GetRange(ctx, b.Payload, b.Offsets[frame], b.Offsets[frame+1])
	if err != nil {
		return nil, err
	}
	messages, err := Decode(raw)
	if err == nil && len(messages) != b.FrameLen(frame) {
		err = errDamaged
	}
	return messages, err
}
