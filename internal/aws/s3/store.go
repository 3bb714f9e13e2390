// Package s3 stores payloads, error files and long responses on S3.
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
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"campaign-dispatch/internal/campaign"
)

// Store accesses the objects of a bucket. To get ErrNotFound for missing objects, the
// caller needs the permission to list the bucket. Otherwise S3 returns "access denied".
type Store struct {
	Client *s3.Client
	Bucket string
}

// New returns the Store of a bucket. Emulators need path-style requests.
func New(cfg aws.Config, bucket string, emulated bool) *Store {
	return &Store{Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = emulated }), Bucket: bucket}
}

// Put writes an object. It can be repeated.
func (s *Store) Put(ctx context.Context, key string, body []byte, contentType string) error {
	return s.put(ctx, key, body, contentType, nil)
}

// PutOnce writes an object that does not exist, or exists with the same content. The error wraps
// campaign.ErrLostRace if it has another content.
func (s *Store) PutOnce(ctx context.Context, key string, body []byte, contentType string) error {
	_, err := s.Client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.Bucket, Key: &key, Body: bytes.NewReader(body), ContentType: &contentType, IfNoneMatch: aws.String("*"),
	}, retryConflicts)
	if err == nil {
		return nil
	}
	if !hasCode(err, "PreconditionFailed") {
		return wrap("put object once", err)
	}
	there, err := s.Get(ctx, key)
	if err == nil && !bytes.Equal(there, body) {
		err = fmt.Errorf("put object once: %w", campaign.ErrLostRace)
	}
	return err
}

// retryConflicts repeats a write that meets another one of the same object. The SDK does not.
func retryConflicts(o *s3.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, "ConditionalRequestConflict")
}

func (s *Store) put(ctx context.Context, key string, body []byte, contentType string, cacheControl *string) error {
	_, err := s.Client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.Bucket, Key: &key, Body: bytes.NewReader(body), ContentType: &contentType, CacheControl: cacheControl,
	})
	return wrap("put object", err)
}

// Change replaces an object by the result of change, and tries again after a concurrent
// write. A nil result leaves the object unchanged. The error wraps campaign.ErrNotFound if
// the object does not exist.
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
		if hasCode(err, "PreconditionFailed", "ConditionalRequestConflict", noKey) { // changed concurrently
			continue
		}
		return wrap("change object", err)
	}
}

// Get returns an object's content. The error wraps campaign.ErrNotFound if the object does not exist.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	return s.get(ctx, key, nil, time.Time{})
}

// GetSince is Get for objects written after since; older ones are not found. S3 can delete expired objects a day late.
func (s *Store) GetSince(ctx context.Context, key string, since time.Time) ([]byte, error) {
	return s.get(ctx, key, nil, since)
}

// GetRange returns the bytes [from, to) of an object. The error wraps campaign.ErrNotFound
// if the object does not exist, and campaign.ErrDamaged if it ends before from.
func (s *Store) GetRange(ctx context.Context, key string, from, to int) ([]byte, error) {
	return s.get(ctx, key, aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)), time.Time{})
}

// Delete deletes an object. Missing objects are not an error.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &key})
	return wrap("delete object", err)
}

// List yields the objects with the prefix, ordered by key.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[campaign.Blob, error] {
	return func(yield func(campaign.Blob, error) bool) {
		pages := s3.NewListObjectsV2Paginator(s.Client, &s3.ListObjectsV2Input{Bucket: &s.Bucket, Prefix: &prefix})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(campaign.Blob{}, wrap("list objects", err))
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
		return nil, fmt.Errorf("get object: expired: %w", campaign.ErrNotFound)
	}
	return o.body, err
}

type object struct {
	body []byte
	at   time.Time // last modified
	tag  *string   // ETag
}

func (s *Store) read(ctx context.Context, key string, byteRange *string) (o object, err error) {
	out, err := s.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key, Range: byteRange})
	if hasCode(err, "InvalidRange") {
		return o, fmt.Errorf("get object: range beyond end: %w", campaign.ErrDamaged)
	}
	if err != nil {
		return o, wrap("get object", err, noKey)
	}
	defer func() { err = errors.Join(err, out.Body.Close()) }()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		return o, wrap("read object", err)
	}
	return object{body, aws.ToTime(out.LastModified), out.ETag}, nil
}

// The codes of S3 for an object and an upload that do not exist.
const (
	noKey    = "NoSuchKey"
	noUpload = "NoSuchUpload"
)

// wrap returns an error with what was being done. One with a missing code wraps campaign.ErrNotFound.
func wrap(doing string, err error, missing ...string) error {
	switch {
	case err == nil:
		return nil
	case hasCode(err, missing...):
		err = campaign.ErrNotFound
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func hasCode(err error, codes ...string) bool {
	answer, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(codes, answer.ErrorCode())
}
