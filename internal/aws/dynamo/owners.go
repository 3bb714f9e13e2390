package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/retry"
)

// SaveTenant creates or replaces a tenant and makes it the owner of its agent. The error is
// a *campaign.AgentTakenError if the agent belongs to another tenant. The tenant's former
// agent stays reserved for it, as released.
func (s *CampaignStore) SaveTenant(ctx context.Context, t campaign.Tenant) error {
	return s.saveTenant(ctx, t)
}

// SaveTenantAndAgent is SaveTenant that also writes the tenant's agent, in one transaction.
func (s *CampaignStore) SaveTenantAndAgent(ctx context.Context, t campaign.Tenant, a campaign.Agent) error {
	return s.saveTenant(ctx, t, s.agentItems(a)...)
}

func (s *CampaignStore) saveTenant(ctx context.Context, t campaign.Tenant, more ...types.TransactWriteItem) error {
	for try := range maxEdits {
		if err := retry.Wait(ctx, try); err != nil {
			return fmt.Errorf("save tenant %s: %w", t.ID, err)
		}
		items, err := s.tenantItems(ctx, t)
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
func (s *CampaignStore) tenantItems(ctx context.Context, t campaign.Tenant) ([]types.TransactWriteItem, error) {
	before, err := s.Tenant(ctx, t.ID)
	created := errors.Is(err, campaign.ErrNotFound)
	if err != nil && !created {
		return nil, err
	}
	entry := directoryKey("TENANT", t.ID)
	entry["name"], entry["agentId"] = text(t.Name), text(t.AgentID)
	items := []types.TransactWriteItem{s.putTenant(t, before, created), s.put(entry)}
	if t.AgentID != "" {
		claim, err := s.assignAgent(ctx, t, before)
		if err != nil {
			return nil, err
		}
		items = append(items, claim...)
	}
	if before.AgentID != "" && before.AgentID != t.AgentID {
		giveUp, err := s.giveUp(ctx, before)
		if err != nil {
			return nil, err
		}
		items = append(items, giveUp...)
	}
	return items, nil
}

// putTenant writes the tenant if its agent is unchanged.
func (s *CampaignStore) putTenant(t, before campaign.Tenant, created bool) types.TransactWriteItem {
	if created {
		return s.putNew(tenantRow(t))
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.Campaigns, Item: tenantRow(t), ConditionExpression: aws.String("agentId = :before"),
		ExpressionAttributeValues: Item{":before": text(before.AgentID)},
	}}
}

// assignAgent returns the writes that assign its agent to the tenant, and its owner
// if no other tenant has it.
func (s *CampaignStore) assignAgent(ctx context.Context, t, before campaign.Tenant) ([]types.TransactWriteItem, error) {
	h, err := s.AgentTenants(ctx, t.AgentID)
	if err != nil {
		return nil, err
	}
	items := []types.TransactWriteItem{s.put(agentTenantKey(t.AgentID, t.ID))}
	if h.OwnedBy(t.ID) {
		return append(items, s.putOwner(h, campaign.Owner{Tenant: t.ID, Since: h.Owner.Since})), nil
	}
	others := h.Others(t.ID)
	err = h.Refuse(others, s.Now(), func(tenant string) (campaign.Use, error) { return s.usage(ctx, tenant, t.AgentID) })
	_, refused := errors.AsType[*campaign.AgentTakenError](err)
	switch {
	case refused && (before.AgentID == t.AgentID || slices.Contains(h.Tenants(s.Now()), t.ID)):
		return append(items, s.keepOwner(h)), nil // shared since before ownership was recorded
	case err != nil:
		return nil, err
	}
	for _, o := range others {
		items = append(items, s.removeAgentTenant(t.AgentID, o))
	}
	return append(items, s.putOwner(h, campaign.Owner{Tenant: t.ID, Since: s.Now()})), nil
}

// giveUp returns the writes that release the tenant's agent. First it records the agent in
// batches without one.
func (s *CampaignStore) giveUp(ctx context.Context, t campaign.Tenant) ([]types.TransactWriteItem, error) {
	err := s.eachBatch(ctx, t.ID, func(ctx context.Context, b campaign.Batch) error {
		if !b.NeedsAgent() {
			return nil
		}
		_, err := s.SetAgent(ctx, b, t.AgentID)
		return err
	})
	if err != nil {
		return nil, err
	}
	h, err := s.AgentTenants(ctx, t.AgentID)
	if err != nil {
		return nil, err
	}
	items := []types.TransactWriteItem{s.put(withValue(agentTenantKey(t.AgentID, t.ID), "givenUpAt", millis(s.Now())))}
	switch {
	case h.OwnedBy(t.ID):
		items = append(items, s.putOwner(h, campaign.Owner{Tenant: t.ID, Since: h.Owner.Since, GivenUpAt: s.Now()}))
	case h.Owner == nil && len(h.Others(t.ID)) == 0:
		items = append(items, s.putOwner(h, campaign.Owner{Tenant: t.ID, Since: s.Now(), GivenUpAt: s.Now()}))
	}
	return items, nil
}

// AgentTenants reads the tenants of an agent consistently.
func (s *CampaignStore) AgentTenants(ctx context.Context, agentID string) (campaign.AgentTenants, error) {
	h := campaign.AgentTenants{AgentID: agentID}
	row, err := s.get(ctx, ownerKey(agentID))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return h, fmt.Errorf("read the owner of agent %s: %w", agentID, err)
	}
	if err == nil {
		h.Owner = &campaign.Owner{Tenant: getText(row, "tenant"), Since: getMillis(row, "since"), GivenUpAt: getMillis(row, "givenUpAt")}
	}
	h.All, err = s.agentTenants(ctx, agentID)
	if o := h.Owner; o != nil && len(h.Others(o.Tenant)) == len(h.All) {
		h.All = append(h.All, campaign.AgentTenant{Tenant: o.Tenant, GivenUpAt: o.GivenUpAt})
	}
	return h, err
}

func (s *CampaignStore) agentTenants(ctx context.Context, agentID string) ([]campaign.AgentTenant, error) {
	return list(ctx, &s.table, "A#"+agentID, "TENANT#", func(id string, row Item) campaign.AgentTenant {
		return campaign.AgentTenant{Tenant: id, GivenUpAt: getMillis(row, "givenUpAt")}
	})
}

// TenantsOf returns the tenants that receive the replies to an agent.
func (s *CampaignStore) TenantsOf(ctx context.Context, agentID string) ([]string, error) {
	tenants, err := s.agentTenants(ctx, agentID)
	return campaign.AgentTenants{All: tenants}.Tenants(s.Now()), err
}

// AgentsOf returns the current and former agents of a tenant.
func (s *CampaignStore) AgentsOf(ctx context.Context, tenant string) ([]string, error) {
	agents, err := s.Agents(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range agents {
		tenants, err := s.agentTenants(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		if len((campaign.AgentTenants{All: tenants}).Others(tenant)) < len(tenants) {
			ids = append(ids, a.ID)
		}
	}
	return ids, nil
}

// removeAgentTenant removes a tenant of an agent if it is unchanged since it was read.
func (s *CampaignStore) removeAgentTenant(agentID string, o campaign.AgentTenant) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &s.Campaigns, Key: agentTenantKey(agentID, o.Tenant),
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR givenUpAt = :read"),
		ExpressionAttributeValues: Item{":read": millis(o.GivenUpAt)},
	}}
}

// ownerIs returns the condition that the OWNER row is unchanged.
func ownerIs(read *campaign.Owner) (condition string, values Item) {
	if read == nil {
		return "attribute_not_exists(pk)", nil
	}
	return "tenant = :tenant AND since = :since AND givenUpAt = :givenUp", Item{
		":tenant": text(read.Tenant), ":since": millis(read.Since), ":givenUp": millis(read.GivenUpAt),
	}
}

func (s *CampaignStore) putOwner(h campaign.AgentTenants, o campaign.Owner) types.TransactWriteItem {
	row := ownerKey(h.AgentID)
	row["tenant"], row["since"], row["givenUpAt"] = text(o.Tenant), millis(o.Since), millis(o.GivenUpAt)
	condition, values := ownerIs(h.Owner)
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.Campaigns, Item: row, ConditionExpression: &condition, ExpressionAttributeValues: values,
	}}
}

func (s *CampaignStore) keepOwner(h campaign.AgentTenants) types.TransactWriteItem {
	condition, values := ownerIs(h.Owner)
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &s.Campaigns, Key: ownerKey(h.AgentID), ConditionExpression: &condition, ExpressionAttributeValues: values,
	}}
}

const (
	// campaignsAPage is the number of campaigns per page.
	campaignsAPage = 100
	// campaignsAtOnce is the number of campaigns read concurrently.
	campaignsAtOnce = 8
)

// batchStates are the attributes that eachBatch reads.
var batchStates = []string{"sk", "key", "state", "agentId", "closedAt", forgetting}

// eachBatch calls visit for all batches of a tenant, concurrently. The batches contain the
// fields of batchStates.
func (s *CampaignStore) eachBatch(ctx context.Context, tenant string, visit func(ctx context.Context, b campaign.Batch) error) error {
	for after := ""; ; {
		page, err := s.ListCampaigns(ctx, tenant, after, campaignsAPage)
		if err != nil || len(page) == 0 {
			return err
		}
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(campaignsAtOnce)
		for _, listed := range page {
			group.Go(func() error { return s.eachBatchOf(groupCtx, listed.ID, visit) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		after = page[len(page)-1].Cursor
	}
}

func (s *CampaignStore) eachBatchOf(ctx context.Context, id campaign.ID, visit func(ctx context.Context, b campaign.Batch) error) error {
	c, err := s.campaign(ctx, id, batchStates, nil)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil // deleted concurrently
	}
	if err != nil {
		return err
	}
	for _, b := range c.Batches {
		if err := visit(ctx, b.Batch); err != nil {
			return err
		}
	}
	return nil
}

// usage summarizes the batches that the tenant sent with the agent.
func (s *CampaignStore) usage(ctx context.Context, tenant, agentID string) (campaign.Use, error) {
	var mu sync.Mutex
	var u campaign.Use
	err := s.eachBatch(ctx, tenant, func(ctx context.Context, b campaign.Batch) error {
		if b.AgentID != agentID {
			return nil
		}
		closed, err := s.closedAt(ctx, b)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case closed.IsZero():
			u.Open++
		case closed.After(u.ClosedAt):
			u.ClosedAt = closed
		}
		return err
	})
	return u, err
}

// closedAt returns when a batch was completed, zero if it is not. For a batch completed by
// an older version, it returns the last completion in its campaign.
func (s *CampaignStore) closedAt(ctx context.Context, b campaign.Batch) (time.Time, error) {
	if b.State != campaign.BatchCompleted || !b.ClosedAt.IsZero() {
		return b.ClosedAt, nil
	}
	progress, err := s.Progress(ctx, b.ID)
	return progress.CompletedAt, err
}
