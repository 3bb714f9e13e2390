// Package settingsstore joins stores of package dynamo for package settings. It is a package of its own, so that
// only the dashboard and the operator's commands link them.
package settingsstore

import (
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/settings"
)

type tenants struct {
	*dynamo.SettingStore
	*dynamo.CampaignStore
	*dynamo.ContentStore
	*dynamo.TenantStore
}

type webhooks struct {
	*dynamo.EndpointStore
	*dynamo.DeliveryStore
}

// New returns the store of package settings.
func New(s *dynamo.Stores) settings.Store {
	return settings.Store{
		Tenants:  tenants{s.Settings, s.Campaigns, s.Contents, s.Tenants},
		Webhooks: webhooks{s.Endpoints, s.Deliveries},
	}
}
