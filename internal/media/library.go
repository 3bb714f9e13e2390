// Package media keeps the files that messages can show. Browsers upload them in parts
// directly to the media bucket. Afterwards, the content is checked and published under a
// key that never changes.
package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/httpapi/inputerr"
	"campaign-dispatch/internal/random"
)

// Store keeps the files' rows, and reads templates. Errors wrap campaign.ErrNotFound if an
// item does not exist.
type Store interface {
	// AddMedia keeps the existing file of the same hash. The error wraps
	// campaign.ErrLostRace while that is being deleted.
	AddMedia(ctx context.Context, f campaign.MediaFile) (campaign.MediaFile, error)
	// MarkMedia sets the mark after which no template with the file can be saved.
	MarkMedia(ctx context.Context, tenant, hash string, deleting bool) error
	DeleteMedia(ctx context.Context, tenant, hash string) error
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	TemplateVersions(ctx context.Context, id string) ([]campaign.Template, error)
}

// Bucket keeps the files' contents.
type Bucket interface {
	StartUpload(ctx context.Context, key string) (string, error)
	PartURL(ctx context.Context, key, upload string, part int, size int64) (string, error)
	UploadedParts(ctx context.Context, key, upload string) (map[int]int64, error)
	FinishUpload(ctx context.Context, key, upload string) error
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	Publish(ctx context.Context, from, to, contentType string) error
	PutImmutable(ctx context.Context, key string, body []byte, contentType string) error
	Delete(ctx context.Context, key string) error
}

// Library keeps the files of all tenants.
type Library struct {
	Prober

	Store  Store
	Bucket Bucket
	Now    func() time.Time
}

// PartSize is the size of all parts of an upload but the last, the smallest that S3 permits.
const PartSize = 5 << 20

// uploadID matches the ID of an upload.
var uploadID = pattern.AtFirstUse(`^[A-Za-z0-9_-]{22}$`)

// maxS3Upload is the maximum size in bytes of the bucket's ID of an upload, whose form is
// not documented.
const maxS3Upload = 1000

func valid(u campaign.MediaUpload) bool {
	hidden := func(c rune) bool { return c <= ' ' || c > '~' }
	return uploadID().MatchString(u.ID) && u.Upload != "" && len(u.Upload) <= maxS3Upload && !strings.ContainsFunc(u.Upload, hidden)
}

// uploadKey returns the key of an upload's object. It contains the tenant, so that the bucket
// does not find the uploads of others. The bucket deletes the object after a day.
func uploadKey(tenant, id string) string { return "uploads/" + tenant + "/" + id }

// Start starts the upload of a file of size bytes.
func (l *Library) Start(ctx context.Context, tenant, name string, size int64) (campaign.MediaUpload, error) {
	if err := checkName(name); err != nil {
		return campaign.MediaUpload{}, err
	}
	if err := checkSize(size); err != nil {
		return campaign.MediaUpload{}, err
	}
	u := campaign.MediaUpload{ID: random.Token(16)}
	var err error
	u.Upload, err = l.Bucket.StartUpload(ctx, uploadKey(tenant, u.ID))
	return u, err
}

// PartURL returns the URL of a part, counted from 1, with size bytes. It is valid for 15
// minutes.
func (l *Library) PartURL(ctx context.Context, tenant string, u campaign.MediaUpload, part int, size int64) (string, error) {
	const parts = (campaign.MaxMediaSize + PartSize - 1) / PartSize
	if !valid(u) || part < 1 || part > parts || size < 1 || size > PartSize {
		return "", fmt.Errorf("part %d of an upload: %w", part, campaign.ErrNotFound)
	}
	return l.Bucket.PartURL(ctx, uploadKey(tenant, u.ID), u.Upload, part, size)
}

// Check completes an upload and returns the file that Publish then publishes. It reads the
// whole content.
func (l *Library) Check(ctx context.Context, tenant, name string, u campaign.MediaUpload) (campaign.MediaFile, error) {
	if !valid(u) {
		return campaign.MediaFile{}, fmt.Errorf("finish an upload: %w", campaign.ErrNotFound)
	}
	if err := checkName(name); err != nil {
		return campaign.MediaFile{}, err
	}
	key := uploadKey(tenant, u.ID)
	if err := l.complete(ctx, key, u.Upload); err != nil {
		return campaign.MediaFile{}, err
	}
	f, err := l.inspect(ctx, key)
	if err != nil {
		return f, err
	}
	f.Tenant, f.Name, f.CreatedAt = tenant, name, l.Now()
	f.Hash = campaign.MediaHash(tenant, f.Hash)
	return f, nil
}

// complete makes an object of an upload whose parts have a permitted size.
func (l *Library) complete(ctx context.Context, key, upload string) error {
	parts, err := l.Bucket.UploadedParts(ctx, key, upload)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil // completed before, or the object is missing too
	}
	if err != nil {
		return err
	}
	total := int64(0)
	for _, size := range parts {
		total += size
	}
	if err := checkSize(total); err != nil {
		return err
	}
	return l.Bucket.FinishUpload(ctx, key, upload)
}

// inspect returns what the content of an object tells. Hash is the content's SHA-256.
func (l *Library) inspect(ctx context.Context, key string) (f campaign.MediaFile, err error) {
	if err := l.read(ctx, key, func(r io.Reader) error { f, err = digest(r); return err }); err != nil {
		return f, err
	}
	if !campaign.MediaType(f.Type) {
		return f, &inputerr.Error{Code: "type", Detail: "the file is not a JPEG, PNG, GIF, MP4 or PDF file"}
	}
	if !strings.HasPrefix(f.Type, "image/") {
		return f, nil
	}
	err = l.read(ctx, key, func(r io.Reader) error { f.Width, f.Height, err = size(r); return err })
	return f, describe(err)
}

// digest reads a file. The type is "" if messages cannot show it.
func digest(r io.Reader) (f campaign.MediaFile, err error) {
	sum, head := sha256.New(), make([]byte, headSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("read a file: %w", err)
	}
	_, _ = sum.Write(head[:n])
	rest, err := io.Copy(sum, io.LimitReader(r, campaign.MaxMediaSize))
	if err != nil {
		return f, fmt.Errorf("read a file: %w", err)
	}
	f.Hash, f.Type, f.Size = hex.EncodeToString(sum.Sum(nil)), kind(head[:n]), int64(n)+rest
	return f, checkSize(f.Size)
}

// describe returns the error for a person about an image.
func describe(err error) error {
	switch {
	case errors.Is(err, errPixels):
		return &inputerr.Error{Code: "pixels", Detail: "the image has too many pixels"}
	case errors.Is(err, errUnreadable):
		return &inputerr.Error{Code: "unreadable", Detail: "the image cannot be read"}
	}
	return err
}

// Publish copies a checked file to its public key and adds its row. The upload is deleted
// last, so that a call can be repeated.
func (l *Library) Publish(ctx context.Context, u campaign.MediaUpload, f campaign.MediaFile) (campaign.MediaFile, error) {
	key := uploadKey(f.Tenant, u.ID)
	if err := l.addThumbnail(ctx, key, &f); err != nil {
		return f, err
	}
	if err := l.Bucket.Publish(ctx, key, f.Key(), f.Type); err != nil {
		return f, err
	}
	f, err := l.Store.AddMedia(ctx, f)
	if errors.Is(err, campaign.ErrLostRace) {
		err = &inputerr.Error{Code: "deleting", Detail: "the same file is being deleted: upload it again"}
	}
	if err != nil {
		return f, err
	}
	return f, l.Bucket.Delete(ctx, key)
}

// addThumbnail makes the thumbnail of an image. Videos and documents have none: no Go
// library decodes them, and the provider makes one itself.
func (l *Library) addThumbnail(ctx context.Context, key string, f *campaign.MediaFile) error {
	if f.Width == 0 {
		return nil
	}
	var small []byte
	err := l.read(ctx, key, func(r io.Reader) (err error) { small, err = thumbnail(r); return err })
	if err != nil {
		return describe(err)
	}
	f.Thumbnail = true
	return l.Bucket.PutImmutable(ctx, f.ThumbnailKey(), small, "image/jpeg")
}

// read passes an object to use, which need not read all of it.
func (l *Library) read(ctx context.Context, key string, use func(r io.Reader) error) error {
	body, err := l.Bucket.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return use(body)
}

// Delete deletes a file, unless a version of a template shows it: then it returns the version.
// The mark comes first: a template that is saved concurrently is either found here, or
// refused. A deletion that was interrupted can be repeated.
func (l *Library) Delete(ctx context.Context, f campaign.MediaFile) (template *campaign.Template, err error) {
	if err := l.Store.MarkMedia(ctx, f.Tenant, f.Hash, true); err != nil {
		return nil, err
	}
	if template, err = l.ShownIn(ctx, f); err != nil {
		return nil, err
	}
	if template != nil {
		return template, l.Store.MarkMedia(ctx, f.Tenant, f.Hash, false)
	}
	if err := l.deleteObjects(ctx, f); err != nil {
		return nil, err
	}
	return nil, l.Store.DeleteMedia(ctx, f.Tenant, f.Hash)
}

func (l *Library) deleteObjects(ctx context.Context, f campaign.MediaFile) error {
	if f.URL != "" {
		return nil
	}
	if err := l.Bucket.Delete(ctx, f.Key()); err != nil || !f.Thumbnail {
		return err
	}
	return l.Bucket.Delete(ctx, f.ThumbnailKey())
}

// ShownIn returns the first template with a version that shows the file, or nil.
func (l *Library) ShownIn(ctx context.Context, f campaign.MediaFile) (*campaign.Template, error) {
	all, err := l.Store.Templates(ctx, f.Tenant)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		versions, err := l.Store.TemplateVersions(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		for _, v := range versions {
			if f.ShownBy(v) {
				return &v, nil
			}
		}
	}
	return nil, nil
}

const maxName = 200

func checkName(name string) error {
	if campaign.Blank(name) || utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return &inputerr.Error{Code: "name", Detail: "the file's name is blank, too long or not text"}
	}
	return nil
}

func checkSize(size int64) error {
	switch {
	case size <= 0:
		return &inputerr.Error{Code: "empty", Detail: "the file is empty"}
	case size > campaign.MaxMediaSize:
		return &inputerr.Error{Code: "size", Detail: "the file is larger than 100 MB"}
	}
	return nil
}

// nameOf returns the last part of a URL's path, or its host.
func nameOf(host, urlPath string) string {
	if name := path.Base(urlPath); checkName(name) == nil && name != "/" && name != "." {
		return name
	}
	return host
}
