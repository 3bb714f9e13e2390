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

// SwapOptOuts writes the next version of a shard whose Version is still the one
// given, and tells whether it was. A swap whose answer was lost may report false
// although it took place.
func (s *Store) SwapOptOuts(ctx context.Context, tenant string, o campaign.OptOuts) (bool, error) {
	row := optOutKey(tenant, o.Shard)
	row["version"], row["packed"], row["recent"] = number(o.Version+1), bytesOf(o.Packed), bytesOf(o.Recent)
	in := &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if o.Version > 0 {
		in.ConditionExpression = aws.String("version = :read")
		in.ExpressionAttributeValues = Item{":read": number(o.Version)}
	}
	_, err := s.Client.PutItem(ctx, in)
	return held(err, "write the opt-outs of tenant "+tenant)
}
