package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// CancelCampaign marks a campaign as cancelled, so that no batch and no part can be added. It can be
// repeated and keeps the first time; revoke can be added later. The error wraps
// campaign.ErrNotFound if the campaign does not exist.
func (s *BatchStore) CancelCampaign(ctx context.Context, id campaign.ID, at time.Time, revoke bool) error {
	update := "SET cancelled = :true, cancelledAt = if_not_exists(cancelledAt, :at), partsToCome = :none"
	if revoke {
		update += ", #revoke = :true"
	}
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: metaKey(id), UpdateExpression: &update,
		ConditionExpression:       aws.String("attribute_exists(pk) AND " + notForgetting),
		ExpressionAttributeNames:  reservedNames(update),
		ExpressionAttributeValues: Item{":true": boolean(true), ":at": millis(at), ":none": number(0)},
	})
	if _, absent := errors.AsType[*types.ConditionalCheckFailedException](err); absent {
		return fmt.Errorf("cancel campaign %s: %w", id.CampaignID, campaign.ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("cancel campaign %s: %w", id.CampaignID, err)
	}
	return nil
}

// CreateCancelled creates a cancelled campaign without batches, so that it is listed and none of its
// parts is accepted. It takes the campaign's name unless another campaign has it. The error wraps
// campaign.ErrLostRace if the campaign exists.
func (s *BatchStore) CreateCancelled(ctx context.Context, c campaign.Campaign) error {
	meta := s.create(metaKey(c.ID), s.cancelledMeta(c))
	name := s.create(nameKey(c.Tenant, c.Name), Item{"campaignId": text(c.CampaignID)})
	reasons, err := s.transact(ctx, []types.TransactWriteItem{meta, name}, rand.Text())
	if err == nil && len(reasons) > 0 && !failedCondition(reasons[0]) && failedCondition(reasons[1]) {
		reasons, err = s.transact(ctx, []types.TransactWriteItem{meta}, rand.Text())
	}
	if err == nil && len(reasons) > 0 {
		err = campaign.ErrLostRace
	}
	if err != nil {
		return fmt.Errorf("create cancelled campaign %s: %w", c.CampaignID, err)
	}
	return nil
}

// create returns the write of a new row by an update: the campaigns function may not put rows of
// campaigns.
func (s *BatchStore) create(key, attributes Item) types.TransactWriteItem {
	values := Item{}
	assignments, names := assign(attributes, values)
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &s.Campaigns, Key: key, UpdateExpression: aws.String("SET " + assignments),
		ConditionExpression:      aws.String("attribute_not_exists(pk)"),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}}
}

// cancelledMeta returns the attributes of META of a cancelled campaign without batches.
func (s *BatchStore) cancelledMeta(c campaign.Campaign) Item {
	none := c.Submission
	none.PartsToCome = 0
	row := totalsItem(none)
	row["name"], row["batches"], row["accepted"] = text(c.Name), number(0), number(0)
	row["listOf"], row["listAs"] = text(c.Tenant), text(listAs(c.CancelledAt, c.CampaignID))
	row["createdAt"], row["lastAt"] = millis(c.CancelledAt), millis(c.CancelledAt)
	row["cancelled"], row["cancelledAt"] = boolean(true), millis(c.CancelledAt)
	expiry := campaign.Lifetime{LastAt: c.CancelledAt}.ExpiresAt()
	row["due"], row["nextCheck"] = text(s.dueShard(campaign.BatchRef{ID: c.ID})), millis(expiry)
	if c.AskedBy != "" {
		row["askedBy"] = text(c.AskedBy)
	}
	if c.Revoke {
		row["revoke"] = boolean(true)
	}
	return row
}

// CancelBatch cancels a batch. A pending batch is never released, and sweep checks it
// at nextCheck. Of a batch that is sending, no more messages are sent. An ended batch is
// unchanged. It can be repeated and keeps the first time; revoke can be added later.
func (s *BatchStore) CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, revoke bool, nextCheck time.Time) error {
	update, open := "SET cancelledAt = if_not_exists(cancelledAt, :at)", "attribute_not_exists(cancelledAt)"
	values := Item{":at": millis(at)}
	if revoke {
		update, open = update+", #revoke = :true", "attribute_not_exists(#revoke)"
		values[":true"] = boolean(true)
	}
	cancelled, err := s.cancelPending(ctx, ref, update, withValues(values, Item{":next": millis(nextCheck)}))
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

// cancelPending cancels a pending batch and releases its reservation. It reports whether the
// batch was pending.
func (s *BatchStore) cancelPending(ctx context.Context, ref campaign.BatchRef, update string, values Item) (cancelled bool, err error) {
	const condition = "#state = :pending"
	update += ", #state = :cancelled, #due = :shard, nextCheck = :next"
	all := func() Item {
		return withValues(values, Item{
			":pending": text(string(campaign.BatchPending)), ":cancelled": text(string(campaign.BatchCancelled)), ":shard": text(s.dueShard(ref)),
		})
	}
	err = untilDecided(ctx, func() error {
		var reserved *campaign.Batch
		cancelled, reserved, err = s.updateUnreserved(ctx, ref, update, condition, all())
		if err != nil || reserved == nil || reserved.State != campaign.BatchPending {
			return err
		}
		err = s.releaseWith(ctx, *reserved, reserved.Reserved, update, condition, all()) // nothing was sent
		cancelled = err == nil
		return err
	})
	return cancelled, err
}

func withValues(values, more Item) Item {
	maps.Copy(more, values)
	return more
}

const (
	rescheduling  = "SET dueAt = :to, scheduled = :true, #due = :shard, nextCheck = :next"
	reschedulable = "#state = :pending AND dueAt = :read"
)

// RescheduleBatch changes the due time of a pending batch if it is unchanged since it was read,
// and reports whether it did. After a lost response, it can report false although it
// succeeded. A reservation moves to the day of the due time: the error is a
// *campaign.BudgetError if there is no room.
func (s *BatchStore) RescheduleBatch(ctx context.Context, b campaign.Batch, due, nextCheck time.Time) (bool, error) {
	values := Item{
		":pending": text(string(campaign.BatchPending)), ":read": millis(b.Due), ":to": millis(due),
		":true": boolean(true), ":shard": text(s.dueShard(b.BatchRef)), ":next": millis(nextCheck),
	}
	if b.Reserved > 0 {
		return s.rescheduleReserved(ctx, b, due, values)
	}
	return s.updateBatch(ctx, b.BatchRef, rescheduling, reschedulable, values)
}
