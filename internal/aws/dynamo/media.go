package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/media/mediafile"
)

// AddMedia writes a new file, or keeps the existing one of the same hash, and returns it.
// The error wraps campaign.ErrLostRace while the existing one is being deleted.
func (s *MediaStore) AddMedia(ctx context.Context, f mediafile.File) (mediafile.File, error) {
	doing := "add media file " + f.Hash
	there, held, err := s.writeOrRead(ctx, doing, s.putNew(mediaRow(f)))
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
func (s *MediaStore) Media(ctx context.Context, tenant, hash string) (mediafile.File, error) {
	row, err := s.get(ctx, "read media file "+hash, mediaKey(tenant, hash))
	return readMedia(tenant, hash, row), err
}

// MediaFiles returns a tenant's files, ordered by hash.
func (s *MediaStore) MediaFiles(ctx context.Context, tenant string) ([]mediafile.File, error) {
	return list(ctx, &s.table, tenantPrefix+tenant, mediaPrefix, func(hash string, row Item) mediafile.File {
		return readMedia(tenant, hash, row)
	})
}

// MarkMedia sets or removes the mark that a file is being deleted. From then on, no template
// that shows the file can be saved. The error wraps campaign.ErrNotFound if it does not exist.
func (s *MediaStore) MarkMedia(ctx context.Context, tenant, hash string, deleting bool) error {
	w := s.update(mediaKey(tenant, hash), "REMOVE deleting", present, nil)
	if deleting {
		w = s.update(mediaKey(tenant, hash), "SET deleting = :yes", present, Item{":yes": boolean(true)})
	}
	return s.mustWrite(ctx, "mark media file "+hash, w, campaign.ErrNotFound)
}

// DeleteMedia deletes a file if it is marked, and otherwise does nothing.
func (s *MediaStore) DeleteMedia(ctx context.Context, tenant, hash string) error {
	w := s.removeIf(mediaKey(tenant, hash), "deleting = :yes", Item{":yes": boolean(true)})
	return s.tryWrite(ctx, "delete media file "+hash, w)
}

// shownMedia returns the keys of the uploaded files that a template shows. The error wraps
// campaign.ErrNoMedia if its tenant does not have one of them.
func (s *TemplateStore) shownMedia(ctx context.Context, t campaign.Template) (map[string]Item, error) {
	keys := map[string]Item{}
	for m := range t.MediaURLs() {
		if hash, uploaded := mediafile.Uploaded(s.MediaURL, m.URL); uploaded {
			keys[hash] = mediaKey(t.Tenant, hash)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := s.rows(ctx, "read the media of template "+t.ID, keys)
	if err != nil {
		return nil, err
	}
	for hash := range keys {
		if rows[hash] == nil || getBool(rows[hash], "deleting") {
			return nil, fmt.Errorf("put template %s: %w", t.ID, campaign.ErrNoMedia)
		}
	}
	return keys, nil
}

// requireMedia makes a transaction fail if the file does not exist or is being deleted.
func (s *TemplateStore) requireMedia(key Item) types.TransactWriteItem {
	return s.check(key, present+" AND attribute_not_exists(deleting)", nil)
}

func mediaRow(f mediafile.File) Item {
	row := with(mediaKey(f.Tenant, f.Hash), Item{
		"name": text(f.Name), "type": text(f.Type), "size": number(f.Size), "createdAt": millis(f.CreatedAt),
	})
	return with(row, some(Item{
		"width": number(f.Width), "height": number(f.Height), "thumbnail": boolean(f.Thumbnail), "url": text(f.URL),
	}))
}

func readMedia(tenant, hash string, row Item) mediafile.File {
	return mediafile.File{
		Tenant: tenant, Hash: hash, Name: getText(row, "name"), Type: getText(row, "type"), Size: getNumber(row, "size"),
		Width: getInt(row, "width"), Height: getInt(row, "height"), Thumbnail: getBool(row, "thumbnail"),
		URL: getText(row, "url"), CreatedAt: getMillis(row, "createdAt"), Deleting: getBool(row, "deleting"),
	}
}
