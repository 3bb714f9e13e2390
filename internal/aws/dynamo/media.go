package dynamo

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/media/mediafile"
)

// AddMedia writes a new file, or keeps the existing one of the same hash, and returns it.
// The error wraps campaign.ErrLostRace while the existing one is being deleted.
func (s *ContentStore) AddMedia(ctx context.Context, f mediafile.File) (mediafile.File, error) {
	doing := "add media file " + f.Hash
	there, held, err := s.writeOrRead(ctx, doing, s.putNew(with(mediaKey(f.Tenant, f.Hash), mediaFields(&f).item())))
	if held || err != nil {
		return f, err
	}
	f = readMedia(f.Tenant, f.Hash, there)
	if f.Deleting {
		err = fmt.Errorf("%s: %w", doing, campaign.ErrLostRace)
	}
	return f, err
}

// Media returns a file. The error wraps campaign.ErrNotFound if it does not exist.
func (s *ContentStore) Media(ctx context.Context, tenant, hash string) (mediafile.File, error) {
	row, err := s.get(ctx, "read media file "+hash, mediaKey(tenant, hash))
	return readMedia(tenant, hash, row), err
}

// MediaFiles returns a tenant's files, ordered by hash.
func (s *ContentStore) MediaFiles(ctx context.Context, tenant string) ([]mediafile.File, error) {
	return list(ctx, &s.table, tenantPrefix+tenant, mediaPrefix, func(hash string, row Item) mediafile.File {
		return readMedia(tenant, hash, row)
	})
}

// MarkMedia sets or removes the mark that a file is being deleted. From then on, no template
// that shows the file can be saved. The error wraps campaign.ErrNotFound if it does not exist, or is another upload.
func (s *ContentStore) MarkMedia(ctx context.Context, f mediafile.File, deleting bool) error {
	values := Item{}
	condition := present + " AND " + isObject(f, values)
	w := s.update(mediaKey(f.Tenant, f.Hash), "REMOVE deleting", condition, values)
	if deleting {
		w = s.update(mediaKey(f.Tenant, f.Hash), "SET deleting = :yes", condition, with(values, Item{":yes": boolean(true)}))
	}
	return s.mustWrite(ctx, "mark media file "+f.Hash, w, campaign.ErrNotFound)
}

// DeleteMedia deletes a file if it is marked and no other upload, and otherwise does nothing.
func (s *ContentStore) DeleteMedia(ctx context.Context, f mediafile.File) error {
	values := Item{":yes": boolean(true)}
	w := s.removeIf(mediaKey(f.Tenant, f.Hash), "deleting = :yes AND "+isObject(f, values), values)
	return s.tryWrite(ctx, "delete media file "+f.Hash, w)
}

// isObject returns the condition that a row is that of the upload, and adds its values.
func isObject(f mediafile.File, values Item) string {
	if f.Object == "" {
		return "attribute_not_exists(#object)"
	}
	values[":object"] = text(f.Object)
	return "#object = :object"
}

// shownMedia returns the uploaded files that a template shows. The error wraps
// campaign.ErrNoMedia if its tenant does not have one of them.
func (s *ContentStore) shownMedia(ctx context.Context, t campaign.Template) ([]mediafile.File, error) {
	keys, links := map[string]Item{}, map[string][]string{}
	for m := range t.MediaURLs() {
		if hash, uploaded := mediafile.Uploaded(s.MediaURL, m.URL); uploaded {
			keys[hash], links[hash] = mediaKey(t.Tenant, hash), append(links[hash], m.URL)
		}
	}
	rows, err := s.rows(ctx, "read the media of template "+t.ID, keys)
	if err != nil {
		return nil, err
	}
	var files []mediafile.File
	for hash := range keys {
		f := readMedia(t.Tenant, hash, rows[hash])
		if rows[hash] == nil || f.Deleting || slices.ContainsFunc(links[hash], func(link string) bool { return !f.At(link) }) {
			return nil, fmt.Errorf("put template %s: %w", t.ID, campaign.ErrNoMedia)
		}
		files = append(files, f)
	}
	return files, nil
}

// requireMedia makes a transaction fail if the file does not exist or is being deleted.
func (s *ContentStore) requireMedia(f mediafile.File) types.TransactWriteItem {
	values := Item{}
	return s.check(mediaKey(f.Tenant, f.Hash), present+" AND attribute_not_exists(deleting) AND "+isObject(f, values), values)
}

func mediaFields(f *mediafile.File) fields {
	return fields{
		"name": &f.Name, "type": &f.Type, "size": &f.Size, "createdAt": &f.CreatedAt, "width?": &f.Width, "height?": &f.Height,
		"thumbnail?": &f.Thumbnail, "url?": &f.URL, "object?": &f.Object,
	}
}

func readMedia(tenant, hash string, row Item) mediafile.File {
	return fill(mediafile.File{Tenant: tenant, Hash: hash, Deleting: getBool(row, "deleting")}, mediaFields, row)
}
