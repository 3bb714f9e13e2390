package s3

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/campaign"
)

// StartFile starts an upload in parts of a file that browsers save under a name, and returns
// its ID. The name is ASCII.
func (s *Store) StartFile(ctx context.Context, key, contentType, name string) (string, error) {
	out, err := s.Client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &s.Bucket, Key: &key, ContentType: &contentType,
		ContentDisposition: aws.String(`attachment; filename="` + name + `"`), CacheControl: aws.String("private"),
	}, withoutChecksums)
	if err != nil {
		return "", fmt.Errorf("start file: %w", err)
	}
	return aws.ToString(out.UploadId), nil
}

// PutPart uploads a part of a file, or replaces it. The error wraps campaign.ErrNotFound if
// the upload does not exist.
func (s *Store) PutPart(ctx context.Context, key, upload string, part int, body []byte) error {
	_, err := s.Client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &s.Bucket, Key: &key, UploadId: &upload, PartNumber: aws.Int32(int32(part)), Body: bytes.NewReader(body), //nolint:gosec // 10,000 at most
	}, withoutChecksums)
	if hasCode(err, "NoSuchUpload") {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("put part %d: %w", part, err)
	}
	return nil
}

// AbortFile deletes the parts of an upload. Missing uploads are not an error.
func (s *Store) AbortFile(ctx context.Context, key, upload string) error {
	_, err := s.Client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.Bucket, Key: &key, UploadId: &upload})
	if err != nil && !hasCode(err, "NoSuchUpload") {
		return fmt.Errorf("abort upload: %w", err)
	}
	return nil
}

// Exists reports whether there is an object.
func (s *Store) Exists(ctx context.Context, key string) (bool, error) {
	_, err := s.Client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.Bucket, Key: &key})
	if hasCode(err, "NotFound", "NoSuchKey") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("head object: %w", err)
	}
	return true, nil
}

// SignedURL returns a URL that reads an object without credentials for a time.
func (s *Store) SignedURL(ctx context.Context, key string, life time.Duration) (string, error) {
	signed, err := s3.NewPresignClient(s.Client).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key}, s3.WithPresignExpires(life))
	if err != nil {
		return "", fmt.Errorf("sign the URL of an object: %w", err)
	}
	return signed.URL, nil
}
