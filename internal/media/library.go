// Package media keeps the files that messages can show. Browsers upload them in chunks
// directly to the media bucket. Afterwards, the content is checked and published under a
// key that never changes.
package media

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/media/mediafile"
)

// Store keeps the files' rows, and reads templates.
type Store interface {
	// AddMedia keeps the existing file of the same hash. The error wraps
	// campaign.ErrLostRace while that is being deleted.
	AddMedia(ctx context.Context, f mediafile.File) (mediafile.File, error)
	// MarkMedia sets the mark after which no template with the file can be saved. The error wraps campaign.ErrNotFound if
	// there is none. Another upload of the same hash is another file, also for DeleteMedia.
	MarkMedia(ctx context.Context, f mediafile.File, deleting bool) error
	// DeleteMedia deletes a file that is marked. Another one is unchanged, which is not an error.
	DeleteMedia(ctx context.Context, f mediafile.File) error
	// Templates returns the templates of a tenant. Of their contents, only the form and the thumbnail are read.
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	// TemplateVersions yields all versions, newest first, and reads them as they are taken.
	TemplateVersions(ctx context.Context, id string) iter.Seq2[campaign.Template, error]
}

// Bucket keeps the files' contents.
type Bucket interface {
	port.Uploads

	// Open returns a reader of an object. The error wraps campaign.ErrNotFound if there is none.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Publish copies an object that never changes. The error wraps campaign.ErrNotFound if there is none.
	Publish(ctx context.Context, from, to, contentType string) error
	// PutImmutable writes an object that never changes.
	PutImmutable(ctx context.Context, key string, body []byte, contentType string) error
	// Delete deletes an object. A missing one is not an error.
	Delete(ctx context.Context, key string) error
}

// Library keeps the files of all tenants.
type Library struct {
	Prober

	Store  Store
	Bucket Bucket
	Now    func() time.Time
}

// uploads are the tenant's uploads. The bucket deletes their objects after a day.
func (l *Library) uploads(tenant string) port.Folder {
	return port.Folder{To: l.Bucket, Prefix: "uploads/" + tenant + "/", MaxSize: mediafile.MaxSize}
}

// Start starts the upload of a file of size bytes and returns its ID. If unfinished is the ID of
// one that was not finished, it continues. sent are the numbers of the chunks that were sent.
func (l *Library) Start(ctx context.Context, tenant, name string, size int64, unfinished string) (id string, sent []int, err error) {
	if err := errors.Join(checkName(name), checkSize(size)); err != nil {
		return "", nil, err
	}
	return l.uploads(tenant).Start(ctx, size, unfinished)
}

// ChunkURL returns the URL of a chunk, counted from 1. It is valid for 15 minutes.
func (l *Library) ChunkURL(ctx context.Context, tenant, id string, chunk int) (string, error) {
	return l.uploads(tenant).ChunkURL(ctx, id, chunk)
}

// Check completes an upload and returns the file that Publish then publishes. It reads the
// whole content.
func (l *Library) Check(ctx context.Context, tenant, name, id string) (f mediafile.File, err error) {
	u, err := l.uploads(tenant).Upload(id)
	if err == nil {
		err = checkName(name)
	}
	if err == nil {
		err = u.Finish(ctx, l.Bucket)
	}
	if err != nil {
		return f, err
	}
	if f, err = l.inspect(ctx, u.Key); err != nil {
		return f, err
	}
	f.Tenant, f.Name, f.CreatedAt = tenant, name, l.Now()
	f.Hash, f.Object = mediafile.Hash(tenant, f.Hash), l.uploads(tenant).Object(u)
	return f, nil
}

// inspect returns what the content of an object tells. Hash is the content's SHA-256.
func (l *Library) inspect(ctx context.Context, key string) (f mediafile.File, err error) {
	if err := l.read(ctx, key, func(r io.Reader) error { f, err = digest(r); return err }); err != nil {
		return f, err
	}
	if !mediafile.Type(f.Type) {
		return f, &inputerr.Error{Code: "type", Detail: "the file is not a JPEG, PNG, GIF, MP4 or PDF file"}
	}
	if !strings.HasPrefix(f.Type, "image/") {
		return f, nil
	}
	err = l.read(ctx, key, func(r io.Reader) error { f.Width, f.Height, err = size(r); return err })
	return f, err
}

// digest reads a file. The type is "" if messages cannot show it.
func digest(r io.Reader) (f mediafile.File, err error) {
	sum, head := sha256.New(), make([]byte, headSize)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return f, fmt.Errorf("read a file: %w", err)
	}
	_, _ = sum.Write(head[:n])
	rest, err := io.Copy(sum, io.LimitReader(r, mediafile.MaxSize))
	if err != nil {
		return f, fmt.Errorf("read a file: %w", err)
	}
	f.Hash, f.Type, f.Size = hex.EncodeToString(sum.Sum(nil)), kind(head[:n]), int64(n)+rest
	return f, checkSize(f.Size)
}

// Publish copies a checked file to its public key and adds its row. It keeps an existing file of the same content
// instead. The upload is deleted last, so that a call can be repeated.
//
// If the row cannot be added, the public copy stays, and nothing lists it until a repeated call adds the row. It is not
// deleted even after a definite refusal: all calls for an upload have the same key, and one whose answer was lost, or
// that runs at the same time, may have added the row.
func (l *Library) Publish(ctx context.Context, id string, f mediafile.File) (mediafile.File, error) {
	u, err := l.uploads(f.Tenant).Upload(id)
	if err != nil {
		return f, err
	}
	if err := l.addThumbnail(ctx, u.Key, &f); err != nil {
		return f, err
	}
	if err := l.Bucket.Publish(ctx, u.Key, f.Key(), f.Type); err != nil {
		return f, err
	}
	kept, err := l.Store.AddMedia(ctx, f)
	if errors.Is(err, campaign.ErrLostRace) {
		err = &inputerr.Error{Code: "deleting", Detail: "the same file is being deleted: upload it again"}
	}
	if kept.Object != f.Object {
		err = errors.Join(err, l.deleteObjects(ctx, f))
	}
	if err != nil {
		return kept, err
	}
	return kept, l.Bucket.Delete(ctx, u.Key)
}

// addThumbnail makes the thumbnail of an image. Videos and documents have none: no Go
// library decodes them, and the provider makes one itself.
func (l *Library) addThumbnail(ctx context.Context, key string, f *mediafile.File) error {
	if f.Width == 0 {
		return nil
	}
	var small []byte
	if err := l.read(ctx, key, func(r io.Reader) (err error) { small, err = thumbnail(r); return err }); err != nil {
		return err
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
func (l *Library) Delete(ctx context.Context, f mediafile.File) (template *campaign.Template, err error) {
	if err := l.Store.MarkMedia(ctx, f, true); err != nil {
		return nil, err
	}
	if template, err = l.ShownIn(ctx, f); err != nil {
		return nil, err
	}
	if template != nil {
		return template, l.Store.MarkMedia(ctx, f, false)
	}
	if err := l.deleteObjects(ctx, f); err != nil {
		return nil, err
	}
	return nil, l.Store.DeleteMedia(ctx, f)
}

func (l *Library) deleteObjects(ctx context.Context, f mediafile.File) error {
	if f.URL != "" {
		return nil
	}
	if err := l.Bucket.Delete(ctx, f.Key()); err != nil || !f.Thumbnail {
		return err
	}
	return l.Bucket.Delete(ctx, f.ThumbnailKey())
}

// ShownIn returns the first template with a version that shows the file, or nil.
func (l *Library) ShownIn(ctx context.Context, f mediafile.File) (*campaign.Template, error) {
	all, err := l.Store.Templates(ctx, f.Tenant)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		for v, err := range l.Store.TemplateVersions(ctx, t.ID) {
			if err != nil {
				return nil, err
			}
			if f.ShownBy(v) {
				return &v, nil
			}
		}
	}
	return nil, nil
}

const maxName = 200

func checkName(name string) error {
	text := utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
	if campaign.Blank(name) || utf8.RuneCountInString(name) > maxName || !text {
		return &inputerr.Error{Code: "name", Detail: "the file's name is blank, too long or not text"}
	}
	return nil
}

func checkSize(size int64) error {
	switch {
	case size <= 0:
		return &inputerr.Error{Code: "empty", Detail: "the file is empty"}
	case size > mediafile.MaxSize:
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

const headSize = 512 // bytes that kind examines

// kind returns the content type of a file by its first bytes, or "" if messages cannot show
// it. It does not use the name: browsers and phones trust the content type, so a page named
// .png must not be stored.
func kind(head []byte) string {
	const video = "video/mp4"
	found := http.DetectContentType(head)
	switch {
	case mp4(head):
		return video
	case found == video || !mediafile.Type(found):
		return ""
	}
	return found
}

// mp4Brands are the brands of MP4 files. Other files of the ISO format, such as HEIC images,
// have other brands.
var mp4Brands = []string{"isom", "iso2", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "M4V ", "MSNV", "dash"}

// mp4 reports whether a file begins with the ftyp box of an MP4 file.
func mp4(head []byte) bool {
	const fixed = 16 // size, "ftyp", major brand, version
	if len(head) < fixed || string(head[4:8]) != "ftyp" {
		return false
	}
	end := min(int(binary.BigEndian.Uint32(head)), len(head))
	if slices.Contains(mp4Brands, string(head[8:12])) {
		return true
	}
	for at := fixed; at+4 <= end; at += 4 {
		if slices.Contains(mp4Brands, string(head[at:at+4])) {
			return true
		}
	}
	return false
}
