// Package adminstore joins stores of package dynamo for package admin. It is a package of its
// own, so that only functions with the operator's commands link them.
package settingsstore

import (
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/settings"
)

// tenants has the tenants of package admin.
type tenants struct {
	*dynamo.BudgetStore
	*dynamo.CampaignStore
	*dynamo.TenantStore
}

// endpoints has the endpoints of package admin.
type endpoints struct {
	*dynamo.CircuitStore
	*dynamo.EndpointStore
}

// deliveries has the deliveries of package admin.
type deliveries struct {
	*dynamo.DeliveryStore
	*dynamo.FailureStore
}

// New returns the store of package admin.
func New(s *dynamo.Stores) settings.Store {
	return settings.Store{
		Tenants:    tenants{s.Budgets, s.Campaigns, s.Tenants},
		Templates:  s.Templates,
		Endpoints:  endpoints{s.Circuits, s.Endpoints},
		Deliveries: deliveries{s.Deliveries, s.Failures},
	}
}
