// Package settingsstore joins stores of package dynamo for package settings. It is a package of its own, so that
// only the dashboard and the operator's commands link them.
package settingsstore

import (
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/settings"
)

type tenants struct {
	*dynamo.BudgetStore
	*dynamo.CampaignStore
	*dynamo.TenantStore
}

type endpoints struct {
	*dynamo.CircuitStore
	*dynamo.EndpointStore
}

type deliveries struct {
	*dynamo.DeliveryStore
	*dynamo.FailureStore
}

// New returns the store of package settings.
func New(s *dynamo.Stores) settings.Store {
	return settings.Store{
		Tenants:    tenants{s.Budgets, s.Campaigns, s.Tenants},
		Templates:  s.Templates,
		Endpoints:  endpoints{s.Circuits, s.Endpoints},
		Deliveries: deliveries{s.Deliveries, s.Failures},
	}
}
