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
	*dynamo.TemplateStore
	*dynamo.TenantStore
}

type webhooks struct {
	*dynamo.CircuitStore
	*dynamo.DeliveryStore
	*dynamo.EndpointStore
	*dynamo.FailureStore
	*dynamo.KeptPostStore
}

// New returns the store of package settings.
func New(s *dynamo.Stores) settings.Store {
	return settings.Store{
		Tenants:  tenants{s.Budgets, s.Campaigns, s.Templates, s.Tenants},
		Webhooks: webhooks{s.Circuits, s.Deliveries, s.Endpoints, s.Failures, s.KeptPosts},
	}
}
