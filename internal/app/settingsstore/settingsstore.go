// Package settingsstore joins stores of package dynamo for package settings. It is a package of its own, so that
// only the dashboard and the operator's commands link them.
package settingsstore

import (
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/settings"
)

// New returns the store of package settings.
func New(s *dynamo.Stores) settings.Store { return settings.Store{Tenants: s, Webhooks: s} }
