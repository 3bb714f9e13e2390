package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// Tenant returns a tenant. The error wraps campaign.ErrNotFound if it does not exist.
func (s *TenantStore) Tenant(ctx context.Context, id string) (campaign.Tenant, error) {
	row, err := s.get(ctx, "read tenant "+id, tenantKey(id))
	return readTenant(id, row), err
}

// Tenants returns all tenants, ordered by ID.
func (s *TenantStore) Tenants(ctx context.Context) ([]campaign.Tenant, error) {
	return list(ctx, &s.table, listPK, tenantEntry, readTenant)
}

// SaveAgent creates or replaces an agent.
func (s *TenantStore) SaveAgent(ctx context.Context, a campaign.Agent) error {
	return s.writeAll(ctx, "save agent "+a.ID, s.agentItems(a)...)
}

func (s *TenantStore) agentItems(a campaign.Agent) []types.TransactWriteItem {
	entry := with(Item{"keyParameter": text(a.KeyParameter), "rate": number(a.Rate)}, some(Item{"removedAt": millis(a.RemovedAt)}))
	row := with(agentKey(a.ID), Item{"webhookToken": text(a.WebhookToken)})
	return []types.TransactWriteItem{s.put(with(row, entry)), s.put(with(directoryKey(agentEntry, a.ID), entry))}
}

// Agent returns an agent. The error wraps campaign.ErrNotFound if it does not exist.
func (s *TenantStore) Agent(ctx context.Context, id string) (campaign.Agent, error) {
	row, err := s.get(ctx, "read agent "+id, agentKey(id))
	return readAgent(id, row), err
}

// Agents returns all agents, ordered by ID, without webhook tokens.
func (s *TenantStore) Agents(ctx context.Context) ([]campaign.Agent, error) {
	return list(ctx, &s.table, listPK, agentEntry, readAgent)
}

// Pause stops sending for a subject: "all", "tenant#id" or "agent#id". It can be repeated.
func (s *TenantStore) Pause(ctx context.Context, subject string) error {
	since := Item{"since": millis(s.Now())}
	return s.writeAll(ctx, "pause "+subject, s.put(with(pauseKey(subject), since)), s.put(with(directoryKey(pauseEntry, subject), since)))
}

// Resume ends a pause, and records its end for Resumed. It can be repeated.
func (s *TenantStore) Resume(ctx context.Context, subject string) error {
	return s.writeAll(ctx, "resume "+subject,
		s.remove(pauseKey(subject)), s.remove(directoryKey(pauseEntry, subject)), s.resumed(subject))
}

// Pauses returns the paused subjects with the start of each pause.
func (s *TenantStore) Pauses(ctx context.Context) (map[string]time.Time, error) {
	pauses := map[string]time.Time{}
	_, err := list(ctx, &s.table, listPK, pauseEntry, func(subject string, row Item) string {
		pauses[subject] = getMillis(row, "since")
		return subject
	})
	return pauses, err
}

func tenantRow(t campaign.Tenant) Item {
	return with(tenantKey(t.ID), Item{"name": text(t.Name), "agentId": text(t.AgentID)})
}

func readTenant(id string, row Item) campaign.Tenant {
	return campaign.Tenant{ID: id, Name: getText(row, "name"), AgentID: getText(row, "agentId")}
}

func readAgent(id string, row Item) campaign.Agent {
	return campaign.Agent{
		ID: id, KeyParameter: getText(row, "keyParameter"), WebhookToken: getText(row, "webhookToken"), Rate: getInt(row, "rate"),
		RemovedAt: getMillis(row, "removedAt"),
	}
}
