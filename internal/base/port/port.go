// Package port has the interfaces that several use cases share. The adapters in internal/aws
// implement them, and internal/app wires them.
package port

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

// Queue is a task queue.
type Queue interface {
	// Send queues a task after the delay. Tasks of a group are fairly queued with those of other groups.
	Send(ctx context.Context, group string, body []byte, delay time.Duration) error
}

// BatchQueue is a task queue that accepts several tasks at once.
type BatchQueue interface {
	// SendAll queues tasks of one group. After an error, some may be queued.
	SendAll(ctx context.Context, group string, bodies [][]byte) error
}

// Send queues a task as JSON.
func Send(ctx context.Context, q Queue, group string, task any, delay time.Duration) error {
	body, err := json.Marshal(task)
	if err != nil {
		return fmt.Errorf("encode task: %w", err)
	}
	return q.Send(ctx, group, body, delay)
}

// SendAll queues tasks as JSON.
func SendAll[T any](ctx context.Context, q BatchQueue, group string, tasks []T) error {
	bodies, err := campaign.Bodies(tasks)
	if err != nil {
		return err
	}
	return q.SendAll(ctx, group, bodies)
}

// HandleEach handles tasks one after the other. It returns an error by position.
func HandleEach[T any](ctx context.Context, tasks []T, handle func(context.Context, T) error) []error {
	errs := make([]error, len(tasks))
	for i, t := range tasks {
		errs[i] = handle(ctx, t)
	}
	return errs
}

// BlobWriter writes files.
type BlobWriter interface {
	// Put writes an object, or replaces it.
	Put(ctx context.Context, key string, body []byte, contentType string) error
}

// PutJSON writes an object as JSON.
func PutJSON(ctx context.Context, to BlobWriter, key string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode object: %w", err)
	}
	return to.Put(ctx, key, body, "application/json")
}

// Blobs stores files.
type Blobs interface {
	BlobWriter
	// Get returns an object. The error wraps campaign.ErrNotFound if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Delete deletes an object. A missing one is not an error.
	Delete(ctx context.Context, key string) error
}

// SentBatches reads batches, and the templates that they are sent with.
type SentBatches interface {
	// Batch returns a batch. The error wraps campaign.ErrNotFound if there is none.
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	// TemplateVersion returns a version, which never changes. The error wraps campaign.ErrNotFound if there is none.
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
}

// Templates keeps the templates of batches. The zero Templates is ready to use.
type Templates struct {
	cache.Cache[campaign.VersionKey, campaign.Template]
}

const maxTemplates = 500

// OfBatch returns the template that a batch is sent with.
func (t *Templates) OfBatch(ctx context.Context, from SentBatches, b campaign.Batch, now time.Time) (campaign.Template, error) {
	return t.Get(b.VersionKey(), now, cache.Options{TTL: cache.Forever, MaxEntries: maxTemplates}, func() (campaign.Template, error) {
		return from.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	})
}

// OpenBatches reads batches with their states, and sets when sweep checks them.
type OpenBatches interface {
	// Batch returns a batch. The error wraps campaign.ErrNotFound if there is none.
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	// LedgerHead returns the states of a batch, zero for none. The error wraps campaign.ErrExpired if the batch has expired.
	LedgerHead(ctx context.Context, key campaign.BatchKey) (ledger.Head, error)
	// PostponeCheck sets when sweep checks a batch, and what it waits for, if its check is unchanged. It reports whether it did.
	PostponeCheck(ctx context.Context, b campaign.Batch, next time.Time) (bool, error)
}

// File is a file that is read in ranges.
type File interface {
	io.ReaderAt
	// BytesRead returns the number of bytes read so far.
	BytesRead() int64
}

// Releases schedules the release of a batch for its due time.
type Releases interface {
	// Schedule queues or schedules the release. It can be repeated.
	Schedule(ctx context.Context, b campaign.Batch) error
}

// Recorder records outcomes of a batch.
type Recorder interface {
	// Record appends the changes that supersede the outcomes so far, and ignores the others. It can be repeated after an error.
	Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error
}

// ChunkSize is the size in bytes of all chunks of an upload but the last, the smallest that S3 permits.
const ChunkSize = 5 << 20

// Uploads are the uploads of a bucket. Browsers send a file in chunks, each to a URL of its own.
// The error wraps campaign.ErrNotFound if an upload does not exist.
type Uploads interface {
	// StartUpload starts an upload, and returns its ID.
	StartUpload(ctx context.Context, key string) (upload string, err error)
	// ChunkURL returns the URL to which a chunk of size bytes is sent with PUT.
	ChunkURL(ctx context.Context, key, upload string, chunk int, size int64) (string, error)
	// UploadedChunks returns the sizes of the chunks that have arrived, by their numbers.
	UploadedChunks(ctx context.Context, key, upload string) (map[int]int64, error)
	// FinishUpload makes an object of the chunks that have arrived.
	FinishUpload(ctx context.Context, key, upload string) error
}

// Upload is a file that a browser sends in chunks, numbered from 1.
type Upload struct {
	Key  string // of the object that the file becomes
	ID   string // the bucket's
	Size int64  // of the file in bytes
}

// sizeOf returns the size of a chunk, 0 for one that the file does not have.
func (u Upload) sizeOf(chunk int) int64 {
	if chunk < 1 || int64(chunk) > (u.Size+ChunkSize-1)/ChunkSize {
		return 0
	}
	return min(ChunkSize, u.Size-int64(chunk-1)*ChunkSize)
}

// ChunkURL returns the URL to which a chunk is sent with PUT. The error wraps
// campaign.ErrNotFound if the file has no such chunk.
func (u Upload) ChunkURL(ctx context.Context, to Uploads, chunk int) (string, error) {
	size := u.sizeOf(chunk)
	if size == 0 {
		return "", campaign.ErrNotFound
	}
	return to.ChunkURL(ctx, u.Key, u.ID, chunk, size)
}

// Sent returns the numbers of the chunks that need not be sent again.
func (u Upload) Sent(ctx context.Context, to Uploads) ([]int, error) {
	sizes, err := to.UploadedChunks(ctx, u.Key, u.ID)
	if err != nil {
		return nil, err
	}
	sent := make([]int, 0, len(sizes))
	for chunk, size := range sizes {
		if size == u.sizeOf(chunk) {
			sent = append(sent, chunk)
		}
	}
	slices.Sort(sent)
	return sent, nil
}

// CodeIncomplete is the code of an upload whose chunks were not all sent.
const CodeIncomplete = "incomplete"

// Finish makes an object of the chunks. It can be repeated. While a chunk is missing it returns a
// *inputerr.Error, because an upload that is finished cannot be continued.
func (u Upload) Finish(ctx context.Context, to Uploads) error {
	sizes, err := to.UploadedChunks(ctx, u.Key, u.ID)
	if err != nil {
		return campaign.IgnoreNotFound(err) // finished before, or the object is missing too
	}
	missing := u.Size
	for _, size := range sizes {
		missing -= size
	}
	if missing != 0 {
		return &inputerr.Error{Code: CodeIncomplete, Detail: "chunks of the file are missing"}
	}
	return campaign.IgnoreNotFound(to.FinishUpload(ctx, u.Key, u.ID))
}
