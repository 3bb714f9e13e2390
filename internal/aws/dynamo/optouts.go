package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// OptOuts reads the existing shards of a tenant's opt-outs consistently, in order. Parts
// are returned without their numbers.
func (s *RecipientStore) OptOuts(ctx context.Context, tenant string) ([]campaign.OptOuts, error) {
	rows, err := s.query(ctx, "read the opt-outs of tenant "+tenant, "pk = :pk", Item{":pk": optOutKey(tenant, 0)["pk"]})
	if err != nil {
		return nil, err
	}
	shards := make([]campaign.OptOuts, 0, len(rows))
	for _, row := range rows {
		shard, err := strconv.Atoi(getText(row, "sk"))
		if err != nil {
			return nil, fmt.Errorf("read a shard of the opt-outs of tenant %s: %w", tenant, err)
		}
		shards = append(shards, readOptOuts(shard, row))
	}
	return shards, nil
}

// OptOutShard reads one shard consistently. Its Version is 0 if it does not exist. Parts
// are returned without their numbers.
func (s *RecipientStore) OptOutShard(ctx context.Context, tenant string, shard int) (campaign.OptOuts, error) {
	row, err := s.find(ctx, "read a shard of the opt-outs of tenant "+tenant, optOutKey(tenant, shard))
	return readOptOuts(shard, row), err
}

// OptOutParts reads up to 100 parts of a shard consistently. Parts that no longer exist are
// omitted.
func (s *RecipientStore) OptOutParts(ctx context.Context, tenant string, shard int, ids []string) (map[string]campaign.OptOutPart, error) {
	rows, err := s.rowsOf(ctx, "read parts of the opt-outs of tenant "+tenant, s.Campaigns, ids, func(id string) Item {
		return optOutPartKey(tenant, shard, id)
	})
	if err != nil {
		return nil, err
	}
	parts := make(map[string]campaign.OptOutPart, len(rows))
	for id, row := range rows {
		parts[id] = campaign.OptOutPart{
			ID: id, Version: getInt(row, "version"), Packed: getBinary(row, "packed"), Recent: getBinary(row, "recent"),
			Origins: getBinary(row, "origins"),
		}
	}
	return parts, nil
}

// SwapOptOuts writes the next version of a shard if its Version is unchanged. In the same
// transaction it writes the parts that contain numbers and deletes the removed ones. It
// reports whether it did. After a lost response, it can report false although it succeeded.
func (s *RecipientStore) SwapOptOuts(ctx context.Context, tenant string, o campaign.OptOuts, removedParts ...string) (bool, error) {
	doing := "write the opt-outs of tenant " + tenant
	put := s.putAfter(optOutRow(tenant, o, o.Version+1), "version", o.Version)
	if len(o.Parts) == 0 {
		return s.write(ctx, doing, put)
	}
	items := []types.TransactWriteItem{put}
	for _, part := range o.Parts {
		if part.Packed != nil {
			items = append(items, s.put(optOutPartRow(tenant, o.Shard, part)))
		}
	}
	for _, id := range removedParts {
		items = append(items, s.remove(optOutPartKey(tenant, o.Shard, id)))
	}
	err := s.writeAll(ctx, doing, items...)
	if errors.Is(err, campaign.ErrLostRace) {
		return false, nil
	}
	return err == nil, err
}

// KeepOptOuts copies a shard and its parts from another table, with their versions, unless
// this table has the same or a newer version. It reports whether it did. No other call may
// change the shard at the same time.
func (s *RecipientStore) KeepOptOuts(ctx context.Context, tenant string, o campaign.OptOuts) (bool, error) {
	before, err := s.OptOutShard(ctx, tenant, o.Shard)
	if err != nil {
		return false, err
	}
	kept := false
	if before.Version < o.Version {
		for _, part := range o.Parts {
			put := s.put(optOutPartRow(tenant, o.Shard, part))
			if err := s.tryWrite(ctx, "write a part of the opt-outs of tenant "+tenant, put); err != nil {
				return false, err
			}
		}
		put := s.putIf(optOutRow(tenant, o, o.Version), absent+" OR version < :version", Item{":version": number(o.Version)})
		if kept, err = s.write(ctx, "write the opt-outs of tenant "+tenant, put); err != nil {
			return false, err
		}
	}
	if len(before.Parts) > 0 || len(o.Parts) > 0 {
		err = s.removeUnlistedParts(ctx, tenant, o.Shard)
	}
	return kept, err
}

func (s *RecipientStore) removeUnlistedParts(ctx context.Context, tenant string, shard int) error {
	doing := "delete stray parts of the opt-outs of tenant " + tenant
	named, err := s.OptOutShard(ctx, tenant, shard)
	if err != nil {
		return err
	}
	keep := make(map[string]bool, len(named.Parts))
	for _, part := range named.Parts {
		keep[part.ID] = true
	}
	parts, err := s.query(ctx, doing, "pk = :pk", Item{":pk": optOutPartKey(tenant, shard, "")["pk"]}, "sk")
	if err != nil {
		return err
	}
	for _, part := range parts {
		id := getText(part, "sk")
		if keep[id] {
			continue
		}
		if err := s.tryWrite(ctx, doing, s.remove(optOutPartKey(tenant, shard, id))); err != nil {
			return err
		}
	}
	return nil
}

// optOutRow returns the row of a shard. A shard in parts has no numbers of its own.
func optOutRow(tenant string, o campaign.OptOuts, version int) Item {
	row := with(optOutKey(tenant, o.Shard), Item{"version": number(version)})
	if len(o.Parts) == 0 {
		return with(row, Item{"packed": bytesOf(o.Packed), "recent": bytesOf(o.Recent), "origins": bytesOf(o.Origins)})
	}
	parts := make([]types.AttributeValue, 0, len(o.Parts))
	for _, part := range o.Parts {
		parts = append(parts, &types.AttributeValueMemberM{Value: Item{
			"id": text(part.ID), "from": text(strconv.FormatUint(part.From, 10)), "version": number(part.Version),
		}})
	}
	row["parts"] = &types.AttributeValueMemberL{Value: parts}
	return row
}

func optOutPartRow(tenant string, shard int, part campaign.OptOutPart) Item {
	return with(optOutPartKey(tenant, shard, part.ID), Item{
		"version": number(part.Version), "packed": bytesOf(part.Packed), "recent": bytesOf(part.Recent), "origins": bytesOf(part.Origins),
	})
}

func readOptOuts(shard int, row Item) campaign.OptOuts {
	o := campaign.OptOuts{
		Shard: shard, Version: getInt(row, "version"), Packed: getBinary(row, "packed"), Recent: getBinary(row, "recent"),
		Origins: getBinary(row, "origins"),
	}
	list, _ := row["parts"].(*types.AttributeValueMemberL)
	if list == nil {
		return o
	}
	for _, element := range list.Value {
		var part Item
		if m, ok := element.(*types.AttributeValueMemberM); ok {
			part = m.Value
		}
		from, err := strconv.ParseUint(getText(part, "from"), 10, 64)
		if err != nil {
			from = 0 // the parts are out of order then, which the reader rejects
		}
		o.Parts = append(o.Parts, campaign.OptOutPart{ID: getText(part, "id"), From: from, Version: getInt(part, "version")})
	}
	return o
}
