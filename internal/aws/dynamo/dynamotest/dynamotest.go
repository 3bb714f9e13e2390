// Package dynamotest has all stores in one, for tests that write and read rows of several.
package dynamotest

import (
	"context"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
)

// Store has the methods of all stores but dynamo.TapLogStore, whose names are those of
// dynamo.LedgerStore.
type Store struct {
	tables dynamo.Tables

	*dynamo.AcceptanceStore
	*dynamo.AttentionStore
	*dynamo.AuditStore
	*dynamo.BatchStore
	*dynamo.BudgetStore
	*dynamo.CampaignStore
	*dynamo.CircuitStore
	*dynamo.DayStore
	*dynamo.DeliveryStore
	*dynamo.EndpointStore
	*dynamo.ErasureStore
	*dynamo.ExportStore
	*dynamo.FailureStore
	*dynamo.KeptPostStore
	*dynamo.LaneStore
	*dynamo.LedgerStore
	*dynamo.ListStore
	*dynamo.MediaStore
	*dynamo.MoveStore
	*dynamo.OptOutStore
	*dynamo.ReplyStore
	*dynamo.SettingStore
	*dynamo.SubmissionStore
	*dynamo.TapStore
	*dynamo.TemplateStore
	*dynamo.TenantStore
}

// New returns the Store of the tables.
func New(tables dynamo.Tables) *Store {
	s := dynamo.New(tables)
	return &Store{
		tables:          tables,
		AcceptanceStore: s.Acceptance,
		AttentionStore:  s.Attention,
		AuditStore:      s.AuditLogs,
		BatchStore:      s.Batches,
		BudgetStore:     s.Budgets,
		CampaignStore:   s.Campaigns,
		CircuitStore:    s.Circuits,
		DayStore:        s.Days,
		DeliveryStore:   s.Deliveries,
		EndpointStore:   s.Endpoints,
		ErasureStore:    s.Erasure,
		ExportStore:     s.Exports,
		FailureStore:    s.Failures,
		KeptPostStore:   s.KeptPosts,
		LaneStore:       s.Lanes,
		LedgerStore:     s.Ledgers,
		ListStore:       s.Lists,
		MediaStore:      s.Media,
		MoveStore:       s.Moves,
		OptOutStore:     s.OptOuts,
		ReplyStore:      s.Replies,
		SettingStore:    s.Settings,
		SubmissionStore: s.Submissions,
		TapStore:        s.Taps,
		TemplateStore:   s.Templates,
		TenantStore:     s.Tenants,
	}
}

// Tables returns the tables of all stores.
func (s *Store) Tables() dynamo.Tables { return s.tables }

// Set changes the tables of all stores. A copy of a Store changes without its original.
func (s *Store) Set(change func(tables *dynamo.Tables)) {
	tables := s.tables
	change(&tables)
	*s = *New(tables)
}

// SetBilling replaces the prices and limits of a tenant, whatever they are.
func (s *Store) SetBilling(ctx context.Context, tenant string, b campaign.Billing) error {
	was, err := s.Billing(ctx, tenant)
	if err != nil {
		return err
	}
	return s.SaveBilling(ctx, tenant, was, b)
}
