package restore

import (
	"context"

	"campaign-dispatch/internal/campaign"
)

// OptOutBook has who opted out of each tenant's messages. Keep writes a shard unless
// the book has it as new, and tells whether it did.
type OptOutBook interface {
	Tenants(ctx context.Context) ([]campaign.Tenant, error)
	OptOuts(ctx context.Context, tenant string) ([]campaign.OptOuts, error)
	KeepOptOuts(ctx context.Context, tenant string, o campaign.OptOuts) (bool, error)
}

// CarryOptOuts takes the opt-outs of the tenants that a book has over into it, where
// another has newer ones, and returns how many shards it took: who opted out stays so,
// whichever table stands in.
func CarryOptOuts(ctx context.Context, from, into OptOutBook) (taken int, err error) {
	tenants, err := into.Tenants(ctx)
	if err != nil {
		return 0, err
	}
	for _, tenant := range tenants {
		shards, err := from.OptOuts(ctx, tenant.ID)
		if err != nil {
			return taken, err
		}
		for _, shard := range shards {
			kept, err := into.KeepOptOuts(ctx, tenant.ID, shard)
			if err != nil {
				return taken, err
			}
			if kept {
				taken++
			}
		}
	}
	return taken, nil
}
