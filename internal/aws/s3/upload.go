package s3

import (
	"context"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// chunkURLLife is how long the URL of a chunk is valid.
const chunkURLLife = 15 * time.Minute

// withoutChecksums omits the SDK's checksums: browsers upload the chunks without them.
func withoutChecksums(o *s3.Options) {
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
}

// StartUpload starts an upload in chunks and returns its ID.
func (s *Store) StartUpload(ctx context.Context, key string) (string, error) {
	out, err := s.Client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.Bucket, Key: &key}, withoutChecksums)
	if err != nil {
		return "", wrap("start upload", err)
	}
	return aws.ToString(out.UploadId), nil
}

// ChunkURL returns the URL to which a chunk of size bytes is uploaded with PUT, without
// credentials, for 15 minutes. Chunks are numbered from 1.
func (s *Store) ChunkURL(ctx context.Context, key, upload string, chunk int, size int64) (string, error) {
	signed, err := s3.NewPresignClient(s.Client).PresignUploadPart(ctx, &s3.UploadPartInput{
		Bucket: &s.Bucket, Key: &key, UploadId: &upload, ContentLength: &size,
		PartNumber: aws.Int32(int32(chunk)), //nolint:gosec // 10,000 at most
	}, s3.WithPresignExpires(chunkURLLife), s3.WithPresignClientFromClientOptions(withoutChecksums))
	if err != nil {
		return "", wrap("sign the URL of a chunk", err)
	}
	return signed.URL, nil
}

// Origin returns the scheme and the host of the URLs of chunks.
func (s *Store) Origin(ctx context.Context) (string, error) {
	signed, err := s.ChunkURL(ctx, "key", "upload", 1, 1)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(signed)
	if err != nil {
		return "", wrap("parse the URL of a chunk", err)
	}
	return u.Scheme + "://" + u.Host, nil
}

// UploadedChunks returns the sizes of an upload's chunks by their numbers. The error wraps
// campaign.ErrNotFound if the upload does not exist.
func (s *Store) UploadedChunks(ctx context.Context, key, upload string) (map[int]int64, error) {
	chunks, err := s.chunks(ctx, key, upload)
	if err != nil {
		return nil, err
	}
	sizes := map[int]int64{}
	for _, c := range chunks {
		sizes[int(aws.ToInt32(c.PartNumber))] = aws.ToInt64(c.Size)
	}
	return sizes, nil
}

func (s *Store) chunks(ctx context.Context, key, upload string) (chunks []types.Part, err error) {
	pages := s3.NewListPartsPaginator(s.Client, &s3.ListPartsInput{Bucket: &s.Bucket, Key: &key, UploadId: &upload})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, wrap("list chunks", err, noUpload)
		}
		chunks = append(chunks, page.Parts...)
	}
	return chunks, nil
}

// FinishUpload makes an object of the uploaded chunks.
func (s *Store) FinishUpload(ctx context.Context, key, upload string) error {
	chunks, err := s.chunks(ctx, key, upload)
	if err != nil {
		return err
	}
	all := types.CompletedMultipartUpload{}
	for _, c := range chunks {
		all.Parts = append(all.Parts, types.CompletedPart{PartNumber: c.PartNumber, ETag: c.ETag})
	}
	_, err = s.Client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &s.Bucket, Key: &key, UploadId: &upload, MultipartUpload: &all,
	})
	return wrap("finish upload", err, noUpload)
}

// Open returns a reader of an object. The error wraps campaign.ErrNotFound if the object does not exist.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	out, err := s.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.Bucket, Key: &key})
	if err != nil {
		return nil, wrap("open object", err, noKey)
	}
	return out.Body, nil
}

// immutable lets browsers keep an object, because its key changes with its content. Shared
// caches ask for it once a day: they would serve a deleted object for a year.
const immutable = "public, max-age=31536000, s-maxage=86400, immutable"

// Copy copies an object. The error wraps campaign.ErrNotFound if there is none.
func (s *Store) Copy(ctx context.Context, from, to string) error {
	return s.copy(ctx, from, &s3.CopyObjectInput{Key: &to})
}

// Renew sets the time of an object to now, by a copy onto itself. The error wraps campaign.ErrNotFound if there is none.
func (s *Store) Renew(ctx context.Context, key string) error {
	return s.copy(ctx, key, &s3.CopyObjectInput{
		Key: &key, ContentType: aws.String("application/octet-stream"), MetadataDirective: types.MetadataDirectiveReplace,
	})
}

// Publish is Copy to a key whose object never changes. Browsers show images and videos, and save others.
func (s *Store) Publish(ctx context.Context, from, to, contentType string) error {
	var disposition *string
	if kind, _, _ := strings.Cut(contentType, "/"); kind != "image" && kind != "video" {
		disposition = aws.String("attachment")
	}
	return s.copy(ctx, from, &s3.CopyObjectInput{
		Key: &to, ContentType: &contentType, ContentDisposition: disposition,
		CacheControl: aws.String(immutable), MetadataDirective: types.MetadataDirectiveReplace,
	})
}

func (s *Store) copy(ctx context.Context, from string, in *s3.CopyObjectInput) error {
	in.Bucket, in.CopySource = &s.Bucket, aws.String(s.Bucket+"/"+(&url.URL{Path: from}).EscapedPath())
	_, err := s.Client.CopyObject(ctx, in)
	return wrap("copy object", err, noKey)
}

// PutImmutable writes an object that never changes.
func (s *Store) PutImmutable(ctx context.Context, key string, body []byte, contentType string) error {
	return s.put(ctx, key, body, contentType, aws.String(immutable))
}
