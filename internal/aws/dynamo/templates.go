package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// PutTemplate writes the template as its next version, from 1, and returns it with that
// version. Versions are immutable. Concurrent calls get different versions. The error wraps
// campaign.ErrNotFound if the template belongs to another tenant, and campaign.ErrNoMedia if
// it shows an uploaded file that its tenant does not have.
func (s *ContentStore) PutTemplate(ctx context.Context, t campaign.Template) (campaign.Template, error) {
	doing := "put template " + t.ID
	err := untilDecided(ctx, doing, maxEdits, func(int) error {
		current, err := s.Template(ctx, t.ID)
		switch {
		case err != nil && !errors.Is(err, campaign.ErrNotFound):
			return err
		case err == nil && current.Tenant != t.Tenant:
			return fmt.Errorf("%s: belongs to another tenant: %w", doing, campaign.ErrNotFound)
		}
		t.Version, t.CreatedAt = current.Version+1, s.Now().UTC().Truncate(time.Millisecond)
		return s.putVersion(ctx, t)
	})
	return t, err
}

// putVersion writes the version after the current one. The error wraps campaign.ErrLostRace
// if a concurrent call wrote it, or deleted one of the media.
func (s *ContentStore) putVersion(ctx context.Context, t campaign.Template) error {
	items, err := s.versionItems(ctx, t)
	if err != nil {
		return err
	}
	return s.writeAll(ctx, "put template "+t.ID, items...)
}

// versionItems write a version, if its predecessor is the current one and the uploaded files
// that it shows exist. The error wraps campaign.ErrNoMedia if they do not exist now.
func (s *ContentStore) versionItems(ctx context.Context, t campaign.Template) ([]types.TransactWriteItem, error) {
	media, err := s.shownMedia(ctx, t)
	if err != nil {
		return nil, err
	}
	version, err := templateRow(templateVersionKey(t.ID, t.Version), t)
	if err != nil {
		return nil, err
	}
	current, err := templateRow(templateKey(t.ID), t)
	if err != nil {
		return nil, err
	}
	entry := with(templateEntryKey(t.Tenant, t.ID), Item{
		"name": text(t.Name), "version": number(t.Version), "createdAt": millis(t.CreatedAt),
	})
	thumbnail := t.Thumbnail()
	with(entry, some(Item{"picture": text(thumbnail.URL), "words": text(thumbnail.Words)}))
	with(entry, some(Item{"card": boolean(t.Card != nil), "carousel": boolean(t.Carousel != nil), "file": boolean(t.File != nil)}))
	items := []types.TransactWriteItem{s.putNew(version), s.putSuccessor(current, t), s.put(entry)}
	for _, f := range media {
		items = append(items, s.requireMedia(f))
	}
	return items, nil
}

// putSuccessor replaces the current version if it is the predecessor of t.
func (s *ContentStore) putSuccessor(row Item, t campaign.Template) types.TransactWriteItem {
	if t.Version == 1 {
		return s.putNew(row)
	}
	return s.putIf(row, "version = :read AND tenant = :tenant", Item{":read": number(t.Version - 1), ":tenant": text(t.Tenant)})
}

// Template returns the current version of a template of any tenant. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *ContentStore) Template(ctx context.Context, id string) (campaign.Template, error) {
	row, err := s.get(ctx, "read template "+id, templateKey(id))
	if err != nil {
		return campaign.Template{}, err
	}
	return readTemplate(id, row)
}

// TemplateVersion reads a template version, which is immutable. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *ContentStore) TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error) {
	row, err := s.get(ctx, fmt.Sprintf("read version %d of template %s", version, id), templateVersionKey(id, version))
	if err != nil {
		return campaign.Template{}, err
	}
	return readTemplate(id, row)
}

// Templates returns the IDs, names and current versions of a tenant's templates, ordered by
// ID. Of their contents, only the form and the thumbnail are read.
func (s *ContentStore) Templates(ctx context.Context, tenant string) ([]campaign.Template, error) {
	return list(ctx, &s.table, templatesPrefix+tenant, templatePrefix, func(id string, row Item) campaign.Template {
		return readTemplateEntry(tenant, id, row)
	})
}

func readTemplateEntry(tenant, id string, row Item) campaign.Template {
	t := campaign.Template{
		ID: id, Tenant: tenant, Name: getText(row, "name"), Version: getInt(row, "version"), CreatedAt: getMillis(row, "createdAt"),
	}
	card := content.Card{Title: getText(row, "words")}
	if picture := getText(row, "picture"); picture != "" {
		card.Media = &content.Media{URL: picture}
	}
	switch {
	case getBool(row, "card"):
		t.Card = &card
	case getBool(row, "carousel"):
		t.Carousel = &content.Carousel{Cards: []content.Card{card}}
	case getBool(row, "file"):
		t.File = &content.File{URL: getText(row, "picture")}
	default:
		t.Text = card.Title
	}
	return t
}

// TemplateVersions yields all versions of a template of any tenant, newest first. It reads them
// as the caller takes them. The sequence ends at the first error.
func (s *ContentStore) TemplateVersions(ctx context.Context, id string) iter.Seq2[campaign.Template, error] {
	in := queryOf(s.Campaigns, "pk = :pk AND begins_with(sk, :prefix)", Item{":pk": templateKey(id)["pk"], ":prefix": text(versionPrefix)})
	in.ConsistentRead, in.ScanIndexForward = aws.Bool(true), aws.Bool(false)
	return decoded(s.each(ctx, "list the versions of template "+id, in), func(row Item) (campaign.Template, error) {
		return readTemplate(id, row)
	})
}

// TemplateVersionsFrom returns up to limit versions of a template of any tenant, newest first:
// the version newest and those before it. It reads only these. The error wraps
// campaign.ErrNotFound if one does not exist.
func (s *ContentStore) TemplateVersionsFrom(ctx context.Context, id string, newest, limit int) ([]campaign.Template, error) {
	doing := fmt.Sprintf("read the versions of template %s from %d", id, newest)
	keys := map[string]Item{} // a query ends after 1 MB, which is fewer versions of the greatest size
	for v := newest; v > max(0, newest-limit); v-- {
		keys[strconv.Itoa(v)] = templateVersionKey(id, v)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := s.rows(ctx, doing, keys)
	if err != nil {
		return nil, err
	}
	versions := make([]campaign.Template, len(keys))
	for i := range versions {
		row := rows[strconv.Itoa(newest-i)]
		if row == nil {
			return nil, fmt.Errorf("%s: version %d: %w", doing, newest-i, campaign.ErrNotFound)
		}
		if versions[i], err = readTemplate(id, row); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

// TemplatePage returns up to limit of a tenant's templates, ordered by ID, as Templates
// does. It starts after the ID of the previous page, "" for the first page. more reports
// whether further templates follow.
func (s *ContentStore) TemplatePage(
	ctx context.Context, tenant, after string, limit int,
) (page []campaign.Template, more bool, err error) {
	in := queryOf(s.Campaigns, "pk = :pk AND sk BETWEEN :first AND :last", Item{
		// The space excludes the ID itself.
		":pk": text(templatesPrefix + tenant), ":first": text(templatePrefix + after + " "), ":last": text(templatePrefix + "~"),
	})
	in.ConsistentRead, in.Limit = aws.Bool(true), aws.Int32(int32(limit+1)) //nolint:gosec // a page's length
	out, err := s.Client.Query(ctx, in)
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
// of the operator's commands are created without the guard row.
func (s *ContentStore) CreateTemplate(
	ctx context.Context, t campaign.Template, most int, e account.AuditEntry,
) (first campaign.Template, full bool, err error) {
	t.Version, t.CreatedAt = 1, s.Now().UTC().Truncate(time.Millisecond)
	err = untilDecided(ctx, "create template "+t.ID, maxAdditions, func(try int) error {
		if first, err = s.TemplateVersion(ctx, t.ID, 1); !errors.Is(err, campaign.ErrNotFound) {
			return err
		}
		first = t
		full, err = s.createTemplate(ctx, t, most, s.auditWrite(e, try))
		return err
	})
	return first, full, err
}

// createTemplate makes one attempt. The error wraps campaign.ErrLostRace after a concurrent
// creation.
func (s *ContentStore) createTemplate(
	ctx context.Context, t campaign.Template, most int, audit types.TransactWriteItem,
) (full bool, err error) {
	guard, err := s.find(ctx, "create template "+t.ID, templateGuardKey(t.Tenant))
	if err != nil {
		return false, err
	}
	all, err := s.Templates(ctx, t.Tenant)
	if err != nil || len(all) >= most {
		return err == nil, err
	}
	items, err := s.versionItems(ctx, t)
	if err != nil {
		return false, err
	}
	addition := s.nextAddition(templateGuardKey(t.Tenant), getInt(guard, "additions"))
	return false, s.writeAll(ctx, "create template "+t.ID, append(items, addition, audit)...)
}

// AddTemplateVersion writes a version and an audit log entry if the version before is the
// current one, and returns the version. Otherwise the error wraps campaign.ErrLostRace.
func (s *ContentStore) AddTemplateVersion(
	ctx context.Context, t campaign.Template, e account.AuditEntry,
) (campaign.Template, error) {
	t.CreatedAt = s.Now().UTC().Truncate(time.Millisecond)
	doing := "add version of template " + t.ID
	return t, untilDecided(ctx, doing, maxAdditions, func(try int) error {
		items, err := s.versionItems(ctx, t)
		if err != nil {
			return final{err}
		}
		err = s.writeAll(ctx, doing, append(items, s.auditWrite(e, try))...)
		if !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
		// The condition of the audit log entry may have failed, if it has the time of another,
		// or that of a file that was deleted meanwhile.
		if current, readErr := s.Template(ctx, t.ID); readErr != nil || current.Version != t.Version-1 {
			return final{errors.Join(err, readErr)}
		}
		return err
	})
}

// ArchiveTemplate marks a template of the tenant as archived. It can be repeated.
func (s *ContentStore) ArchiveTemplate(ctx context.Context, tenant, id string) error {
	return s.tryWrite(ctx, "archive template "+id, s.put(with(archivedKey(tenant, id), Item{"at": millis(s.Now())})))
}

// RestoreTemplate removes the mark. It can be repeated.
func (s *ContentStore) RestoreTemplate(ctx context.Context, tenant, id string) error {
	return s.tryWrite(ctx, "restore template "+id, s.remove(archivedKey(tenant, id)))
}

// TemplateArchived reports whether a template of the tenant is archived.
func (s *ContentStore) TemplateArchived(ctx context.Context, tenant, id string) (bool, error) {
	row, err := s.find(ctx, "read whether template "+id+" is archived", archivedKey(tenant, id))
	return row != nil, err
}

// ArchivedTemplates returns the IDs of a tenant's archived templates.
func (s *ContentStore) ArchivedTemplates(ctx context.Context, tenant string) (map[string]bool, error) {
	archived := map[string]bool{}
	_, err := list(ctx, &s.table, templatesPrefix+tenant, archivePrefix, func(id string, _ Item) string {
		archived[id] = true
		return id
	})
	return archived, err
}

// templateRow returns the row of a template version. The newest version is also stored
// under templateKey.
func templateRow(key Item, t campaign.Template) (Item, error) {
	content, err := json.Marshal(t.Content)
	if err != nil {
		return nil, fmt.Errorf("write the content of a template: %w", err)
	}
	row := with(key, some(Item{"traffic": text(t.Traffic)}))
	return with(row, Item{
		"tenant": text(t.Tenant), "version": number(t.Version), "name": text(t.Name), "content": text(string(content)),
		"createdAt": millis(t.CreatedAt),
	}), nil
}

func readTemplate(id string, row Item) (campaign.Template, error) {
	t := campaign.Template{
		ID: id, Tenant: getText(row, "tenant"), Version: getInt(row, "version"), Name: getText(row, "name"),
		Traffic: campaign.Traffic(getText(row, "traffic")), CreatedAt: getMillis(row, "createdAt"),
	}
	if err := json.Unmarshal([]byte(getText(row, "content")), &t.Content); err != nil {
		return t, fmt.Errorf("read the content of template %s: %w", id, err)
	}
	return t, nil
}
