package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// archivePrefix begins the sort keys of the rows of archived templates. They are rows of
// their own, because saving a version replaces the row of a template.
const archivePrefix = "ARCHIVED#"

// ArchiveTemplate marks a template of the tenant as archived. It can be repeated.
func (s *TemplateStore) ArchiveTemplate(ctx context.Context, tenant, id string) error {
	row := withValue(entryKey(tenant, archivePrefix, id), "at", millis(s.Now()))
	if _, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row}); err != nil {
		return fmt.Errorf("archive template %s: %w", id, err)
	}
	return nil
}

// RestoreTemplate removes the mark. It can be repeated.
func (s *TemplateStore) RestoreTemplate(ctx context.Context, tenant, id string) error {
	key := entryKey(tenant, archivePrefix, id)
	if _, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Campaigns, Key: key}); err != nil {
		return fmt.Errorf("restore template %s: %w", id, err)
	}
	return nil
}

// TemplateArchived reports whether a template of the tenant is archived.
func (s *TemplateStore) TemplateArchived(ctx context.Context, tenant, id string) (bool, error) {
	_, err := s.get(ctx, entryKey(tenant, archivePrefix, id))
	if errors.Is(err, campaign.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read whether template %s is archived: %w", id, err)
	}
	return true, nil
}

// ArchivedTemplates returns the IDs of a tenant's archived templates.
func (s *TemplateStore) ArchivedTemplates(ctx context.Context, tenant string) (map[string]bool, error) {
	archived := map[string]bool{}
	_, err := list(ctx, &s.table, "TEN#"+tenant, archivePrefix, func(id string, _ Item) string {
		archived[id] = true
		return id
	})
	return archived, err
}
