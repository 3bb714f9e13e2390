package listfile

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// MaxSize is the maximum size of a file in bytes. A request reads the whole file.
const MaxSize = 20 << 20

var errSize = &inputerr.Error{Code: "file_size", Detail: "the file is empty or larger than 20 MB"}

// Store keeps files where those of campaigns are: the bucket deletes them after 30 days, and an erasure
// deletes those with the person's number.
type Store struct {
	Blobs interface {
		port.Blobs
		port.Uploads
	}
	// Stat returns the ETag and the size of a file.
	Stat func(ctx context.Context, key string) (tag string, size int64, err error)
}

func (s *Store) folder(tenant string) port.Folder {
	return port.Folder{To: s.Blobs, Prefix: submission.WorkPrefix + tenant + "/lists/", MaxSize: MaxSize}
}

// Put keeps a file and returns its ID.
func (s *Store) Put(ctx context.Context, tenant string, content []byte) (file string, err error) {
	if len(content) == 0 {
		return "", errSize
	}
	file = port.NewObject()
	return file, s.Blobs.Put(ctx, s.folder(tenant).Prefix+file, content, "application/octet-stream")
}

// Start starts the upload of a file, or continues an unfinished one of the same file.
func (s *Store) Start(ctx context.Context, tenant string, size int64, unfinished string) (upload string, sent []int, err error) {
	if size < 1 || size > MaxSize {
		return "", nil, errSize
	}
	return s.folder(tenant).Start(ctx, size, unfinished)
}

// ChunkURL returns the URL of a chunk of an upload.
func (s *Store) ChunkURL(ctx context.Context, tenant, upload string, chunk int) (string, error) {
	return s.folder(tenant).ChunkURL(ctx, upload, chunk)
}

// Finish ends an upload whose chunks were sent, and returns the ID of the file.
func (s *Store) Finish(ctx context.Context, tenant, upload string) (file string, err error) {
	u, err := s.folder(tenant).Upload(upload)
	if err != nil {
		return "", err
	}
	return s.folder(tenant).Object(u), u.Finish(ctx, s.Blobs)
}

// Get returns a file. The error wraps campaign.ErrNotFound if there is none.
func (s *Store) Get(ctx context.Context, tenant, file string) ([]byte, error) {
	key, err := s.folder(tenant).Key(file)
	if err != nil {
		return nil, err
	}
	_, size, err := s.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if size > MaxSize {
		return nil, errSize
	}
	content, err := s.Blobs.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read a file of numbers: %w", err)
	}
	return content, nil
}

// Delete deletes a file. A missing one is no error.
func (s *Store) Delete(ctx context.Context, tenant, file string) error {
	key, err := s.folder(tenant).Key(file)
	if err != nil {
		return err
	}
	return campaign.IgnoreNotFound(s.Blobs.Delete(ctx, key))
}
