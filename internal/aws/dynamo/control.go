package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// CancelCampaign marks a campaign as cancelled: it takes no batch any more. One
// that was cancelled before keeps its time; revoke is added to what was asked
// for. The error wraps campaign.ErrNotFound where there is no campaign.
func (s *Store) CancelCampaign(ctx context.Context, id campaign.ID, at time.Time, revoke bool) error {
	update := "SET cancelled = :true, cancelledAt = if_not_exists(cancelledAt, :at)"
	if revoke {
		update += ", takeBack = :true"
	}
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: metaKey(id), UpdateExpression: &update,
		ConditionExpression:       aws.String("attribute_exists(pk) AND " + notForgetting),
		ExpressionAttributeValues: Item{":true": boolean(true), ":at": millis(at)},
	})
	if _, absent := errors.AsType[*types.ConditionalCheckFailedException](err); absent {
		return fmt.Errorf("cancel campaign %s: %w", id.CampaignID, campaign.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("cancel campaign %s: %w", id.CampaignID, err)
	}
	return nil
}

// CancelBatch cancels a batch: a pending one will never be released, and stays in
// sweep's sight until it is forgotten, which looks at it at nextCheck; of one that
// is being sent nothing more is given to the provider. One that has ended stays as
// it is, and one that was cancelled before keeps its time; takeBack is added to
// what was asked for.
func (s *Store) CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, takeBack bool, nextCheck time.Time) error {
	update, open := "SET cancelledAt = if_not_exists(cancelledAt, :at)", "attribute_not_exists(cancelledAt)"
	values := Item{":at": millis(at)}
	if takeBack {
		update, open = update+", takeBack = :true", "attribute_not_exists(takeBack)"
		values[":true"] = boolean(true)
	}
	cancelled, err := s.updateBatch(ctx, ref, update+", #state = :cancelled, #due = :shard, nextCheck = :next", "#state = :pending",
		withValues(values, Item{
			":pending": text(string(campaign.BatchPending)), ":cancelled": text(string(campaign.BatchCancelled)),
			":shard": text(s.dueShard(ref)), ":next": millis(nextCheck),
		}))
	if cancelled || err != nil {
		return err
	}
	_, err = s.updateBatch(ctx, ref, update, "#state IN (:releasing, :sending, :sent) AND "+open,
		withValues(values, Item{
			":releasing": text(string(campaign.BatchReleasing)), ":sending": text(string(campaign.BatchSending)),
			":sent": text(string(campaign.BatchSent)),
		}))
	return err
}

func withValues(values, more Item) Item {
	maps.Copy(more, values)
	return more
}

// Reschedule moves a pending batch whose due time is still as it was read to
// another one, and reports whether it was. A call whose answer was lost may report
// false although it took place.
func (s *Store) Reschedule(ctx context.Context, b campaign.Batch, due, nextCheck time.Time) (bool, error) {
	return s.updateBatch(ctx, b.BatchRef, "SET dueAt = :to, scheduled = :true, #due = :shard, nextCheck = :next",
		"#state = :pending AND dueAt = :read", Item{
			":pending": text(string(campaign.BatchPending)), ":read": millis(b.Due), ":to": millis(due),
			":true": boolean(true), ":shard": text(s.dueShard(b.BatchRef)), ":next": millis(nextCheck),
		})
}
