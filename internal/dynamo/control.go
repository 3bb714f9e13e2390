package dynamo

import (
	"context"
	"errors"
	"fmt"
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
		ConditionExpression:       aws.String("attribute_exists(pk)"),
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

// CancelBatch cancels a batch: a pending one will never be released, and of one
// that is being sent nothing more is given to the provider. One that was
// cancelled before, or has ended, stays as it is.
func (s *Store) CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time) error {
	cancelled, err := s.updateBatch(ctx, ref, "SET #state = :cancelled, cancelledAt = :at REMOVE #due, nextCheck",
		"#state = :pending", Item{
			":pending": text(string(campaign.BatchPending)), ":cancelled": text(string(campaign.BatchCancelled)), ":at": millis(at),
		})
	if cancelled || err != nil {
		return err
	}
	_, err = s.updateBatch(ctx, ref, "SET cancelledAt = :at",
		"#state IN (:releasing, :sending, :sent) AND attribute_not_exists(cancelledAt)", Item{
			":releasing": text(string(campaign.BatchReleasing)), ":sending": text(string(campaign.BatchSending)),
			":sent": text(string(campaign.BatchSent)), ":at": millis(at),
		})
	return err
}

// Reschedule moves a pending batch whose due time is still as it was read to
// another one, and tells whether it was. A call whose answer was lost may report
// false although it took place.
func (s *Store) Reschedule(ctx context.Context, b campaign.Batch, due, nextCheck time.Time) (bool, error) {
	return s.updateBatch(ctx, b.BatchRef, "SET dueAt = :to, scheduled = :true, #due = :shard, nextCheck = :next",
		"#state = :pending AND dueAt = :read", Item{
			":pending": text(string(campaign.BatchPending)), ":read": millis(b.Due), ":to": millis(due),
			":true": boolean(true), ":shard": text(dueShard(b.BatchRef)), ":next": millis(nextCheck),
		})
}
