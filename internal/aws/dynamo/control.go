package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// CancelCampaign marks a campaign as cancelled, so that no batch and no part can be added. It can be
// repeated and keeps the first time; revoke can be added later. It ends a pause. The error wraps
// campaign.ErrNotFound if the campaign does not exist.
func (s *BatchStore) CancelCampaign(ctx context.Context, id campaign.ID, at time.Time, revoke bool) error {
	update := "SET cancelled = :true, cancelledAt = if_not_exists(cancelledAt, :at), partsToCome = :none"
	if revoke {
		update += ", #revoke = :true"
	}
	update += " REMOVE pausedAt"
	w := s.update(metaKey(id), update, present+" AND "+notExpiring, Item{":true": boolean(true), ":at": millis(at), ":none": number(0)})
	if err := s.mustWrite(ctx, "cancel campaign "+id.CampaignID, w, campaign.ErrNotFound); err != nil {
		return err
	}
	return s.dropPause(ctx, id)
}

// MarkStopped records that a cancellation has reached all batches of a campaign: none is pending any more. It can be
// repeated and keeps the first time. The error wraps campaign.ErrNotFound if the campaign does not exist.
func (s *BatchStore) MarkStopped(ctx context.Context, id campaign.ID, at time.Time) error {
	w := s.update(metaKey(id), "SET stoppedAt = if_not_exists(stoppedAt, :at)", present+" AND "+notExpiring, Item{":at": millis(at)})
	return s.mustWrite(ctx, "end the cancellation of campaign "+id.CampaignID, w, campaign.ErrNotFound)
}

// CreateCancelled creates a cancelled campaign without batches, so that it is listed and none of its
// parts is accepted. It takes the campaign's name unless another campaign has it. The error wraps
// campaign.ErrLostRace if the campaign exists.
func (s *BatchStore) CreateCancelled(ctx context.Context, c campaign.Campaign) error {
	meta := s.create(metaKey(c.ID), s.cancelledMeta(c))
	name := s.create(nameKey(c.Tenant, c.Name), Item{"campaignId": text(c.CampaignID)})
	doing := "create cancelled campaign " + c.CampaignID
	reasons, err := s.transact(ctx, []types.TransactWriteItem{meta, name}, rand.Text())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	case len(reasons) == 0:
		return nil
	case !failedCondition(reasons[0]) && failedCondition(reasons[1]):
		return s.writeAll(ctx, doing, meta)
	}
	return fmt.Errorf("%s: %w", doing, campaign.ErrLostRace)
}

// create returns the write of a new row by an update: the campaigns function may not put rows of
// campaigns.
func (s *BatchStore) create(key, attributes Item) types.TransactWriteItem {
	values := Item{}
	return s.update(key, "SET "+assign(attributes, values), absent, values)
}

func (s *BatchStore) cancelledMeta(c campaign.Campaign) Item {
	none := c.Submission
	none.PartsToCome = 0
	at, expiry := c.CancelledAt, campaign.Lifetime{LastAt: c.CancelledAt}.ExpiresAt()
	row := with(Item{
		"name": text(c.Name), "batches": number(0), "accepted": number(0),
		"listOf": text(c.Tenant), "listAs": text(listAs(at, c.CampaignID)),
		"createdAt": millis(at), "lastAt": millis(at), "cancelled": boolean(true), "cancelledAt": millis(at),
		"due": text(s.dueShard(campaign.BatchRef{ID: c.ID})), "nextCheck": millis(expiry),
	}, totalsItem(none))
	return with(row, some(Item{"askedBy": text(c.AskedBy), "revoke": boolean(c.Revoke)}))
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
	cancelled, err := s.cancelPending(ctx, ref, update, with(Item{":next": millis(nextCheck)}, values))
	if cancelled || err != nil {
		return err
	}
	condition := stateIn(values, campaign.BatchReleasing, campaign.BatchSending, campaign.BatchSent) + " AND " + open
	_, err = s.updateBatch(ctx, ref, update, condition, values)
	return err
}

// cancelPending cancels a pending batch and releases its reservation. It reports whether the
// batch was pending.
func (s *BatchStore) cancelPending(ctx context.Context, ref campaign.BatchRef, update string, values Item) (cancelled bool, err error) {
	const condition = "#state = :pending"
	update += ", #state = :cancelled, #due = :shard, nextCheck = :next"
	with(values, Item{
		":pending": text(campaign.BatchPending), ":cancelled": text(campaign.BatchCancelled), ":shard": text(s.dueShard(ref)),
	})
	err = untilDecided(ctx, "cancel batch "+ref.BatchID, maxEdits, func(int) error {
		var reserved *campaign.Batch
		cancelled, reserved, err = s.updateUnreserved(ctx, ref, update, condition, values)
		if err != nil || reserved == nil || reserved.State != campaign.BatchPending {
			return err
		}
		err = s.releaseWith(ctx, *reserved, reserved.Reserved, update, condition, values) // nothing was sent
		cancelled = err == nil
		return err
	})
	return cancelled, err
}

const (
	rescheduling  = "SET dueAt = :to, scheduled = :true, #due = :shard, nextCheck = :next"
	reschedulable = "#state = :pending AND dueAt = :read"
)

// RescheduleBatch changes the due time of a pending batch if it is unchanged since it was read,
// and reports whether it did. After a lost response, it can report false although it
// succeeded. A reservation moves to the day of the first opening from the due time on: the error is a
// *campaign.BudgetError if there is no room.
func (s *BatchStore) RescheduleBatch(ctx context.Context, b campaign.Batch, due, nextCheck time.Time) (bool, error) {
	values := Item{
		":pending": text(campaign.BatchPending), ":read": millis(b.Due), ":to": millis(due),
		":true": boolean(true), ":shard": text(s.dueShard(b.BatchRef)), ":next": millis(nextCheck),
	}
	if b.Reserved > 0 {
		return s.rescheduleReserved(ctx, b, due, values)
	}
	return s.updateBatch(ctx, b.BatchRef, rescheduling, reschedulable, values)
}
