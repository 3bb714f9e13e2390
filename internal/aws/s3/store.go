// Package s3 keeps payloads, error files and long answers on S3.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"campaign-dispatch/internal/campaign"
)

// Store reads and writes the objects of one bucket. Who has to be told that an
// object is not there needs to be allowed to list the bucket, or else S3 says that
// access is denied, as it does where it is.
type Store struct {
	Client *s3.Client
	Bucket string
}

// New returns the Store of a bucket. An emulator takes requests by path alone.
func New(cfg aws.Config, bucket string, emulated bool) *Store {
	return &Store{Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = emulated }), Bucket: bucket}
}

// Put writes an object. Writing the same key and body again is harmless.
func (s *Store) Put(ctx context.Context, key string, body []byte, contentType string) error {
	_, err := s.Client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.Bucket, Key: &key, Body: bytes.NewReader(body), ContentType: &contentType,
	})
	if err != nil {
		return fmt.Errorf("put object: %w", err)
	}
	return nil
}

// Change writes an object anew as change makes it of what it is, and again where
// others wrote it meanwhile. It leaves it as it is where change returns nil. The error
// wraps campaign.ErrNotFound where there is no such object.
func (s *Store) Change(ctx context.Context, key, contentType string, change func(body []byte) ([]byte, error)) error {
	for {
		o, err := s.read(ctx, key, nil)
		if err != nil {
			return err
		}
		after, err := change(o.body)
		if err != nil || after == nil {
			return err
		}
		_, err = s.Client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &s.Bucket, Key: &key, Body: bytes.NewReader(after), ContentType: &contentType, IfMatch: o.tag,
		})
		if hasCode(err, "PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey") { // others were faster
			continue
		}
		if err != nil {
			return fmt.Errorf("change object: %w", err)
		}
		return nil
	}
}

// Get returns an object's bytes; the error wraps campaign.ErrNotFound where
// there is no such object.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	return s.get(ctx, key, nil, time.Time{})
}

// GetSince is Get of an object that was written after an instant; an older one is
// not found. S3 deletes what is past its time a day or so late.
func (s *Store) GetSince(ctx context.Context, key string, since time.Time) ([]byte, error) {
	return s.get(ctx, key, nil, since)
}

// GetRange returns the object's bytes from offset from up to, not including, to.
// The error wraps campaign.ErrNotFound where there is no such object, and
// campaign.ErrDamaged where it ends before from.
func (s *Store) GetRange(ctx context.Context, key string, from, to int) ([]byte, error) {
	return s.get(ctx, key, aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)), time.Time{})
}

// Delete removes an object; one that does not exist counts as removed.
func (s *Store) Delete(ctx context.Context, key string) error {
	if _, err := s.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &key}); err != nil {
		return fmt.Errorf("delete object: %w", err)
	}
	return nil
}

// List returns the objects whose keys begin with the prefix, in the order of their
// keys.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[campaign.Blob, error] {
	return func(yield func(campaign.Blob, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.Client, &s3.ListObjectsV2Input{Bucket: &s.Bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(campaign.Blob{}, fmt.Errorf("list objects: %w", err))
				return
			}
			for _, o := range page.Contents {
				if !yield(campaign.Blob{Key: aws.ToString(o.Key), At: aws.ToTime(o.LastModified)}, nil) {
					return
				}
			}
		}
	}
}

func (s *Store) get(ctx context.Context, key string, byteRange *string, since time.Time) ([]byte, error) {
	o, err := s.read(ctx, key, byteRange)
	if err == nil && !since.IsZero() && !o.at.After(since) {
		return nil, fmt.Errorf("get object: it is too old: %w", campaign.ErrNotFound)
	}
	return o.body, err
}

type object struct {
	body []byte
	at   time.Time // when it was written last
	tag  *string   // which tells its contents from others
}

func (s *Store) read(ctx context.Context, key string, byteRange *string) (o object, err error) {
	out, err := s.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key, Range: byteRange})
	if _, missing := errors.AsType[*types.NoSuchKey](err); missing {
		return o, fmt.Errorf("get object: %w", campaign.ErrNotFound)
	}
	if hasCode(err, "InvalidRange") {
		return o, fmt.Errorf("get object: it is too short: %w", campaign.ErrDamaged)
	}
	if err != nil {
		return o, fmt.Errorf("get object: %w", err)
	}
	defer func() { err = errors.Join(err, out.Body.Close()) }()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return o, fmt.Errorf("read object: %w", err)
	}
	return object{body, aws.ToTime(out.LastModified), out.ETag}, nil
}

func hasCode(err error, codes ...string) bool {
	answer, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(codes, answer.ErrorCode())
}
