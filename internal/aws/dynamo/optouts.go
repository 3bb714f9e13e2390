package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// OptOuts reads the existing shards of a tenant's opt-outs consistently, in order. Parts
// are returned without their numbers.
func (s *OptOutStore) OptOuts(ctx context.Context, tenant string) ([]campaign.OptOuts, error) {
	rows, err := s.query(ctx, "pk = :pk", Item{":pk": optOutKey(tenant, 0)["pk"]})
	if err != nil {
		return nil, fmt.Errorf("read the opt-outs of tenant %s: %w", tenant, err)
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
func (s *OptOutStore) OptOutShard(ctx context.Context, tenant string, shard int) (campaign.OptOuts, error) {
	row, err := s.get(ctx, optOutKey(tenant, shard))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return campaign.OptOuts{}, fmt.Errorf("read a shard of the opt-outs of tenant %s: %w", tenant, err)
	}
	return readOptOuts(shard, row), nil
}

// OptOutParts reads up to 100 parts of a shard consistently. Parts that no longer exist are
// omitted.
func (s *OptOutStore) OptOutParts(ctx context.Context, tenant string, shard int, ids []string) (map[string]campaign.OptOutPart, error) {
	keys := make(map[string]Item, len(ids))
	for _, id := range ids {
		keys[id] = optOutPartKey(tenant, shard, id)
	}
	rows, err := s.campaignRows(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read parts of the opt-outs of tenant %s: %w", tenant, err)
	}
	parts := make(map[string]campaign.OptOutPart, len(rows))
	for id, row := range rows {
		parts[id] = campaign.OptOutPart{
			ID: id, Version: int(getNumber(row, "version")), Packed: getBinary(row, "packed"), Recent: getBinary(row, "recent"),
			Origins: getBinary(row, "origins"),
		}
	}
	return parts, nil
}

// SwapOptOuts writes the next version of a shard if its Version is unchanged. In the same
// transaction it writes the parts that contain numbers and deletes the removed ones. It
// reports whether it did. After a lost response, it can report false although it succeeded.
func (s *OptOutStore) SwapOptOuts(ctx context.Context, tenant string, o campaign.OptOuts, removedParts ...string) (bool, error) {
	put := &types.Put{TableName: &s.Campaigns, Item: optOutRow(tenant, o, o.Version+1), ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if o.Version > 0 {
		put.ConditionExpression = aws.String("version = :read")
		put.ExpressionAttributeValues = Item{":read": number(o.Version)}
	}
	if len(o.Parts) == 0 {
		return s.putOptOuts(ctx, tenant, put)
	}
	items := []types.TransactWriteItem{{Put: put}}
	for _, part := range o.Parts {
		if part.Packed != nil {
			items = append(items, s.put(optOutPartRow(tenant, o.Shard, part)))
		}
	}
	for _, id := range removedParts {
		items = append(items, s.remove(optOutPartKey(tenant, o.Shard, id)))
	}
	err := s.writeAll(ctx, "write the opt-outs of tenant "+tenant, items...)
	if errors.Is(err, campaign.ErrLostRace) {
		return false, nil
	}
	return err == nil, err
}

func (s *OptOutStore) putOptOuts(ctx context.Context, tenant string, put *types.Put) (bool, error) {
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.TableName, Item: put.Item,
		ConditionExpression: put.ConditionExpression, ExpressionAttributeValues: put.ExpressionAttributeValues,
	})
	return conditionHeld(err, "write the opt-outs of tenant "+tenant)
}

// KeepOptOuts copies a shard and its parts from another table, with their versions, unless
// this table has the same or a newer version. It reports whether it did. No other call may
// change the shard at the same time.
func (s *OptOutStore) KeepOptOuts(ctx context.Context, tenant string, o campaign.OptOuts) (bool, error) {
	before, err := s.OptOutShard(ctx, tenant, o.Shard)
	if err != nil {
		return false, err
	}
	kept := false
	if before.Version < o.Version {
		for _, part := range o.Parts {
			_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: optOutPartRow(tenant, o.Shard, part)})
			if err != nil {
				return false, fmt.Errorf("write a part of the opt-outs of tenant %s: %w", tenant, err)
			}
		}
		kept, err = s.putOptOuts(ctx, tenant, &types.Put{
			TableName: &s.Campaigns, Item: optOutRow(tenant, o, o.Version),
			ConditionExpression:       aws.String("attribute_not_exists(pk) OR version < :version"),
			ExpressionAttributeValues: Item{":version": number(o.Version)},
		})
		if err != nil {
			return false, err
		}
	}
	if len(before.Parts) > 0 || len(o.Parts) > 0 {
		err = s.removeUnlistedParts(ctx, tenant, o.Shard)
	}
	return kept, err
}

// removeUnlistedParts deletes the parts that a shard does not list.
func (s *OptOutStore) removeUnlistedParts(ctx context.Context, tenant string, shard int) error {
	doing := "delete stray parts of the opt-outs of tenant " + tenant
	named, err := s.OptOutShard(ctx, tenant, shard)
	if err != nil {
		return err
	}
	keep := make(map[string]bool, len(named.Parts))
	for _, part := range named.Parts {
		keep[part.ID] = true
	}
	ids, err := s.optOutPartIDs(ctx, tenant, shard)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	for _, id := range ids {
		if keep[id] {
			continue
		}
		_, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Campaigns, Key: optOutPartKey(tenant, shard, id)})
		if err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
	return nil
}

func (s *OptOutStore) optOutPartIDs(ctx context.Context, tenant string, shard int) (ids []string, err error) {
	rows, err := s.queryFor(ctx, "pk = :pk", Item{":pk": optOutPartKey(tenant, shard, "")["pk"]}, "sk")
	for _, row := range rows {
		ids = append(ids, getText(row, "sk"))
	}
	return ids, err
}

// optOutRow returns the row of a shard. A shard in parts has no numbers of its own.
func optOutRow(tenant string, o campaign.OptOuts, version int) Item {
	row := optOutKey(tenant, o.Shard)
	row["version"] = number(version)
	if len(o.Parts) == 0 {
		row["packed"], row["recent"], row["origins"] = bytesOf(o.Packed), bytesOf(o.Recent), bytesOf(o.Origins)
		return row
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
	row := optOutPartKey(tenant, shard, part.ID)
	row["version"], row["packed"], row["recent"], row["origins"] = number(part.Version), bytesOf(part.Packed), bytesOf(part.Recent), bytesOf(part.Origins)
	return row
}

func readOptOuts(shard int, row Item) campaign.OptOuts {
	o := campaign.OptOuts{
		Shard: shard, Version: int(getNumber(row, "version")), Packed: getBinary(row, "packed"), Recent: getBinary(row, "recent"),
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
		o.Parts = append(o.Parts, campaign.OptOutPart{ID: getText(part, "id"), From: from, Version: int(getNumber(part, "version"))})
	}
	return o
}
