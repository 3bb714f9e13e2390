package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/media/mediafile"
)

const mediaPrefix = "MEDIA#"

func mediaKey(tenant, hash string) Item { return entryKey(tenant, mediaPrefix, hash) }

// AddMedia writes a new file, or keeps the existing one of the same hash, and returns it.
// The error wraps campaign.ErrLostRace while the existing one is being deleted.
func (s *MediaStore) AddMedia(ctx context.Context, f mediafile.File) (mediafile.File, error) {
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: mediaRow(f), ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		f, err = readMedia(f.Tenant, f.Hash, refused.Item), nil
		if f.Deleting {
			err = campaign.ErrLostRace
		}
	}
	if err != nil {
		return f, fmt.Errorf("add media file %s: %w", f.Hash, err)
	}
	return f, nil
}

// Media returns a file. The error wraps campaign.ErrNotFound if it does not exist.
func (s *MediaStore) Media(ctx context.Context, tenant, hash string) (mediafile.File, error) {
	row, err := s.get(ctx, mediaKey(tenant, hash))
	if err != nil {
		return mediafile.File{}, fmt.Errorf("read media file %s: %w", hash, err)
	}
	return readMedia(tenant, hash, row), nil
}

// MediaFiles returns a tenant's files, ordered by hash.
func (s *MediaStore) MediaFiles(ctx context.Context, tenant string) ([]mediafile.File, error) {
	return list(ctx, &s.table, "TEN#"+tenant, mediaPrefix, func(hash string, row Item) mediafile.File {
		return readMedia(tenant, hash, row)
	})
}

// MarkMedia sets or removes the mark that a file is being deleted. From then on, no template
// that shows the file can be saved. The error wraps campaign.ErrNotFound if it does not exist.
func (s *MediaStore) MarkMedia(ctx context.Context, tenant, hash string, deleting bool) error {
	in := &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: mediaKey(tenant, hash), ConditionExpression: aws.String("attribute_exists(pk)"),
		UpdateExpression: aws.String("REMOVE deleting"),
	}
	if deleting {
		in.UpdateExpression, in.ExpressionAttributeValues = aws.String("SET deleting = :yes"), Item{":yes": boolean(true)}
	}
	_, err := s.Client.UpdateItem(ctx, in)
	held, err := conditionHeld(err, "mark media file "+hash)
	if err == nil && !held {
		err = fmt.Errorf("mark media file %s: %w", hash, campaign.ErrNotFound)
	}
	return err
}

// DeleteMedia deletes a file if it is marked, and otherwise does nothing.
func (s *MediaStore) DeleteMedia(ctx context.Context, tenant, hash string) error {
	_, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.Campaigns, Key: mediaKey(tenant, hash), ConditionExpression: aws.String("deleting = :yes"),
		ExpressionAttributeValues: Item{":yes": boolean(true)},
	})
	_, err = conditionHeld(err, "delete media file "+hash)
	return err
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
	rows, err := s.campaignRows(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read the media of template %s: %w", t.ID, err)
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
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &s.Campaigns, Key: key, ConditionExpression: aws.String("attribute_exists(pk) AND attribute_not_exists(deleting)"),
	}}
}

func mediaRow(f mediafile.File) Item {
	row := mediaKey(f.Tenant, f.Hash)
	row["name"], row["type"], row["size"] = text(f.Name), text(f.Type), number(f.Size)
	row["createdAt"] = millis(f.CreatedAt)
	if f.Width > 0 {
		row["width"], row["height"] = number(f.Width), number(f.Height)
	}
	if f.Thumbnail {
		row["thumbnail"] = boolean(true)
	}
	if f.URL != "" {
		row["url"] = text(f.URL)
	}
	return row
}

func readMedia(tenant, hash string, row Item) mediafile.File {
	return mediafile.File{
		Tenant: tenant, Hash: hash, Name: getText(row, "name"), Type: getText(row, "type"), Size: getNumber(row, "size"),
		Width: int(getNumber(row, "width")), Height: int(getNumber(row, "height")), Thumbnail: getBool(row, "thumbnail"),
		URL: getText(row, "url"), CreatedAt: getMillis(row, "createdAt"), Deleting: getBool(row, "deleting"),
	}
}
