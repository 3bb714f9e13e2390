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

// Where a payload is replaced, because somebody's data in it is erased, a pointer to
// its successor takes its place, before it is deleted: whoever read the batch before
// finds its messages by that, and so does a batch whose row was restored to a time
// before, when nobody knows any more of the successor.

const (
	// mark ends the key of a pointer, and stands in that of a successor behind the
	// first payload's key.
	mark = "~"
	// maxPointer bounds the length of a pointer: it has some bytes for each frame.
	maxPointer = 1 << 20
)

// pointer is the content of the object that takes a payload's place.
type pointer struct {
	Payload string `json:"payload"`
	Offsets []int  `json:"offsets"`
}

// SuccessorKey returns a key for what replaces the payload of a key; random makes it
// differ from all others.
func SuccessorKey(key, random string) string { return first(key) + mark + random }

// first returns the key of the first payload of those that replaced one another.
func first(key string) string {
	key, _, _ = strings.Cut(key, mark)
	return key
}

// IsPointer reports whether a key is that of a pointer, not of a payload.
func IsPointer(key string) bool { return strings.HasSuffix(key, mark) }

// Pointer returns the key and the content of what points from a batch's former payload
// to the one that it has.
func Pointer(b campaign.Batch) (key string, content []byte) {
	content, _ = json.Marshal(pointer{b.Payload, b.Offsets})
	return b.FormerPayload + mark, content
}

// Successor returns the batch with the payload that has replaced its own. The error
// wraps campaign.ErrNotFound where none has.
func Successor(ctx context.Context, blobs Blobs, b campaign.Batch) (campaign.Batch, error) {
	content, err := blobs.GetRange(ctx, b.Payload+mark, 0, maxPointer)
	if err != nil {
		return b, fmt.Errorf("look for what replaced the payload of batch %s: %w", b.BatchID, err)
	}
	var next pointer
	if err := json.Unmarshal(content, &next); err != nil {
		return b, fmt.Errorf("read what replaced the payload of batch %s: %w", b.BatchID, campaign.ErrDamaged)
	}
	b.Payload, b.Offsets = next.Payload, next.Offsets
	return b, nil
}

// Leads reports whether a batch has the payload of the key, or finds it by pointers: its
// row may be one that was restored.
func Leads(ctx context.Context, blobs Blobs, b campaign.Batch, key string) (bool, error) {
	if key == b.FormerPayload {
		return true, nil
	}
	for first(b.Payload) == first(key) {
		if b.Payload == key {
			return true, nil
		}
		next, err := Successor(ctx, blobs, b)
		if errors.Is(err, campaign.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		b = next
	}
	return false, nil
}

// Reread reads a batch as it is now.
type Reread func(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)

// OfLatest calls read with the batch, and where its payload is gone with the batch as
// it is with the payload that replaced it, or as it is now. The error wraps
// campaign.ErrNotFound only where the payload is gone for good.
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
