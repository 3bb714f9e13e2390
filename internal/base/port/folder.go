package port

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
)

// Folder receives uploads of which nothing else is stored: an upload's ID has what the next call needs.
type Folder struct {
	To      Uploads
	Prefix  string // of the keys. It contains the tenant, so that the bucket does not find the uploads of others
	MaxSize int64  // of a file in bytes
}

// uploadID matches the ID of an upload: the name of its object, its size, and the bucket's ID,
// whose form is not documented.
var uploadID = pattern.AtFirstUse(`^([A-Za-z0-9_-]{22})\.([0-9]{1,9})\.([!-~]{1,1000})$`)

// Upload returns the upload with an ID. The error wraps campaign.ErrNotFound for an invalid ID.
func (f Folder) Upload(id string) (Upload, error) {
	found := uploadID().FindStringSubmatch(id)
	if found == nil {
		return Upload{}, fmt.Errorf("read the ID of an upload: %w", campaign.ErrNotFound)
	}
	size, err := strconv.ParseInt(found[2], 10, 64)
	if err != nil || size > f.MaxSize {
		return Upload{}, fmt.Errorf("read the ID of an upload: %w", campaign.ErrNotFound)
	}
	return Upload{Key: f.Prefix + found[1], ID: found[3], Size: size}, nil
}

// Start starts the upload of a file of size bytes and returns its ID. If unfinished is the ID of
// one that was not finished, it continues. sent are the numbers of the chunks that were sent.
func (f Folder) Start(ctx context.Context, size int64, unfinished string) (id string, sent []int, err error) {
	if u, err := f.Upload(unfinished); err == nil && u.Size == size {
		if sent, err := u.Sent(ctx, f.To); !errors.Is(err, campaign.ErrNotFound) {
			return unfinished, sent, err
		}
	}
	object := NewObject()
	upload, err := f.To.StartUpload(ctx, f.Prefix+object)
	return fmt.Sprintf("%s.%d.%s", object, size, upload), []int{}, err
}

// ChunkURL returns the URL of a chunk of an upload, counted from 1. It is valid for 15 minutes.
func (f Folder) ChunkURL(ctx context.Context, id string, chunk int) (string, error) {
	u, err := f.Upload(id)
	if err != nil {
		return "", err
	}
	return u.ChunkURL(ctx, f.To, chunk)
}

// NewObject returns the name of a new object.
func NewObject() string { return random.Token(16) }

// Object returns the name of an upload's object.
func (f Folder) Object(u Upload) string { return strings.TrimPrefix(u.Key, f.Prefix) }

var objectName = pattern.AtFirstUse(`^[A-Za-z0-9_-]{22}$`)

// Key returns the key of an object. The error wraps campaign.ErrNotFound for an invalid name.
func (f Folder) Key(object string) (string, error) {
	if !objectName().MatchString(object) {
		return "", fmt.Errorf("read the name of a file: %w", campaign.ErrNotFound)
	}
	return f.Prefix + object, nil
}
