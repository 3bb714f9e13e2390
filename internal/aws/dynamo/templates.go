package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

// TemplatePage returns up to limit of a tenant's templates, ordered by ID, as Templates
// does. It starts after the ID of the previous page, "" for the first page. more reports
// whether further templates follow.
func (s *TemplateStore) TemplatePage(ctx context.Context, tenant, after string, limit int) (page []campaign.Template, more bool, err error) {
	out, err := s.Client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.Campaigns, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit + 1)), //nolint:gosec // a page's length
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :first AND :last"),
		ExpressionAttributeValues: Item{
			// The space excludes the ID itself.
			":pk": tenantKey(tenant)["pk"], ":first": text(templatePrefix + after + " "), ":last": text(templatePrefix + "~"),
		},
	})
	if err != nil {
		return nil, false, fmt.Errorf("list templates: %w", err)
	}
	for _, row := range out.Items[:min(len(out.Items), limit)] {
		page = append(page, readTemplateEntry(tenant, strings.TrimPrefix(getText(row, "sk"), templatePrefix), row))
	}
	return page, len(out.Items) > limit, nil
}

// CreateTemplate writes version 1 of a new template and an audit log entry. If the template
// exists, it returns its version 1 and writes nothing. If the tenant has as many as
// most templates, full is true and nothing is written. It counts the rows on each call, because templates
// of the dashboard are created without the guard row.
func (s *TemplateStore) CreateTemplate(ctx context.Context, t campaign.Template, most int, e account.AuditEntry) (first campaign.Template, full bool, err error) {
	t.Version, t.CreatedAt = 1, s.Now().UTC().Truncate(time.Millisecond)
	for try := range maxAdditions {
		if err := retry.Wait(ctx, try); err != nil {
			return t, false, fmt.Errorf("create template %s: %w", t.ID, err)
		}
		first, err = s.TemplateVersion(ctx, t.ID, 1)
		if !errors.Is(err, campaign.ErrNotFound) {
			return first, false, err
		}
		full, err = s.createTemplate(ctx, t, most, auditRow(e, e.At.UnixNano()+int64(try)))
		if !errors.Is(err, campaign.ErrLostRace) {
			return t, full, err
		}
	}
	return t, false, err
}

// createTemplate makes one attempt. The error wraps campaign.ErrLostRace after a concurrent
// creation.
func (s *TemplateStore) createTemplate(ctx context.Context, t campaign.Template, most int, audit Item) (full bool, err error) {
	guard, err := s.get(ctx, templateGuardKey(t.Tenant))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return false, fmt.Errorf("create template %s: %w", t.ID, err)
	}
	all, err := s.Templates(ctx, t.Tenant)
	if err != nil || len(all) >= most {
		return err == nil, err
	}
	items, err := s.versionItems(ctx, t)
	if err != nil {
		return false, err
	}
	addition := s.nextAddition(templateGuardKey(t.Tenant), getNumber(guard, "additions"))
	return false, s.writeAll(ctx, "create template "+t.ID, append(items, addition, s.putNew(audit))...)
}

// AddTemplateVersion writes a version and an audit log entry if the version before is the
// current one, and returns the version. Otherwise the error wraps campaign.ErrLostRace.
func (s *TemplateStore) AddTemplateVersion(ctx context.Context, t campaign.Template, e account.AuditEntry) (campaign.Template, error) {
	t.CreatedAt = s.Now().UTC().Truncate(time.Millisecond)
	var err error
	for try := range maxAdditions {
		items, mediaErr := s.versionItems(ctx, t)
		if mediaErr != nil {
			return t, mediaErr
		}
		audit := s.putNew(auditRow(e, e.At.UnixNano()+int64(try)))
		err = s.writeAll(ctx, "add version of template "+t.ID, append(items, audit)...)
		if !errors.Is(err, campaign.ErrLostRace) {
			return t, err
		}
		// The condition of the audit log entry may have failed, if it has the time of another,
		// or that of a file that was deleted meanwhile.
		if current, readErr := s.Template(ctx, t.ID); readErr != nil || current.Version != t.Version-1 {
			return t, errors.Join(err, readErr)
		}
	}
	return t, err
}
