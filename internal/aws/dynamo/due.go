package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/sweep/overdue"
)

// duePage is the page size. Many shards are read concurrently.
const duePage = 250

var errBadKey = errors.New("not a batch key")

// Due yields the due batches, circuits, campaigns and submissions of one of DueShards, the
// longest overdue first. The index is eventually consistent, so items may have changed. The
// sequence ends at the first error.
func (s *BatchStore) Due(ctx context.Context, shard int, now time.Time) iter.Seq2[overdue.Item, error] {
	pages := dynamodb.NewQueryPaginator(s.Client, &dynamodb.QueryInput{
		TableName: &s.Campaigns, IndexName: aws.String(DueIndex), Limit: aws.Int32(duePage),
		KeyConditionExpression:    aws.String("#due = :shard AND nextCheck <= :now"),
		ExpressionAttributeNames:  map[string]string{"#due": "due"},
		ExpressionAttributeValues: Item{":shard": text(strconv.Itoa(shard)), ":now": millis(now)},
	})
	return func(yield func(overdue.Item, error) bool) {
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(overdue.Item{}, fmt.Errorf("read due items of shard %d: %w", shard, err))
				return
			}
			for _, row := range page.Items {
				if due, err := readDue(row); !yield(due, err) || err != nil {
					return
				}
			}
		}
	}
}

func readDue(row Item) (overdue.Item, error) {
	check := getMillis(row, "nextCheck")
	if task, ok := readCircuitKey(row); ok {
		return overdue.Item{Delivery: &task, Check: check}, nil
	}
	if id, ok := campaignOf(row); ok && getText(row, "sk") == metaSK {
		return overdue.Item{Campaign: &id, Check: check}, nil
	}
	if id, ok := submissionOf(row); ok {
		return overdue.Item{Submission: &id, Check: check}, nil
	}
	ref, err := batchRef(row)
	return overdue.Item{Batch: ref, Check: check}, err
}

// batchRef decodes a key of batchKey. Campaign IDs contain no #.
func batchRef(row Item) (ref campaign.BatchRef, err error) {
	id, ofCampaign := campaignOf(row)
	batchID, isBatch := strings.CutPrefix(getText(row, "sk"), "BATCH#")
	if !ofCampaign || !isBatch {
		return ref, errBadKey
	}
	return campaign.BatchRef{ID: id, BatchID: batchID}, nil
}

// campaignOf returns the campaign of a row, false for other rows.
func campaignOf(row Item) (id campaign.ID, ok bool) {
	rest, ok := strings.CutPrefix(getText(row, "pk"), "C#")
	at := strings.LastIndexByte(rest, '#')
	if !ok || at < 0 {
		return id, false
	}
	return campaign.ID{Tenant: rest[:at], CampaignID: rest[at+1:]}, true
}

// StartRelease moves a due pending batch to releasing and records its agent, and reports
// whether it did.
func (s *BatchStore) StartRelease(ctx context.Context, ref campaign.BatchRef, agentID string, now, nextCheck time.Time) (bool, error) {
	return s.updateBatch(ctx, ref, "SET #state = :to, #due = :shard, nextCheck = :next, agentId = :agent", "#state = :from AND dueAt <= :now", Item{
		":from": text(string(campaign.BatchPending)), ":to": text(string(campaign.BatchReleasing)), ":agent": text(agentID),
		":now": millis(now), ":next": millis(nextCheck), ":shard": text(s.dueShard(ref)),
	})
}

// EndRelease moves a releasing batch to sending, and reports whether it did. An existing
// next check is kept, because the send function may already have postponed it.
func (s *BatchStore) EndRelease(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error) {
	return s.updateBatch(ctx, ref, "SET #state = :to, #due = :shard, nextCheck = if_not_exists(nextCheck, :next)", "#state = :from", Item{
		":from": text(string(campaign.BatchReleasing)), ":to": text(string(campaign.BatchSending)),
		":next": millis(nextCheck), ":shard": text(s.dueShard(ref)),
	})
}

// MarkSent moves a batch whose messages all have outcomes to sent, and reports whether
// it did. Sweep checks it at nextCheck, when all delivery statuses should have arrived.
func (s *BatchStore) MarkSent(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error) {
	return s.updateBatch(ctx, ref, "SET #state = :to, #due = :shard, nextCheck = :next", "#state IN (:releasing, :sending)", Item{
		":to": text(string(campaign.BatchSent)), ":next": millis(nextCheck), ":shard": text(s.dueShard(ref)),
		":releasing": text(string(campaign.BatchReleasing)), ":sending": text(string(campaign.BatchSending)),
	})
}

// CompleteBatch moves a batch whose messages all have final outcomes to completed and
// counts it in its campaign, and reports whether it did. Sweep keeps checking it until
// CloseBatch, because the campaign may be complete too.
func (s *BatchStore) CompleteBatch(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error) {
	now := millis(s.Now()) // the batch that was completed last has the time of its campaign
	reasons, err := s.transact(ctx, []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: &s.Campaigns, Key: batchKey(ref),
			UpdateExpression:         aws.String("SET #state = :to, #due = :shard, nextCheck = :next, closedAt = :now"),
			ConditionExpression:      aws.String("#state IN (:releasing, :sending, :sent)"),
			ExpressionAttributeNames: map[string]string{"#state": "state", "#due": "due"},
			ExpressionAttributeValues: Item{
				":to": text(string(campaign.BatchCompleted)), ":next": millis(nextCheck), ":shard": text(s.dueShard(ref)),
				":releasing": text(string(campaign.BatchReleasing)), ":sending": text(string(campaign.BatchSending)),
				":sent": text(string(campaign.BatchSent)), ":now": now,
			},
		}},
		{Update: &types.Update{
			TableName: &s.Campaigns, Key: progressKey(ref.ID),
			UpdateExpression:          aws.String("SET completedAt = :now ADD completed :one"),
			ExpressionAttributeValues: Item{":one": number(1), ":now": now},
		}},
	}, rand.Text())
	if err != nil {
		return false, fmt.Errorf("complete batch %s: %w", ref.BatchID, err)
	}
	for _, r := range reasons {
		if aws.ToString(r.Code) != reasonNone && aws.ToString(r.Code) != reasonCondition {
			return false, fmt.Errorf("complete batch %s: %w", ref.BatchID, campaign.ErrLostRace)
		}
	}
	return len(reasons) == 0, nil
}

// Progress returns the completed and total batches of a campaign.
func (s *BatchStore) Progress(ctx context.Context, id campaign.ID) (campaign.Tally, error) {
	rows, err := s.campaignRows(ctx, map[string]Item{"meta": metaKey(id), "progress": progressKey(id)})
	if err != nil {
		return campaign.Tally{}, fmt.Errorf("read the progress of campaign %s: %w", id.CampaignID, err)
	}
	return campaign.Tally{
		Completed: int(getNumber(rows["progress"], "completed")), CompletedAt: getMillis(rows["progress"], "completedAt"),
		Batches: int(getNumber(rows["meta"], "batches")), Cancelled: getBool(rows["meta"], "cancelled"),
		PartsToCome: s.readTotals(rows["meta"]).PartsToCome,
	}, nil
}

// PostponeCheck sets a batch's next check if it is unchanged since it was read, and reports
// whether it did.
func (s *BatchStore) PostponeCheck(ctx context.Context, b campaign.Batch, next time.Time) (bool, error) {
	return s.updateBatch(ctx, b.BatchRef, "SET nextCheck = :next", "attribute_exists(#due) AND nextCheck = :read",
		Item{":next": millis(next), ":read": millis(b.NextCheck)})
}

// SetFailing updates a batch's failing time if it is unchanged since it was read, and
// reports whether it did. The zero Failing always replaces it.
func (s *BatchStore) SetFailing(ctx context.Context, b campaign.Batch, failing campaign.Failing) (bool, error) {
	if failing == (campaign.Failing{}) {
		return s.updateBatch(ctx, b.BatchRef, "REMOVE failingMillis, failedAt", "attribute_exists(failedAt)", nil)
	}
	condition := "failedAt = :read"
	values := Item{":for": number(failing.For.Milliseconds()), ":at": millis(failing.At), ":read": millis(b.Failing.At)}
	if b.Failing.At.IsZero() {
		condition = "attribute_exists(pk) AND attribute_not_exists(failedAt)"
		delete(values, ":read")
	}
	return s.updateBatch(ctx, b.BatchRef, "SET failingMillis = :for, failedAt = :at", condition, values)
}

// CloseBatch removes a completed or cancelled batch from DueIndex. It also removes the
// batch's reservation and releases the unused part of it. The error wraps
// campaign.ErrLostRace if the reservation has changed since the batch was read.
func (s *BatchStore) CloseBatch(ctx context.Context, b campaign.Batch, unused campaign.Money) error {
	const update, condition = "REMOVE #due, nextCheck", "#state IN (:completed, :cancelled)"
	values := func() Item {
		return Item{":completed": text(string(campaign.BatchCompleted)), ":cancelled": text(string(campaign.BatchCancelled))}
	}
	return untilDecided(ctx, func() error {
		if b.Reserved > 0 {
			if err := s.releaseWith(ctx, b, unused, update, condition, values()); !errors.Is(err, campaign.ErrLostRace) {
				return err
			}
		}
		_, reserved, err := s.updateUnreserved(ctx, b.BatchRef, update, condition, values())
		if err == nil && reserved != nil && reserved.Closed() {
			err = fmt.Errorf("close batch %s: %w", b.BatchID, campaign.ErrLostRace)
		}
		return err
	})
}

func (t *table) updateBatch(ctx context.Context, ref campaign.BatchRef, update, condition string, values Item) (bool, error) {
	in := t.batchUpdate(ref, update, condition, values)
	_, err := t.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: in.TableName, Key: in.Key, UpdateExpression: in.UpdateExpression, ConditionExpression: in.ConditionExpression,
		ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
	})
	return conditionHeld(err, "update batch "+ref.BatchID)
}

func (t *table) batchUpdate(ref campaign.BatchRef, update, condition string, values Item) *types.Update {
	return &types.Update{
		TableName: &t.Campaigns, Key: batchKey(ref),
		UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: reservedNames(update + condition), ExpressionAttributeValues: values,
	}
}

// reservedNames returns the names that an expression uses and that DynamoDB reserves, nil for
// none: DynamoDB rejects an empty map.
func reservedNames(expression string) (names map[string]string) {
	for _, name := range []string{"state", "due", "revoke"} {
		if strings.Contains(expression, "#"+name) {
			if names == nil {
				names = map[string]string{}
			}
			names["#"+name] = name
		}
	}
	return names
}
