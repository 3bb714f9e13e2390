package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/reach"
)

// A campaign is rescheduled in one transaction. It writes the due time and a revision to META,
// changes the first rows of the unreleased batches, and moves their reservations. If there are
// more batches, it also reserves their amounts on the new days, as movingHeldOn with the sum movingHeld,
// and keeps the sending hours by which the days were found, as movingHours. FinishMove changes the rows
// of those batches, and releases the rest of movingHeldOn. A batch that was cancelled or released in
// between releases or keeps its reservation of the old day.

func readMove(meta Item) campaign.Move {
	return campaign.Move{
		Due: getMillis(meta, "movedTo"), Revision: getInt(meta, "moves"), Batches: getInt(meta, "movesUpTo"),
		Open: getBool(meta, "moving"), Reserved: readReserved(meta), Hours: getBinary(meta, "movingHours"),
	}
}

// readReserved returns movingHeldOn. An earlier version of this service has only the sum, on the day of the due time.
func readReserved(meta Item) map[string]campaign.Money {
	reserved, sum := getAmounts(meta, "movingHeldOn"), getMoney(meta, "movingHeld")
	if campaign.Sum(reserved) == sum {
		return reserved
	}
	return map[string]campaign.Money{localtime.Day(getMillis(meta, "movedTo")): sum}
}

// reservedItem returns the attributes of what a move reserves.
func reservedItem(reserved map[string]campaign.Money) Item {
	return Item{"movingHeld": number(campaign.Sum(reserved)), "movingHeldOn": amounts(reserved)}
}

// Move returns the last change of a campaign's due time. The error wraps campaign.ErrNotFound
// if the campaign does not exist.
func (s *CampaignStore) Move(ctx context.Context, id campaign.ID) (campaign.Move, error) {
	meta, err := s.get(ctx, "read the due time of campaign "+id.CampaignID, metaKey(id))
	return readMove(meta), err
}

// RescheduleCampaign changes the due time of all unreleased batches if the campaign is unchanged since
// it was read, and reports whether it did. The batches that it returns have the new time. If
// the Move of the campaign is open then, FinishMove changes the other batches. The error is
// a *campaign.BudgetError if the new day has no room: then nothing was changed.
func (s *CampaignStore) RescheduleCampaign(
	ctx context.Context, c campaign.Campaign, due, nextCheck time.Time,
) (moved []campaign.Batch, ok bool, err error) {
	err = untilDecided(ctx, "reschedule campaign "+c.CampaignID, maxEdits, func(int) error {
		moved, ok, err = s.tryMove(ctx, c, due, nextCheck)
		return err
	})
	return moved, ok, err
}

func (s *CampaignStore) tryMove(ctx context.Context, c campaign.Campaign, due, nextCheck time.Time) ([]campaign.Batch, bool, error) {
	plan, dates, err := s.planMove(ctx, c, due)
	if err != nil {
		return nil, false, err
	}
	items := append([]types.TransactWriteItem{s.metaMove(c, plan.Move)}, s.batchMoves(plan.Now, plan.Move, dates, nextCheck)...)
	reasons, err := s.transact(ctx, append(items, s.changeBudgets(c.Tenant, plan.Budget)...), rand.Text())
	if err != nil {
		return nil, false, fmt.Errorf("reschedule campaign %s: %w", c.CampaignID, err)
	}
	switch {
	case len(reasons) == 0:
		return plan.Move.Moved(plan.Now, dates), true, nil
	case slices.ContainsFunc(reasons[:len(items)], failedCondition):
		return nil, false, nil
	}
	return nil, false, cmp.Or(s.room(ctx, c.Tenant, plan), campaign.ErrLostRace)
}

// planMove also returns the dates of campaign.PlanMove. It reads nothing if no unreleased batch has a reservation.
func (s *CampaignStore) planMove(ctx context.Context, c campaign.Campaign, due time.Time) (p campaign.MovePlan, dates map[string]string, err error) {
	if !slices.ContainsFunc(c.Unreleased(), func(b campaign.Batch) bool { return b.Reserved > 0 }) {
		return campaign.PlanMove(c, due, campaign.Spending{}, nil), nil, nil
	}
	limits, policy, err := s.bookingRules(ctx, c.Tenant)
	if err != nil {
		return p, nil, err
	}
	dates, err = reach.Bookings(ctx, &ContentStore{s.table}, policy, c.Unreleased(), due)
	if err != nil {
		return p, nil, err
	}
	p = campaign.PlanMove(c, due, limits, dates)
	if p.Move.Open && !policy.Equal(reach.TenantHours{}) {
		p.Move.Hours, err = json.Marshal(policy)
	}
	return p, dates, err
}

// metaMove writes the move if no batch was added, and no other move was made.
func (s *CampaignStore) metaMove(c campaign.Campaign, to campaign.Move) types.TransactWriteItem {
	update := "SET movedTo = :due, moves = :revision, movesUpTo = :batches, anyScheduled = :true"
	values := Item{":due": millis(to.Due), ":revision": number(to.Revision), ":batches": number(to.Batches), ":true": boolean(true)}
	if to.Open {
		update += ", moving = :true, " + assign(reservedItem(to.Reserved), values)
	}
	if to.Hours != nil {
		update, values[":hours"] = update+", movingHours = :hours", bytesOf(to.Hours)
	} else if to.Open { // the previous version leaves those of a move that it closes
		update += " REMOVE movingHours"
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

// batchMoves changes the rows of batches that wait and are older than the move. dates are those of planMove.
func (s *CampaignStore) batchMoves(
	batches []campaign.Batch, to campaign.Move, dates map[string]string, nextCheck time.Time,
) []types.TransactWriteItem {
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
			with(values, Item{":day": text(dates[b.BatchID]), ":on": text(b.ReservedOn), ":reserved": number(b.Reserved)})
		}
		items[i] = s.update(batchKey(b.BatchRef), update, condition, values)
	}
	return items
}

// CheckMove returns the *campaign.BudgetError with which RescheduleCampaign would refuse the campaign
// at present, or nil.
func (s *CampaignStore) CheckMove(ctx context.Context, c campaign.Campaign, due time.Time) error {
	plan, _, err := s.planMove(ctx, c, due)
	if err != nil || !plan.Limited() {
		return err
	}
	return s.room(ctx, c.Tenant, plan)
}

func (s *CampaignStore) room(ctx context.Context, tenant string, plan campaign.MovePlan) error {
	for _, date := range plan.Dates() {
		used, err := (&SettingStore{s.table}).Spending(ctx, tenant, date)
		if err == nil {
			err = plan.Room(date, used)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// FinishMove changes the rows that an open move has left, and returns their batches. It can be
// repeated, also concurrently. Sweep checks the batches at nextCheck.
func (s *CampaignStore) FinishMove(
	ctx context.Context, id campaign.ID, nextCheck func(due time.Time) time.Time,
) (moved []campaign.Batch, err error) {
	err = untilDecided(ctx, "reschedule campaign "+id.CampaignID, maxEdits, func(int) error {
		c, err := s.campaign(ctx, id, nil, false)
		if err != nil || !c.Move.Open {
			return err
		}
		dates, err := s.movedDates(ctx, c)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(c.Unmoved(), campaign.MovedAtOnce) {
			if c.Move.Reserved, err = s.moveUnmoved(ctx, c, some, dates, nextCheck(c.Move.Due)); err != nil {
				return err
			}
			moved = append(moved, c.Move.Moved(some, dates)...)
		}
		return s.closeMove(ctx, id)
	})
	return moved, err
}

// movedDates returns the dates of planMove for the batches that an open move has left.
func (s *CampaignStore) movedDates(ctx context.Context, c campaign.Campaign) (map[string]string, error) {
	var hours reach.TenantHours
	if data := c.Move.Hours; data != nil {
		if err := json.Unmarshal(data, &hours); err != nil {
			return nil, fmt.Errorf("read the sending hours of a move of campaign %s: %w: %w", c.CampaignID, campaign.ErrDamaged, err)
		}
	}
	return reach.Bookings(ctx, &ContentStore{s.table}, hours, c.Unmoved(), c.Move.Due)
}

// moveUnmoved changes the rows of some batches and takes their reservations from movingHeldOn. It returns what is left of
// that. The error wraps campaign.ErrLostRace if one of them, or movingHeld, has changed.
func (s *CampaignStore) moveUnmoved(
	ctx context.Context, c campaign.Campaign, some []campaign.Batch, dates map[string]string, nextCheck time.Time,
) (left map[string]campaign.Money, err error) {
	items, left := s.batchMoves(some, c.Move, dates, nextCheck), maps.Clone(c.Move.Reserved)
	if sums := campaign.SumByDate(some, dates); len(sums) > 0 {
		for date, sum := range sums {
			left[date] -= sum
		}
		values := Item{}
		items = append(items, s.metaOfMove(c, "SET "+assign(reservedItem(left), values), values))
		items = append(items, s.changeBudgets(c.Tenant, campaign.ReleaseAll(some))...)
	}
	return left, s.writeAll(ctx, "reschedule campaign "+c.CampaignID, items...)
}

// closeMove ends a move without unmoved batches, and releases the rest of movingHeldOn.
func (s *CampaignStore) closeMove(ctx context.Context, id campaign.ID) error {
	c, err := s.campaign(ctx, id, nil, false)
	if err != nil || !c.Move.Open {
		return err
	}
	if len(c.Unmoved()) > 0 {
		return campaign.ErrLostRace
	}
	var rest []campaign.Batch
	for date, amount := range c.Move.Reserved {
		rest = append(rest, campaign.Batch{Reserved: amount, ReservedOn: date})
	}
	end := s.metaOfMove(c, "REMOVE moving, movingHeld, movingHeldOn, movingHours", Item{})
	items := append([]types.TransactWriteItem{end}, s.changeBudgets(c.Tenant, campaign.ReleaseAll(rest))...)
	return s.writeAll(ctx, "reschedule campaign "+id.CampaignID, items...)
}

// metaOfMove updates META while the move is as it was read.
func (s *CampaignStore) metaOfMove(c campaign.Campaign, update string, values Item) types.TransactWriteItem {
	const condition = "movingHeld = :held AND attribute_exists(moving) AND moves = :revision"
	with(values, Item{":held": number(campaign.Sum(c.Move.Reserved)), ":revision": number(c.Move.Revision)})
	return s.update(metaKey(c.ID), update, condition, values)
}
