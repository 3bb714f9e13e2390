package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
)

// StartFile starts an upload in parts of a file that browsers save under a name, and returns its ID.
func (s *Store) StartFile(ctx context.Context, key, contentType, name string) (string, error) {
	out, err := s.Client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &s.Bucket, Key: &key, ContentType: &contentType,
		ContentDisposition: aws.String(mime.FormatMediaType("attachment", map[string]string{"filename": name})), CacheControl: aws.String("private"),
	}, withoutChecksums)
	if err != nil {
		return "", wrap("start file", err)
	}
	return aws.ToString(out.UploadId), nil
}

// PutPart uploads a part of a file, or replaces it. The error wraps campaign.ErrNotFound if the upload does not exist.
func (s *Store) PutPart(ctx context.Context, key, upload string, part int, body []byte) error {
	_, err := s.Client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &s.Bucket, Key: &key, UploadId: &upload, PartNumber: aws.Int32(int32(part)), //nolint:gosec // 10,000 at most
		Body: bytes.NewReader(body),
	}, withoutChecksums)
	return wrap(fmt.Sprintf("put part %d", part), err, noUpload)
}

// AbortFile deletes the parts of an upload. Missing uploads are not an error.
func (s *Store) AbortFile(ctx context.Context, key, upload string) error {
	_, err := s.Client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.Bucket, Key: &key, UploadId: &upload})
	return campaign.IgnoreNotFound(wrap("abort upload", err, noUpload))
}

// Exists reports whether there is an object.
func (s *Store) Exists(ctx context.Context, key string) (bool, error) {
	_, _, err := s.Stat(ctx, key)
	return err == nil, campaign.IgnoreNotFound(err)
}

// SignedURL returns a URL that reads an object without credentials for a time.
func (s *Store) SignedURL(ctx context.Context, key string, life time.Duration) (string, error) {
	object := &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key}
	signed, err := s3.NewPresignClient(s.Client).PresignGetObject(ctx, object, s3.WithPresignExpires(life))
	if err != nil {
		return "", wrap("sign the URL of an object", err)
	}
	return signed.URL, nil
}

// rangedFile is an object that is read in ranges. Its content does not change: after a change, reads
// fail with an error that wraps campaign.ErrNotFound.
type rangedFile struct {
	size   int64
	tag    string // ETag
	store  *Store
	ctx    context.Context //nolint:containedctx // io.ReaderAt has no context
	key    string
	blocks [2]block // the ones read last
	read   int64
}

type block struct {
	from int64
	body []byte
}

// blockSize is the size in bytes of the ranges of a file.
const blockSize = 4 << 20

// OpenFile opens an object that has the tag, and returns its size in bytes. The error wraps
// campaign.ErrNotFound if there is none.
func (s *Store) OpenFile(ctx context.Context, key, tag string) (file port.File, size int64, err error) {
	is, size, err := s.Stat(ctx, key)
	if err == nil && is != tag {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return nil, 0, wrap("open file", err)
	}
	return &rangedFile{size: size, tag: tag, store: s, ctx: ctx, key: key}, size, nil
}

// Stat returns the ETag and the size of an object. The error wraps campaign.ErrNotFound if there is none.
func (s *Store) Stat(ctx context.Context, key string) (tag string, size int64, err error) {
	out, err := s.Client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.Bucket, Key: &key})
	if err != nil {
		return "", 0, wrap("head object", err, "NotFound", noKey)
	}
	return aws.ToString(out.ETag), aws.ToInt64(out.ContentLength), nil
}

// ReadAt reads from the object. Calls must not be concurrent.
func (f *rangedFile) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		if offset >= f.size {
			return n, io.EOF
		}
		b, err := f.blockAt(offset / blockSize * blockSize)
		if err != nil {
			return n, err
		}
		copied := copy(p[n:], b.body[offset-b.from:])
		n, offset = n+copied, offset+int64(copied)
	}
	return n, nil
}

func (f *rangedFile) blockAt(from int64) (block, error) {
	for i, b := range f.blocks {
		if b.body != nil && b.from == from {
			f.blocks[0], f.blocks[i] = b, f.blocks[0]
			return b, nil
		}
	}
	to := min(from+blockSize, f.size)
	out, err := f.store.Client.GetObject(f.ctx, &s3.GetObjectInput{
		Bucket: &f.store.Bucket, Key: &f.key, Range: aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)), IfMatch: &f.tag,
	})
	if err != nil {
		return block{}, wrap("read file", err, noKey, "PreconditionFailed")
	}
	defer func() { _ = out.Body.Close() }() // it is read to its end
	b := block{from, make([]byte, to-from)}
	if _, err := io.ReadFull(out.Body, b.body); err != nil {
		return block{}, wrap("read file", err)
	}
	f.read += int64(len(b.body))
	f.blocks[1], f.blocks[0] = f.blocks[0], b
	return b, nil
}

// BytesRead returns the number of bytes read so far.
func (f *rangedFile) BytesRead() int64 { return f.read }
