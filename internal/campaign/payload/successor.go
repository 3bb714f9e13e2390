package payload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
)

// Erasing personal data replaces a payload. Before the old payload is deleted, a pointer
// object to its successor is written. Senders that read the batch before the replacement
// find its messages through the pointer, and so does a batch row restored from a backup.

const (
	// mark ends a pointer's key. In a successor's key, it follows the key of the first payload.
	mark = "~"
	// maxPointer bounds the length of a pointer, which grows with the number of frames.
	maxPointer = 1 << 20
)

// pointer is the content of a pointer object.
type pointer struct {
	Payload string `json:"payload"`
	Offsets []int  `json:"offsets"`
}

// SuccessorKey returns the key of the payload that replaces the one at key. random makes it unique.
func SuccessorKey(key, random string) string { return original(key) + mark + random }

func original(key string) string {
	key, _, _ = strings.Cut(key, mark)
	return key
}

// IsPointer reports whether the key is the key of a pointer.
func IsPointer(key string) bool { return strings.HasSuffix(key, mark) }

// Pointer returns the key and the content of the pointer from a batch's former payload to its current one.
func Pointer(b campaign.Batch) (key string, content []byte) {
	content, _ = json.Marshal(pointer{b.Payload, b.Offsets})
	return b.FormerPayload + mark, content
}

// Successor returns the batch with the payload that replaced its own. The error wraps
// campaign.ErrNotFound if there is none.
func Successor(ctx context.Context, blobs Blobs, b campaign.Batch) (campaign.Batch, error) {
	content, err := blobs.GetRange(ctx, b.Payload+mark, 0, maxPointer)
	if err != nil {
		return b, fmt.Errorf("read successor of payload of batch %s: %w", b.BatchID, err)
	}
	var next pointer
	if err := json.Unmarshal(content, &next); err != nil {
		return b, fmt.Errorf("decode successor of payload of batch %s: %w", b.BatchID, campaign.ErrDamaged)
	}
	b.Payload, b.Offsets = next.Payload, next.Offsets
	return b, nil
}

// Leads reports whether the batch uses the payload at key, directly or through pointers. Its row may be a restored one.
func Leads(ctx context.Context, blobs Blobs, b campaign.Batch, key string) (bool, error) {
	if key == b.FormerPayload {
		return true, nil
	}
	for original(b.Payload) == original(key) {
		if b.Payload == key {
			return true, nil
		}
		next, err := Successor(ctx, blobs, b)
		if err != nil {
			return false, campaign.IgnoreNotFound(err)
		}
		b = next
	}
	return false, nil
}

// Reread reads the current row of a batch.
type Reread func(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)

// OfLatest calls read with the batch. If the payload is not found, it calls read again with
// the payload's successor, or with the batch's current row. The error wraps
// campaign.ErrNotFound only if no payload is left.
func OfLatest(ctx context.Context, reread Reread, blobs Blobs, b campaign.Batch, read func(campaign.Batch) error) error {
	for known := []string{b.Payload}; ; known = append(known, b.Payload) {
		err := read(b)
		if !errors.Is(err, campaign.ErrNotFound) {
			return err
		}
		next, nextErr := Successor(ctx, blobs, b)
		if errors.Is(nextErr, campaign.ErrNotFound) {
			next, nextErr = reread(ctx, b.BatchRef)
		}
		if nextErr != nil {
			return nextErr
		}
		if slices.Contains(known, next.Payload) {
			return err
		}
		b = next
	}
}

// LatestAll reads all messages of the latest payload of a batch, see OfLatest.
func LatestAll(ctx context.Context, reread Reread, blobs Blobs, b campaign.Batch) (messages []campaign.Message, err error) {
	err = OfLatest(ctx, reread, blobs, b, func(b campaign.Batch) (err error) {
		messages, err = ReadAll(ctx, blobs, b)
		return err
	})
	return messages, err
}

// LatestFrame reads a frame of the latest payload of a batch, see OfLatest.
func LatestFrame(ctx context.Context, reread Reread, blobs Blobs, b campaign.Batch, frame int) (messages []campaign.Message, err error) {
	err = OfLatest(ctx, reread, blobs, b, func(b campaign.Batch) (err error) {
		messages, err = ReadFrame(ctx, blobs, b, frame)
		return err
	})
	return messages, err
}

// LatestMessage reads a message of the latest payload of a batch, see OfLatest.
func LatestMessage(ctx context.Context, reread Reread, blobs Blobs, b campaign.Batch, index int) (campaign.Message, error) {
	messages, err := LatestFrame(ctx, reread, blobs, b, index/campaign.FrameSize)
	if err != nil {
		return campaign.Message{}, err
	}
	return messages[index%campaign.FrameSize], nil
}
