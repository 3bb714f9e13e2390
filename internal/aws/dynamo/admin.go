package dynamo

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/retry"
)

// directory is the partition key of the rows that list tenants, agents and pauses. Without
// it, listing would need a table scan.
const directory = "DIRECTORY"

// maxEdits is the maximum number of attempts after concurrent edits.
const maxEdits = 50

func directoryKey(kind, id string) Item {
	return Item{"pk": text(directory), "sk": text(kind + "#" + id)}
}

// templateEntryKey and credentialEntryKey are the rows that list a tenant's templates and
// credentials.
func templateEntryKey(tenant, id string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text("TEMPLATE#" + id)}
}

func credentialEntryKey(tenant, clientID string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text("CREDENTIAL#" + clientID)}
}

// Tenant returns a tenant. The error wraps campaign.ErrNotFound if it does not exist.
func (s *Store) Tenant(ctx context.Context, id string) (campaign.Tenant, error) {
	row, err := s.get(ctx, tenantKey(id))
	if err != nil {
		return campaign.Tenant{}, fmt.Errorf("read tenant %s: %w", id, err)
	}
	return readTenant(id, row), nil
}

// Tenants returns all tenants, ordered by ID.
func (s *Store) Tenants(ctx context.Context) ([]campaign.Tenant, error) {
	return list(ctx, s, directory, "TENANT#", readTenant)
}

// SaveAgent creates or replaces an agent.
func (s *Store) SaveAgent(ctx context.Context, a campaign.Agent) error {
	return s.writeAll(ctx, "save agent "+a.ID, s.agentItems(a)...)
}

func (s *Store) agentItems(a campaign.Agent) []types.TransactWriteItem {
	entry := directoryKey("AGENT", a.ID)
	entry["keyParameter"], entry["rate"] = text(a.KeyParameter), number(a.Rate)
	return []types.TransactWriteItem{s.put(agentRow(a)), s.put(entry)}
}

// Agent returns an agent. The error wraps campaign.ErrNotFound if it does not exist.
func (s *Store) Agent(ctx context.Context, id string) (campaign.Agent, error) {
	row, err := s.get(ctx, agentKey(id))
	if err != nil {
		return campaign.Agent{}, fmt.Errorf("read agent %s: %w", id, err)
	}
	return readAgent(id, row), nil
}

// Agents returns all agents, ordered by ID, without webhook tokens.
func (s *Store) Agents(ctx context.Context) ([]campaign.Agent, error) {
	return list(ctx, s, directory, "AGENT#", readAgent)
}

// PutTemplate writes the template as its next version, from 1, and returns it with that
// version. Versions are immutable. Concurrent calls get different versions. The error wraps
// campaign.ErrNotFound if the template belongs to another tenant.
func (s *Store) PutTemplate(ctx context.Context, t campaign.Template) (campaign.Template, error) {
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
		t.Version, t.CreatedAt = current.Version+1, s.Now().UTC().Truncate(time.Millisecond)
		if err := s.putVersion(ctx, t); !errors.Is(err, campaign.ErrLostRace) {
			return t, err
		}
	}
	return t, fmt.Errorf("put template %s: %w", t.ID, campaign.ErrLostRace)
}

// putVersion writes the version after the current one. The error wraps campaign.ErrLostRace
// if a concurrent call wrote it.
func (s *Store) putVersion(ctx context.Context, t campaign.Template) error {
	version, err := templateRow(templateVersionKey(t.ID, t.Version), t)
	if err != nil {
		return err
	}
	current, err := templateRow(templateKey(t.ID), t)
	if err != nil {
		return err
	}
	entry := templateEntryKey(t.Tenant, t.ID)
	entry["name"], entry["version"], entry["createdAt"] = text(t.Name), number(t.Version), millis(t.CreatedAt)
	if t.Card != nil {
		entry["card"] = boolean(true)
	}
	return s.writeAll(ctx, "put template "+t.ID, s.putNew(version), s.putAfter(current, t), s.put(entry))
}

// putAfter replaces the current version if it is the predecessor of t.
func (s *Store) putAfter(row Item, t campaign.Template) types.TransactWriteItem {
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
func (s *Store) Template(ctx context.Context, id string) (campaign.Template, error) {
	row, err := s.get(ctx, templateKey(id))
	if err != nil {
		return campaign.Template{}, fmt.Errorf("read template %s: %w", id, err)
	}
	return readTemplate(id, row)
}

// Templates returns the IDs, names and current versions of a tenant's templates, ordered by
// ID. Their contents are omitted; Card is empty.
func (s *Store) Templates(ctx context.Context, tenant string) ([]campaign.Template, error) {
	return list(ctx, s, "TEN#"+tenant, "TEMPLATE#", func(id string, row Item) campaign.Template {
		t := campaign.Template{
			ID: id, Tenant: tenant, Name: getText(row, "name"), Version: int(getNumber(row, "version")), CreatedAt: getMillis(row, "createdAt"),
		}
		if getBool(row, "card") {
			t.Card = &campaign.Card{}
		}
		return t
	})
}

// TemplateVersions returns all versions of a template of any tenant, newest first.
func (s *Store) TemplateVersions(ctx context.Context, id string) ([]campaign.Template, error) {
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

// CreateCredential writes a new credential and its list entry. The error wraps
// campaign.ErrLostRace if the client ID exists.
func (s *Store) CreateCredential(ctx context.Context, c campaign.Credential) error {
	row := s.putNew(credentialRow(c))
	row.Put.TableName = &s.Auth
	entry := s.put(withValue(credentialEntryKey(c.Tenant, c.ClientID), "name", text(c.Name)))
	return s.writeAll(ctx, "create credential "+c.ClientID, row, entry)
}

// RotateCredential replaces the secret of a valid credential. The previous secret stays
// valid until previousUntil. If that is zero, the previous secret and all refresh tokens
// become invalid at once. The error wraps campaign.ErrNotFound if there is no valid
// credential.
func (s *Store) RotateCredential(ctx context.Context, clientID string, secretHash []byte, previousUntil time.Time) error {
	update := "SET previousSecretHash = secretHash, previousUntil = :until, secretHash = :new"
	values := Item{":new": bytesOf(secretHash), ":until": millis(previousUntil)}
	if previousUntil.IsZero() {
		update = "SET secretHash = :new REMOVE previousSecretHash, previousUntil ADD refreshGeneration :one"
		values = Item{":new": bytesOf(secretHash), ":one": number(1)}
	}
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Auth, Key: credentialKey(clientID), UpdateExpression: &update,
		ConditionExpression:                 aws.String("attribute_exists(pk) AND attribute_not_exists(revokedAt) AND secretHash <> :new"),
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		// The SDK repeats updates without a response: the first one succeeded.
		if bytes.Equal(getBinary(refused.Item, "secretHash"), secretHash) {
			return nil
		}
		err = campaign.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("rotate credential %s: %w", clientID, err)
	}
	return nil
}

// Pause stops sending for a subject: "all", "tenant#id" or "agent#id". It can be repeated.
func (s *Store) Pause(ctx context.Context, subject string) error {
	since := millis(s.Now())
	return s.writeAll(ctx, "pause "+subject,
		s.put(withValue(pauseKey(subject), "since", since)),
		s.put(withValue(directoryKey("PAUSE", subject), "since", since)))
}

// Resume ends a pause. It can be repeated.
func (s *Store) Resume(ctx context.Context, subject string) error {
	return s.writeAll(ctx, "resume "+subject, s.remove(pauseKey(subject)), s.remove(directoryKey("PAUSE", subject)))
}

// Pauses returns the paused subjects with the start of each pause.
func (s *Store) Pauses(ctx context.Context) (map[string]time.Time, error) {
	pauses := map[string]time.Time{}
	_, err := list(ctx, s, directory, "PAUSE#", func(subject string, row Item) string {
		pauses[subject] = getMillis(row, "since")
		return subject
	})
	return pauses, err
}

// list reads the rows of a partition whose sort keys have the prefix. It passes each row
// and the rest of its sort key to read.
func list[T any](ctx context.Context, s *Store, pk, prefix string, read func(id string, row Item) T) ([]T, error) {
	rows, err := s.query(ctx, "pk = :pk AND begins_with(sk, :prefix)", Item{":pk": text(pk), ":prefix": text(prefix)})
	if err != nil {
		return nil, fmt.Errorf("list the rows %s*: %w", prefix, err)
	}
	found := make([]T, 0, len(rows))
	for _, row := range rows {
		found = append(found, read(strings.TrimPrefix(getText(row, "sk"), prefix), row))
	}
	return found, nil
}

// writeAll commits the items in one transaction. The error wraps campaign.ErrLostRace if a
// condition failed.
func (s *Store) writeAll(ctx context.Context, doing string, items ...types.TransactWriteItem) error {
	reasons, err := s.transact(ctx, items, rand.Text())
	if err == nil && len(reasons) > 0 {
		err = campaign.ErrLostRace
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (s *Store) put(row Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{TableName: &s.Campaigns, Item: row}}
}

func (s *Store) remove(key Item) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &s.Campaigns, Key: key}}
}
