package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

// SaveTenant creates or replaces a tenant and makes it the owner of its agent. The error is
// a *campaign.AgentTakenError if the agent belongs to another tenant. The tenant's former
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
	for try := range maxEdits {
		if err := retry.Wait(ctx, try); err != nil {
			return fmt.Errorf("save tenant %s: %w", t.ID, err)
		}
		items, err := s.tenantItems(ctx, t, use)
		if err != nil {
			return err
		}
		if err := s.writeAll(ctx, "save tenant "+t.ID, append(items, more...)...); !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
	return fmt.Errorf("save tenant %s: %w", t.ID, campaign.ErrLostRace)
}

// tenantItems returns the writes of a tenant, conditional on the rows read here.
func (s *TenantStore) tenantItems(ctx context.Context, t campaign.Tenant, use account.AgentUse) ([]types.TransactWriteItem, error) {
	before, err := s.Tenant(ctx, t.ID)
	created := errors.Is(err, campaign.ErrNotFound)
	if err != nil && !created {
		return nil, err
	}
	entry := directoryKey("TENANT", t.ID)
	entry["name"], entry["agentId"] = text(t.Name), text(t.AgentID)
	items := []types.TransactWriteItem{s.putTenant(t, before, created), s.put(entry)}
	if t.AgentID != "" {
		claim, err := s.assignAgent(ctx, t, use)
		if err != nil {
			return nil, err
		}
		items = append(items, claim)
	}
	if before.AgentID != "" && before.AgentID != t.AgentID {
		giveUp, err := s.giveUp(ctx, before)
		if err != nil {
			return nil, err
		}
		items = append(items, giveUp)
	}
	return items, nil
}

// putTenant writes the tenant if its agent is unchanged.
func (s *TenantStore) putTenant(t, before campaign.Tenant, created bool) types.TransactWriteItem {
	if created {
		return s.putNew(tenantRow(t))
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.Campaigns, Item: tenantRow(t), ConditionExpression: aws.String("agentId = :before"),
		ExpressionAttributeValues: Item{":before": text(before.AgentID)},
	}}
}

// assignAgent returns the write that makes the tenant the owner of its agent.
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

// giveUp returns the write that releases the tenant's agent.
func (s *TenantStore) giveUp(ctx context.Context, t campaign.Tenant) (types.TransactWriteItem, error) {
	o, err := s.Owner(ctx, t.AgentID)
	if err == nil && o.Tenant != t.ID {
		err = fmt.Errorf("release agent %s: %w", t.AgentID, campaign.ErrLostRace)
	}
	released := o
	released.GivenUpAt = s.Now()
	return s.replaceOwner(o, released), err
}

// Owner reads the owner of an agent consistently.
func (s *TenantStore) Owner(ctx context.Context, agentID string) (account.Owner, error) {
	row, err := s.get(ctx, ownerKey(agentID))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return account.Owner{}, fmt.Errorf("read the owner of agent %s: %w", agentID, err)
	}
	return account.Owner{
		AgentID: agentID, Tenant: getText(row, "tenant"), Since: getMillis(row, "since"), GivenUpAt: getMillis(row, "givenUpAt"),
	}, nil
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
	var ids []string
	for _, a := range agents {
		o, err := s.Owner(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		if o.Tenant == tenant {
			ids = append(ids, a.ID)
		}
	}
	return ids, nil
}

// replaceOwner writes the owner of an agent if it is unchanged since it was read.
func (s *TenantStore) replaceOwner(read, o account.Owner) types.TransactWriteItem {
	row := ownerKey(o.AgentID)
	row["tenant"], row["since"], row["givenUpAt"] = text(o.Tenant), millis(o.Since), millis(o.GivenUpAt)
	put := &types.Put{TableName: &s.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if read.Tenant != "" {
		put.ConditionExpression = aws.String("tenant = :tenant AND since = :since AND givenUpAt = :givenUp")
		put.ExpressionAttributeValues = Item{":tenant": text(read.Tenant), ":since": millis(read.Since), ":givenUp": millis(read.GivenUpAt)}
	}
	return types.TransactWriteItem{Put: put}
}
