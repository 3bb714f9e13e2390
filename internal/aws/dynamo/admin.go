package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// listPK is the partition key of the rows that list tenants, agents and pauses. Without
// it, listing would need a table scan.
const listPK = "DIRECTORY"

// maxEdits is the maximum number of attempts after concurrent edits.
const maxEdits = 50

func directoryKey(kind, id string) Item {
	return Item{"pk": text(listPK), "sk": text(kind + "#" + id)}
}

// entryKey is the row that lists a tenant's template or credential. prefix is templatePrefix
// or CREDENTIAL#.
func entryKey(tenant, prefix, id string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text(prefix + id)}
}

const templatePrefix = "TEMPLATE#"

// Tenant returns a tenant. The error wraps campaign.ErrNotFound if it does not exist.
func (s *TenantStore) Tenant(ctx context.Context, id string) (campaign.Tenant, error) {
	row, err := s.get(ctx, tenantKey(id))
	if err != nil {
		return campaign.Tenant{}, fmt.Errorf("read tenant %s: %w", id, err)
	}
	return readTenant(id, row), nil
}

// Tenants returns all tenants, ordered by ID.
func (s *TenantStore) Tenants(ctx context.Context) ([]campaign.Tenant, error) {
	return list(ctx, &s.table, listPK, "TENANT#", readTenant)
}

// SaveAgent creates or replaces an agent.
func (s *TenantStore) SaveAgent(ctx context.Context, a campaign.Agent) error {
	return s.writeAll(ctx, "save agent "+a.ID, s.agentItems(a)...)
}

func (s *TenantStore) agentItems(a campaign.Agent) []types.TransactWriteItem {
	entry := directoryKey("AGENT", a.ID)
	entry["keyParameter"], entry["rate"] = text(a.KeyParameter), number(a.Rate)
	return []types.TransactWriteItem{s.put(agentRow(a)), s.put(entry)}
}

// Agent returns an agent. The error wraps campaign.ErrNotFound if it does not exist.
func (s *TenantStore) Agent(ctx context.Context, id string) (campaign.Agent, error) {
	row, err := s.get(ctx, agentKey(id))
	if err != nil {
		return campaign.Agent{}, fmt.Errorf("read agent %s: %w", id, err)
	}
	return readAgent(id, row), nil
}

// Agents returns all agents, ordered by ID, without webhook tokens.
func (s *TenantStore) Agents(ctx context.Context) ([]campaign.Agent, error) {
	return list(ctx, &s.table, listPK, "AGENT#", readAgent)
}

// PutTemplate writes the template as its next version, from 1, and returns it with that
// version. Versions are immutable. Concurrent calls get different versions. The error wraps
// campaign.ErrNotFound if the template belongs to another tenant, and campaign.ErrNoMedia if
// it shows an uploaded file that its tenant does not have.
func (s *TemplateStore) PutTemplate(ctx context.Context, t campaign.Template) (campaign.Template, error) {
	return s.putTemplate(ctx, t, 0)
}

// PutTemplateVersion is PutTemplate for the version of t. The error wraps
// campaign.ErrLostRace if another version is next.
func (s *TemplateStore) PutTemplateVersion(ctx context.Context, t campaign.Template) (campaign.Template, error) {
	return s.putTemplate(ctx, t, t.Version)
}

// putTemplate writes the next version, which must be the wanted one unless that is 0.
func (s *TemplateStore) putTemplate(ctx context.Context, t campaign.Template, wanted int) (campaign.Template, error) {
	for try := range maxEdits {
		if err := retry.Wait(ctx, try); err != nil {
			return t, fmt.Errorf("put template %s: %w", t.ID, err)
		}
		current, err := s.Template(ctx, t.ID)
		if err != nil && !errors.Is(err, campaign.ErrNotFound) {
			return t, err
		}
		if err == nil && current.Tenant != t.Tenant {
			return t, fmt.Errorf("put template %s: belongs to another tenant: %w", t.ID, campaign.ErrNotFound)
		}
		if wanted > 0 && wanted != current.Version+1 {
			break
		}
		t.Version, t.CreatedAt = current.Version+1, s.Now().UTC().Truncate(time.Millisecond)
		if err := s.putVersion(ctx, t); !errors.Is(err, campaign.ErrLostRace) {
			return t, err
		}
	}
	return t, fmt.Errorf("put template %s: %w", t.ID, campaign.ErrLostRace)
}

// putVersion writes the version after the current one. The error wraps campaign.ErrLostRace
// if a concurrent call wrote it, or deleted one of the media.
func (s *TemplateStore) putVersion(ctx context.Context, t campaign.Template) error {
	items, err := s.versionItems(ctx, t)
	if err != nil {
		return err
	}
	return s.writeAll(ctx, "put template "+t.ID, items...)
}

// versionItems write a version, if its predecessor is the current one and the uploaded files
// that it shows exist. The error wraps campaign.ErrNoMedia if they do not exist now.
func (s *TemplateStore) versionItems(ctx context.Context, t campaign.Template) ([]types.TransactWriteItem, error) {
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
	entry := entryKey(t.Tenant, templatePrefix, t.ID)
	entry["name"], entry["version"], entry["createdAt"] = text(t.Name), number(t.Version), millis(t.CreatedAt)
	switch {
	case t.Card != nil:
		entry["card"] = boolean(true)
	case t.Carousel != nil:
		entry["carousel"] = boolean(true)
	case t.File != nil:
		entry["file"] = boolean(true)
	}
	items := []types.TransactWriteItem{s.putNew(version), s.putAfter(current, t), s.put(entry)}
	for _, key := range media {
		items = append(items, s.requireMedia(key))
	}
	return items, nil
}

// putAfter replaces the current version if it is the predecessor of t.
func (s *TemplateStore) putAfter(row Item, t campaign.Template) types.TransactWriteItem {
	if t.Version == 1 {
		return s.putNew(row)
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("version = :read AND tenant = :tenant"),
		ExpressionAttributeValues: Item{":read": number(t.Version - 1), ":tenant": text(t.Tenant)},
	}}
}

// Template returns the current version of a template of any tenant. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *TemplateStore) Template(ctx context.Context, id string) (campaign.Template, error) {
	row, err := s.get(ctx, templateKey(id))
	if err != nil {
		return campaign.Template{}, fmt.Errorf("read template %s: %w", id, err)
	}
	return readTemplate(id, row)
}

// Templates returns the IDs, names and current versions of a tenant's templates, ordered by
// ID. Their contents are omitted; Card, Carousel and File are empty.
func (s *TemplateStore) Templates(ctx context.Context, tenant string) ([]campaign.Template, error) {
	return list(ctx, &s.table, "TEN#"+tenant, templatePrefix, func(id string, row Item) campaign.Template {
		return readTemplateEntry(tenant, id, row)
	})
}

func readTemplateEntry(tenant, id string, row Item) campaign.Template {
	t := campaign.Template{
		ID: id, Tenant: tenant, Name: getText(row, "name"), Version: int(getNumber(row, "version")), CreatedAt: getMillis(row, "createdAt"),
	}
	switch {
	case getBool(row, "card"):
		t.Card = &content.Card{}
	case getBool(row, "carousel"):
		t.Carousel = &content.Carousel{}
	case getBool(row, "file"):
		t.File = &content.File{}
	}
	return t
}

// TemplateVersions returns all versions of a template of any tenant, newest first.
func (s *TemplateStore) TemplateVersions(ctx context.Context, id string) ([]campaign.Template, error) {
	rows, err := s.query(ctx, "pk = :pk AND begins_with(sk, :prefix)", Item{":pk": templateKey(id)["pk"], ":prefix": text("V#")})
	if err != nil {
		return nil, fmt.Errorf("read the versions of template %s: %w", id, err)
	}
	versions := make([]campaign.Template, 0, len(rows))
	for _, row := range rows {
		t, err := readTemplate(id, row)
		if err != nil {
			return nil, err
		}
		versions = append(versions, t)
	}
	slices.Reverse(versions)
	return versions, nil
}

// Pause stops sending for a subject: "all", "tenant#id" or "agent#id". It can be repeated.
func (s *TenantStore) Pause(ctx context.Context, subject string) error {
	since := millis(s.Now())
	return s.writeAll(ctx, "pause "+subject,
		s.put(withValue(pauseKey(subject), "since", since)),
		s.put(withValue(directoryKey("PAUSE", subject), "since", since)))
}

// Resume ends a pause. It can be repeated.
func (s *TenantStore) Resume(ctx context.Context, subject string) error {
	return s.writeAll(ctx, "resume "+subject, s.remove(pauseKey(subject)), s.remove(directoryKey("PAUSE", subject)))
}

// Pauses returns the paused subjects with the start of each pause.
func (s *TenantStore) Pauses(ctx context.Context) (map[string]time.Time, error) {
	pauses := map[string]time.Time{}
	_, err := list(ctx, &s.table, listPK, "PAUSE#", func(subject string, row Item) string {
		pauses[subject] = getMillis(row, "since")
		return subject
	})
	return pauses, err
}
