package dynamo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

var errBadKey = errors.New("not the key of a batch")

// Due returns the batches of one of the DueShards whose next check is not after
// now, the longest overdue first. The index lags behind the rows: a batch that
// it names may have moved on. The sequence ends at the first error.
func (s *Store) Due(ctx context.Context, shard int, now time.Time) iter.Seq2[campaign.BatchRef, error] {
	pages := dynamodb.NewQueryPaginator(s.Client, &dynamodb.QueryInput{
		TableName: &s.Campaigns, IndexName: aws.String(DueIndex),
		KeyConditionExpression:    aws.String("#due = :shard AND nextCheck <= :now"),
		ExpressionAttributeNames:  map[string]string{"#due": "due"},
		ExpressionAttributeValues: Item{":shard": text(strconv.Itoa(shard)), ":now": millis(now)},
	})
	return func(yield func(campaign.BatchRef, error) bool) {
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(campaign.BatchRef{}, fmt.Errorf("read shard %d of what is due: %w", shard, err))
				return
			}
			for _, row := range page.Items {
				if ref, err := batchRef(row); !yield(ref, err) || err != nil {
					return
				}
			}
		}
	}
}

// batchRef reads the key that batchKey made. A campaign's id holds no #.
func batchRef(row Item) (ref campaign.BatchRef, err error) {
	id, isCampaign := strings.CutPrefix(getText(row, "pk"), "C#")
	batchID, isBatch := strings.CutPrefix(getText(row, "sk"), "BATCH#")
	at := strings.LastIndexByte(id, '#')
	if !isCampaign || !isBatch || at < 0 {
		return ref, errBadKey
	}
	return campaign.BatchRef{ID: campaign.ID{Tenant: id[:at], CampaignID: id[at+1:]}, BatchID: batchID}, nil
}

// StartRelease moves a pending batch that is due at now to releasing, and tells
// whether it was one.
func (s *Store) StartRelease(ctx context.Context, ref campaign.BatchRef, now, nextCheck time.Time) (bool, error) {
	return s.updateBatch(ctx, ref, "SET #state = :to, #due = :shard, nextCheck = :next", "#state = :from AND dueAt <= :now", Item{
		":from": text(string(campaign.BatchPending)), ":to": text(string(campaign.BatchReleasing)),
		":now": millis(now), ":next": millis(nextCheck), ":shard": text(dueShard(ref)),
	})
}

// EndRelease moves a batch from releasing to sending, and tells whether it was
// still releasing. A next check that the batch has stays: send, which may be at
// work already, knows better when to look again.
func (s *Store) EndRelease(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error) {
	return s.updateBatch(ctx, ref, "SET #state = :to, #due = :shard, nextCheck = if_not_exists(nextCheck, :next)", "#state = :from", Item{
		":from": text(string(campaign.BatchReleasing)), ":to": text(string(campaign.BatchSending)),
		":next": millis(nextCheck), ":shard": text(dueShard(ref)),
	})
}

// FinishBatch moves a batch all of whose messages have an outcome to sent, out
// of sweep's sight, and tells whether it was being released or sent.
func (s *Store) FinishBatch(ctx context.Context, ref campaign.BatchRef) (bool, error) {
	return s.updateBatch(ctx, ref, "SET #state = :to REMOVE #due, nextCheck", "#state IN (:releasing, :sending)", Item{
		":to":        text(string(campaign.BatchSent)),
		":releasing": text(string(campaign.BatchReleasing)), ":sending": text(string(campaign.BatchSending)),
	})
}

// MoveCheck sets when sweep looks at a batch next, where that is still as it
// was read, and tells whether it was.
func (s *Store) MoveCheck(ctx context.Context, b campaign.Batch, next time.Time) (bool, error) {
	return s.updateBatch(ctx, b.BatchRef, "SET nextCheck = :next", "attribute_exists(#due) AND nextCheck = :read",
		Item{":next": millis(next), ":read": millis(b.NextCheck)})
}

// Forget takes a batch that is sent or cancelled out of sweep's sight.
func (s *Store) Forget(ctx context.Context, ref campaign.BatchRef) error {
	_, err := s.updateBatch(ctx, ref, "REMOVE #due, nextCheck", "#state IN (:sent, :cancelled)", Item{
		":sent": text(string(campaign.BatchSent)), ":cancelled": text(string(campaign.BatchCancelled)),
	})
	return err
}

func (s *Store) updateBatch(ctx context.Context, ref campaign.BatchRef, update, condition string, values Item) (bool, error) {
	names := map[string]string{}
	for _, name := range []string{"state", "due"} {
		if strings.Contains(update+condition, "#"+name) {
			names["#"+name] = name
		}
	}
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: batchKey(ref),
		UpdateExpression: &update, ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	})
	return held(err, "update batch "+ref.BatchID)
}
