// Package port has the interfaces that several use cases share. The adapters in internal/aws
// implement them, and internal/app wires them.
package port

import (
	"context"
	"io"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Queue is a task queue.
type Queue interface {
	// Send queues a task after the delay. Tasks of a group are fairly queued with those of
	// other groups.
	Send(ctx context.Context, group string, body []byte, delay time.Duration) error
}

// BatchQueue is a task queue that accepts several tasks at once.
type BatchQueue interface {
	SendAll(ctx context.Context, group string, bodies [][]byte) error
}

// BlobWriter writes files.
type BlobWriter interface {
	Put(ctx context.Context, key string, body []byte, contentType string) error
}

// Blobs stores files. The error of Get wraps campaign.ErrNotFound if there is none.
type Blobs interface {
	BlobWriter
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
}

// File is a file that is read in ranges.
type File interface {
	io.ReaderAt
	// BytesRead returns the number of bytes read so far.
	BytesRead() int64
}

// OptOuts reads which phone numbers of a tenant opted out.
type OptOuts interface {
	// Of returns a function that reports whether an E.164 number opted out of the tenant's
	// messages.
	Of(ctx context.Context, tenant string) (func(phone string) bool, error)
}

// Releases schedules the release of a batch for its due time.
type Releases interface {
	Schedule(ctx context.Context, b campaign.Batch) error
}

// Recorder records outcomes of a batch. Recording an outcome twice has no effect.
type Recorder interface {
	Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error
}
