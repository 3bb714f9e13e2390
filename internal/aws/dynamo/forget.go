package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
)

// forgetting is the attribute of the META row of a campaign that is being deleted. Such a
// campaign cannot be read or extended.
const (
	forgetting    = "forgetting"
	notForgetting = "attribute_not_exists(" + forgetting + ")"
)

// perWrite is the maximum number of rows of a BatchWriteItem call.
const perWrite = 25

// Lifetime reads a campaign's lifetime consistently. The error wraps campaign.ErrNotFound
// if the campaign does not exist.
func (s *ErasureStore) Lifetime(ctx context.Context, id campaign.ID) (campaign.Lifetime, error) {
	row, err := s.get(ctx, metaKey(id))
	if err != nil {
		return campaign.Lifetime{}, fmt.Errorf("read the lifetime of campaign %s: %w", id.CampaignID, err)
	}
	return campaign.Lifetime{
		ID: id, Name: getText(row, "name"), Batches: int(getNumber(row, "batches")), LastAt: getMillis(row, "lastAt"),
		Check: getMillis(row, "nextCheck"), Forgetting: getBool(row, forgetting),
	}, nil
}

// MoveLifetime sets a campaign's next check if it is unchanged since it was read.
func (s *ErasureStore) MoveLifetime(ctx context.Context, l campaign.Lifetime, next time.Time) error {
	_, err := s.updateLifetime(ctx, l, "SET nextCheck = :next", Item{":next": millis(next)})
	return err
}

// StartForgetting marks a campaign as being deleted if it is unchanged since it was read,
// and reports whether it did. The caller may delete its rows until lease. Then sweep
// checks it again, and another caller continues.
func (s *ErasureStore) StartForgetting(ctx context.Context, l campaign.Lifetime, lease time.Time) (bool, error) {
	return s.updateLifetime(ctx, l, "SET nextCheck = :next, "+forgetting+" = :true REMOVE listOf, listAs", Item{
		":next": millis(lease), ":true": boolean(true),
	})
}

func (s *ErasureStore) updateLifetime(ctx context.Context, l campaign.Lifetime, update string, values Item) (bool, error) {
	values[":read"], values[":batches"] = millis(l.Check), number(l.Batches)
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: metaKey(l.ID), UpdateExpression: &update,
		ConditionExpression:       aws.String("nextCheck = :read AND batches = :batches"),
		ExpressionAttributeValues: values,
	})
	return conditionHeld(err, "change the lifetime of campaign "+l.CampaignID)
}

// ForgetSome deletes up to 25 rows of a campaign that is being deleted. It reports whether
// only META and the name are left.
func (s *ErasureStore) ForgetSome(ctx context.Context, id campaign.ID) (done bool, err error) {
	out, err := s.Client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.Campaigns, ConsistentRead: aws.Bool(true), Limit: aws.Int32(perWrite + 1), // plus META
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: Item{":pk": metaKey(id)["pk"]},
		ProjectionExpression: aws.String("pk, sk"),
	})
	if err != nil {
		return false, fmt.Errorf("read the rows of campaign %s: %w", id.CampaignID, err)
	}
	var deletes []types.WriteRequest
	for _, key := range out.Items {
		if getText(key, "sk") != metaSK && len(deletes) < perWrite {
			deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
		}
	}
	if len(deletes) == 0 {
		return true, nil
	}
	if err := s.deleteAll(ctx, deletes); err != nil {
		return false, fmt.Errorf("delete rows of campaign %s: %w", id.CampaignID, err)
	}
	return false, nil
}

// deleteAll executes the deletions and repeats unprocessed ones.
func (s *ErasureStore) deleteAll(ctx context.Context, deletes []types.WriteRequest) error {
	for attempt := 0; ; attempt++ {
		out, err := s.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{s.Campaigns: deletes},
		})
		if err != nil {
			return err
		}
		if deletes = out.UnprocessedItems[s.Campaigns]; len(deletes) == 0 {
			return nil
		}
		if err := retry.Wait(ctx, attempt+1); err != nil {
			return err
		}
	}
}

// EndForgetting deletes the campaign's name, unless another campaign uses it, and its META
// row. The name and the ID can be used again.
func (s *ErasureStore) EndForgetting(ctx context.Context, l campaign.Lifetime) error {
	for _, row := range []struct {
		key       Item
		condition string
		values    Item
	}{
		{nameKey(l.Tenant, l.Name), "campaignId = :id", Item{":id": text(l.CampaignID)}},
		{metaKey(l.ID), forgetting + " = :true", Item{":true": boolean(true)}},
	} {
		_, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &s.Campaigns, Key: row.key, ConditionExpression: &row.condition, ExpressionAttributeValues: row.values,
		})
		if failed := (*types.ConditionalCheckFailedException)(nil); err != nil && !errors.As(err, &failed) {
			return fmt.Errorf("delete campaign %s: %w", l.CampaignID, err)
		}
	}
	return nil
}
