package admin

import (
	"context"
	"errors"

	"campaign-dispatch/internal/campaign"
)

// CheckEndpoint returns an error that says so where the tenant has no such
// endpoint.
func (d *Desk) CheckEndpoint(ctx context.Context, tenant, id string) error {
	_, err := d.Store.Endpoint(ctx, tenant, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return noEndpoint(tenant, id)
	}
	return err
}
