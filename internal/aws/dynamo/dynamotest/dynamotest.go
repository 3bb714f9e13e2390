// Package dynamotest has all stores in one, for tests that write and read rows of several.
package dynamotest

import (
	"context"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
)

// Store has the methods of all stores.
type Store struct {
	*dynamo.Stores

	tables dynamo.Tables
}

// New returns the Store of the tables.
func New(tables dynamo.Tables) *Store { return &Store{dynamo.New(tables), tables} }

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
