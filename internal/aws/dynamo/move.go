package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// A campaign is rescheduled in one transaction. It writes the due time and a revision to META,
// changes the first rows of the waiting batches, and moves their reservations. If there are
// more batches, it also reserves their amounts on the new day, as movingHeld. FinishMove
// changes the rows of those batches, and releases the rest of movingHeld. A batch that was
// cancelled or released in between releases or keeps its reservation of the old day.

func readMove(meta Item) campaign.Move {
	return campaign.Move{
		Due: getMillis(meta, "movedTo"), Revision: getInt(meta, "moves"), Batches: getInt(meta, "movesUpTo"),
		Open: getBool(meta, "moving"), Held: getMoney(meta, "movingHeld"),
	}
}

// Move returns the last change of a campaign's due time. The error wraps campaign.ErrNotFound
// if the campaign does not exist.
func (s *MoveStore) Move(ctx context.Context, id campaign.ID) (campaign.Move, error) {
	meta, err := s.get(ctx, "read the due time of campaign "+id.CampaignID, metaKey(id))
	return readMove(meta), err
}

// RescheduleCampaign changes the due time of all waiting batches if the campaign is unchanged since
// it was read, and reports whether it did. The batches that it returns have the new time. If
// the Move of the campaign is open then, FinishMove changes the other batches. The error is
// a *campaign.BudgetError if the new day has no room: then nothing was changed.
func (s *MoveStore) RescheduleCampaign(
	ctx context.Context, c campaign.Campaign, due, nextCheck time.Time,
) (moved []campaign.Batch, ok bool, err error) {
	err = untilDecided(ctx, "reschedule campaign "+c.CampaignID, maxEdits, func(int) error {
		moved, ok, err = s.tryMove(ctx, c, due, nextCheck)
		return err
	})
	return moved, ok, err
}

func (s *MoveStore) tryMove(ctx context.Context, c campaign.Campaign, due, nextCheck time.Time) ([]campaign.Batch, bool, error) {
	limits, err := s.moveLimits(ctx, c)
	if err != nil {
		return nil, false, err
	}
	plan := campaign.PlanMove(c, due, limits)
	items := append([]types.TransactWriteItem{s.metaMove(c, plan.Move)}, s.batchMoves(plan.Now, plan.Move, nextCheck)...)
	reasons, err := s.transact(ctx, append(items, s.changeBudgets(c.Tenant, plan.Budget)...), rand.Text())
	if err != nil {
		return nil, false, fmt.Errorf("reschedule campaign %s: %w", c.CampaignID, err)
	}
	switch {
	case len(reasons) == 0:
		return plan.Move.Moved(plan.Now), true, nil
	case slices.ContainsFunc(reasons[:len(items)], failedCondition):
		return nil, false, nil
	}
	return nil, false, cmp.Or(s.room(ctx, c.Tenant, plan), campaign.ErrLostRace)
}

// moveLimits returns the tenant's limits, zero if no waiting batch has a reservation.
func (s *MoveStore) moveLimits(ctx context.Context, c campaign.Campaign) (campaign.Spending, error) {
	if !slices.ContainsFunc(c.Waiting(), func(b campaign.Batch) bool { return b.Reserved > 0 }) {
		return campaign.Spending{}, nil
	}
	billing, err := s.billing(ctx, c.Tenant)
	if err != nil || !billing.Limited() {
		return campaign.Spending{}, err
	}
	return billing.Limits, nil
}

// metaMove writes the move if no batch was added, and no other move was made.
func (s *MoveStore) metaMove(c campaign.Campaign, to campaign.Move) types.TransactWriteItem {
	update := "SET movedTo = :due, moves = :revision, movesUpTo = :batches, anyScheduled = :true"
	values := Item{":due": millis(to.Due), ":revision": number(to.Revision), ":batches": number(to.Batches), ":true": boolean(true)}
	if to.Open {
		update, values[":held"] = update+", moving = :true, movingHeld = :held", number(to.Held)
	}
	condition := "batches = :batches AND attribute_not_exists(cancelled) AND attribute_not_exists(moving) AND " + notExpiring +
		" AND " + unmoved(c.Move.Revision, values)
	return s.update(metaKey(c.ID), update, condition, values)
}

// unmoved returns the condition that the revision of META's move is the one that was read, and
// adds its value.
func unmoved(revision int, values Item) string {
	if revision == 0 {
		return "attribute_not_exists(moves)"
	}
	values[":moves"] = number(revision)
	return "moves = :moves"
}

// batchMoves changes the rows of batches that wait and are older than the move.
func (s *MoveStore) batchMoves(batches []campaign.Batch, to campaign.Move, nextCheck time.Time) []types.TransactWriteItem {
	items := make([]types.TransactWriteItem, len(batches))
	for i, b := range batches {
		update := rescheduling + ", moves = :moves"
		condition := "#state = :pending AND (attribute_not_exists(moves) OR moves < :moves) AND "
		values := Item{
			":pending": text(campaign.BatchPending), ":to": millis(to.Due), ":true": boolean(true), ":moves": number(to.Revision),
			":shard": text(s.dueShard(b.BatchRef)), ":next": millis(nextCheck),
		}
		if b.Reserved == 0 {
			condition += unreserved
		} else {
			update += ", reservedOn = :day"
			condition += "reserved = :reserved AND reservedOn = :on"
			with(values, Item{":day": text(localtime.Day(to.Due)), ":on": text(b.ReservedOn), ":reserved": number(b.Reserved)})
		}
		items[i] = s.update(batchKey(b.BatchRef), update, condition, values)
	}
	return items
}

// CheckMove returns the *campaign.BudgetError with which RescheduleCampaign would refuse the campaign
// at present, or nil.
func (s *MoveStore) CheckMove(ctx context.Context, c campaign.Campaign, due time.Time) error {
	limits, err := s.moveLimits(ctx, c)
	if err != nil || limits == (campaign.Spending{}) {
		return err
	}
	return s.room(ctx, c.Tenant, campaign.PlanMove(c, due, limits))
}

func (s *MoveStore) room(ctx context.Context, tenant string, plan campaign.MovePlan) error {
	used, err := s.spending(ctx, tenant, localtime.Day(plan.Move.Due))
	if err != nil {
		return err
	}
	return plan.Room(used)
}

// FinishMove changes the rows that an open move has left, and returns their batches. It can be
// repeated, also concurrently. Sweep checks the batches at nextCheck.
func (s *MoveStore) FinishMove(
	ctx context.Context, id campaign.ID, nextCheck func(due time.Time) time.Time,
) (moved []campaign.Batch, err error) {
	err = untilDecided(ctx, "reschedule campaign "+id.CampaignID, maxEdits, func(int) error {
		c, err := s.campaign(ctx, id, nil, false)
		if err != nil || !c.Move.Open {
			return err
		}
		for some := range slices.Chunk(c.Unmoved(), campaign.MovedAtOnce) {
			if err := s.moveUnmoved(ctx, c, some, nextCheck(c.Move.Due)); err != nil {
				return err
			}
			moved = append(moved, c.Move.Moved(some)...)
		}
		return s.closeMove(ctx, id)
	})
	return moved, err
}

// moveUnmoved changes the rows of some batches and takes their reservations from movingHeld.
// The error wraps campaign.ErrLostRace if one of them has changed.
func (s *MoveStore) moveUnmoved(ctx context.Context, c campaign.Campaign, some []campaign.Batch, nextCheck time.Time) error {
	items := s.batchMoves(some, c.Move, nextCheck)
	if sum := campaign.SumReserved(some); sum > 0 {
		items = append(items, s.metaOfMove(c, "SET movingHeld = movingHeld - :sum", "movingHeld >= :sum", Item{":sum": number(sum)}))
		items = append(items, s.changeBudgets(c.Tenant, campaign.ReleaseAll(some))...)
	}
	return s.writeAll(ctx, "reschedule campaign "+c.CampaignID, items...)
}

// closeMove ends a move without unmoved batches, and releases the rest of movingHeld.
func (s *MoveStore) closeMove(ctx context.Context, id campaign.ID) error {
	c, err := s.campaign(ctx, id, nil, false)
	if err != nil || !c.Move.Open {
		return err
	}
	if len(c.Unmoved()) > 0 {
		return campaign.ErrLostRace
	}
	rest := campaign.ReleaseAll([]campaign.Batch{{Reserved: c.Move.Held, ReservedOn: localtime.Day(c.Move.Due)}})
	end := s.metaOfMove(c, "REMOVE moving, movingHeld", "movingHeld = :held", Item{":held": number(c.Move.Held)})
	items := append([]types.TransactWriteItem{end}, s.changeBudgets(c.Tenant, rest)...)
	return s.writeAll(ctx, "reschedule campaign "+id.CampaignID, items...)
}

// metaOfMove updates META while a move is open.
func (s *MoveStore) metaOfMove(c campaign.Campaign, update, condition string, values Item) types.TransactWriteItem {
	condition += " AND attribute_exists(moving) AND moves = :revision"
	values[":revision"] = number(c.Move.Revision)
	return s.update(metaKey(c.ID), update, condition, values)
}
