package restore

import (
	"context"
	"fmt"
	"slices"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
)

// CarryOptOuts copies the opt-outs that are newer in from to into, and returns the
// number of copied shards. Opt-outs are thus kept when restored tables are used.
func CarryOptOuts(ctx context.Context, from, into *dynamo.Stores) (taken int, err error) {
	tenants, err := into.Tenants(ctx)
	if err != nil {
		return 0, err
	}
	for _, tenant := range tenants {
		n, err := carryTenant(ctx, tenant.ID, from, into)
		taken += n
		if err != nil {
			return taken, err
		}
	}
	return taken, nil
}

func carryTenant(ctx context.Context, tenant string, from, into *dynamo.Stores) (taken int, err error) {
	shards, err := from.OptOuts(ctx, tenant)
	if err != nil {
		return 0, err
	}
	for _, shard := range shards {
		if err := loadParts(ctx, from, tenant, shard); err != nil {
			return taken, err
		}
		kept, err := into.KeepOptOuts(ctx, tenant, shard)
		if err != nil {
			return taken, err
		}
		if kept {
			taken++
		}
	}
	return taken, nil
}

const partsARead = 32

// loadParts reads the numbers of a shard's parts into it.
func loadParts(ctx context.Context, from *dynamo.Stores, tenant string, shard campaign.OptOuts) error {
	for some := range slices.Chunk(shard.Parts, partsARead) {
		ids := make([]string, len(some))
		for i, part := range some {
			ids[i] = part.ID
		}
		read, err := from.OptOutParts(ctx, tenant, shard.Shard, ids)
		if err != nil {
			return err
		}
		for i, part := range some {
			content, ok := read[part.ID]
			if !ok {
				return fmt.Errorf("the opt-outs of tenant %s changed concurrently, retry: %w", tenant, campaign.ErrLostRace)
			}
			some[i] = campaign.OptOutPart{
				ID: part.ID, From: part.From, Version: content.Version, Packed: content.Packed, Recent: content.Recent, Origins: content.Origins,
			}
		}
	}
	return nil
}
