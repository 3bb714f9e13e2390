package dynamo

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
	"campaign-dispatch/internal/webhook/delivery"
)

// Attention reads what can need a tenant's attention on a date, and its endpoints, with three
// calls.
func (s *AttentionStore) Attention(ctx context.Context, tenant, date string) (account.Attention, []delivery.WatchedEndpoint, error) {
	var a account.Attention
	var watched []delivery.WatchedEndpoint
	var rows map[string]Item
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { rows, err = s.campaignRows(reading, attentionKeys(tenant, date)); return err })
	group.Go(func() (err error) { watched, err = s.watchedEndpoints(reading, tenant); return err })
	if err := group.Wait(); err != nil {
		return a, nil, fmt.Errorf("read the state of tenant %s: %w", tenant, err)
	}
	a.Brand = readBrand(rows["tenant"], rows["brand"])
	a.Limits = readBilling(rows["billing"]).Limits
	a.Used = readSpending(rows["budget"], date)
	err := s.addSwitches(ctx, tenant, getText(rows["tenant"], "agentId"), &a, watched)
	return a, watched, err
}

func attentionKeys(tenant, date string) map[string]Item {
	return map[string]Item{
		"tenant": tenantKey(tenant), "brand": brandKey(tenant), "billing": billingKey(tenant),
		"budget": budgetKey(tenant, campaign.MonthOf(date)),
	}
}

func (s *AttentionStore) watchedEndpoints(ctx context.Context, tenant string) ([]delivery.WatchedEndpoint, error) {
	endpoints, err := (&EndpointStore{s.table}).Endpoints(ctx, tenant)
	watched := make([]delivery.WatchedEndpoint, len(endpoints))
	for i, e := range endpoints {
		watched[i].Endpoint = e
	}
	return watched, err
}

// addSwitches adds what pauses the tenant, and the circuits of its endpoints.
func (s *AttentionStore) addSwitches(ctx context.Context, tenant, agentID string, a *account.Attention, watched []delivery.WatchedEndpoint) error {
	keys := channelKeys(tenant, agentID)
	for _, e := range watched {
		keys["circuit "+e.ID] = circuitKey(tenant, e.ID)
	}
	rows, err := s.campaignRows(ctx, keys)
	if err != nil {
		return fmt.Errorf("read what stops tenant %s: %w", tenant, err)
	}
	a.Pause = readRoute(agentID, rows).Pause
	for i, e := range watched {
		watched[i].Circuit = readCircuit(tenant, e.ID, rows["circuit "+e.ID])
	}
	return nil
}
