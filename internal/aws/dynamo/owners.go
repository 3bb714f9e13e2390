package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
)

// SaveTenant creates or replaces a tenant and makes it the owner of its agent. The error is
// an *account.AgentTakenError if the agent belongs to another tenant. The tenant's former
// agent stays reserved for it, as released. use is called only for an agent that another
// tenant released.
func (s *TenantStore) SaveTenant(ctx context.Context, t campaign.Tenant, use account.AgentUse) error {
	return s.saveTenant(ctx, t, use)
}

// SaveTenantAndAgent is SaveTenant that also writes the tenant's agent, in one transaction.
func (s *TenantStore) SaveTenantAndAgent(ctx context.Context, t campaign.Tenant, a campaign.Agent, use account.AgentUse) error {
	return s.saveTenant(ctx, t, use, s.agentItems(a)...)
}

func (s *TenantStore) saveTenant(ctx context.Context, t campaign.Tenant, use account.AgentUse, more ...types.TransactWriteItem) error {
	doing := "save tenant " + t.ID
	return untilDecided(ctx, doing, maxEdits, func(int) error {
		items, err := s.tenantItems(ctx, t, use)
		if err != nil {
			return err
		}
		return s.writeAll(ctx, doing, append(items, more...)...)
	})
}

// tenantItems returns the writes of a tenant, conditional on the rows read here.
func (s *TenantStore) tenantItems(ctx context.Context, t campaign.Tenant, use account.AgentUse) ([]types.TransactWriteItem, error) {
	before, err := s.Tenant(ctx, t.ID)
	created := errors.Is(err, campaign.ErrNotFound)
	if err != nil && !created {
		return nil, err
	}
	entry := with(directoryKey(tenantEntry, t.ID), Item{"name": text(t.Name), "agentId": text(t.AgentID)})
	items := []types.TransactWriteItem{s.putTenant(t, before, created), s.put(entry)}
	if t.AgentID != "" {
		claim, err := s.assignAgent(ctx, t, use)
		if err != nil {
			return nil, err
		}
		items = append(items, claim)
	}
	if before.AgentID != "" && before.AgentID != t.AgentID {
		release, err := s.release(ctx, before)
		if err != nil {
			return nil, err
		}
		items = append(items, release)
	}
	return items, nil
}

// putTenant writes the tenant if its agent is unchanged.
func (s *TenantStore) putTenant(t, before campaign.Tenant, created bool) types.TransactWriteItem {
	if created {
		return s.putNew(tenantRow(t))
	}
	return s.putIf(tenantRow(t), "agentId = :before", Item{":before": text(before.AgentID)})
}

func (s *TenantStore) assignAgent(ctx context.Context, t campaign.Tenant, use account.AgentUse) (types.TransactWriteItem, error) {
	o, err := s.Owner(ctx, t.AgentID)
	if err == nil {
		err = o.Refuse(t.ID, s.Now(), func(tenant string) (account.Use, error) { return use(ctx, tenant, t.AgentID) })
	}
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	since := s.Now()
	if o.Tenant == t.ID {
		since = o.Since
	}
	return s.replaceOwner(o, account.Owner{AgentID: t.AgentID, Tenant: t.ID, Since: since}), nil
}

func (s *TenantStore) release(ctx context.Context, t campaign.Tenant) (types.TransactWriteItem, error) {
	o, err := s.Owner(ctx, t.AgentID)
	if err == nil && o.Tenant != t.ID {
		err = fmt.Errorf("release agent %s: %w", t.AgentID, campaign.ErrLostRace)
	}
	released := o
	released.ReleasedAt = s.Now()
	return s.replaceOwner(o, released), err
}

// Owner reads the owner of an agent consistently.
func (s *TenantStore) Owner(ctx context.Context, agentID string) (account.Owner, error) {
	row, err := s.find(ctx, "read the owner of agent "+agentID, ownerKey(agentID))
	return readOwner(agentID, row), err
}

func ownerFields(o *account.Owner) fields {
	return fields{"tenant": &o.Tenant, "since": &o.Since, "releasedAt": &o.ReleasedAt}
}

func readOwner(agentID string, row Item) account.Owner {
	return fill(account.Owner{AgentID: agentID}, ownerFields, row)
}

// Owners reads the owners of agents consistently, by the ID of the agent.
func (s *TenantStore) Owners(ctx context.Context, agents []campaign.Agent) (map[string]account.Owner, error) {
	keys := map[string]Item{}
	for _, a := range agents {
		keys[a.ID] = ownerKey(a.ID)
	}
	rows, err := s.rows(ctx, "read the owners of agents", keys)
	owners := map[string]account.Owner{}
	for _, a := range agents {
		owners[a.ID] = readOwner(a.ID, rows[a.ID])
	}
	return owners, err
}

// TenantOf returns the tenant that receives the replies to an agent: its owner, also after it
// released the agent. It is "" for an unused agent.
func (s *TenantStore) TenantOf(ctx context.Context, agentID string) (string, error) {
	o, err := s.Owner(ctx, agentID)
	return o.Tenant, err
}

// AgentsOf returns the current and former agents of a tenant.
func (s *TenantStore) AgentsOf(ctx context.Context, tenant string) ([]string, error) {
	agents, err := s.Agents(ctx)
	if err != nil {
		return nil, err
	}
	owners, err := s.Owners(ctx, agents)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range agents {
		if owners[a.ID].Tenant == tenant {
			ids = append(ids, a.ID)
		}
	}
	return ids, nil
}

// RemoveAgent sets when an agent was removed. The error wraps campaign.ErrLostRace if its owner is not
// the one that was read.
func (s *TenantStore) RemoveAgent(ctx context.Context, read account.Owner, at time.Time) error {
	owner := s.check(ownerKey(read.AgentID), absent, nil)
	if read.Tenant != "" {
		owner = s.replaceOwner(read, read)
	}
	const update = "SET removedAt = :at"
	return s.writeAll(ctx, "remove agent "+read.AgentID, owner,
		s.update(agentKey(read.AgentID), update, present, Item{":at": millis(at)}),
		s.update(directoryKey(agentEntry, read.AgentID), update, present, Item{":at": millis(at)}))
}

// replaceOwner writes the owner of an agent if it is unchanged since it was read.
func (s *TenantStore) replaceOwner(read, o account.Owner) types.TransactWriteItem {
	row := with(ownerKey(o.AgentID), ownerFields(&o).item())
	if read.Tenant == "" {
		return s.putNew(row)
	}
	return s.putIf(row, "tenant = :tenant AND since = :since AND releasedAt = :released",
		Item{":tenant": text(read.Tenant), ":since": millis(read.Since), ":released": millis(read.ReleasedAt)})
}
