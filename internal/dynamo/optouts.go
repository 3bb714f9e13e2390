package dynamo

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// OptOuts reads the shards of a tenant's opt-outs consistently, in their order;
// those in which there never was one are left out.
func (s *Store) OptOuts(ctx context.Context, tenant string) ([]campaign.OptOuts, error) {
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
		shards = append(shards, campaign.OptOuts{
			Shard: shard, Version: int(getNumber(row, "version")), Packed: getBinary(row, "packed"), Recent: getBinary(row, "recent"),
		})
	}
	return shards, nil
}

// KeepOptOuts writes a shard as another table has it, version and all, unless the
// table has that version or a newer one. It tells whether it did.
func (s *Store) KeepOptOuts(ctx context.Context, tenant string, o campaign.OptOuts) (bool, error) {
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: optOutRow(tenant, o, o.Version),
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR version < :version"),
		ExpressionAttributeValues: Item{":version": number(o.Version)},
	})
	return held(err, "write the opt-outs of tenant "+tenant)
}

func optOutRow(tenant string, o campaign.OptOuts, version int) Item {
	row := optOutKey(tenant, o.Shard)
	row["version"], row["packed"], row["recent"] = number(version), bytesOf(o.Packed), bytesOf(o.Recent)
	return row
}

// SwapOptOuts writes the next version of a shard whose Version is still the one
// given, and tells whether it was. A swap whose answer was lost may report false
// although it took place.
func (s *Store) SwapOptOuts(ctx context.Context, tenant string, o campaign.OptOuts) (bool, error) {
	in := &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: optOutRow(tenant, o, o.Version+1), ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if o.Version > 0 {
		in.ConditionExpression = aws.String("version = :read")
		in.ExpressionAttributeValues = Item{":read": number(o.Version)}
	}
	_, err := s.Client.PutItem(ctx, in)
	return held(err, "write the opt-outs of tenant "+tenant)
}
