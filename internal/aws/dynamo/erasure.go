package dynamo

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// ReplacePayload replaces a batch's payload if it is unchanged since it was read and there
// is no former payload. The old payload becomes the former one. It reports whether the
// batch has the new payload.
func (s *ErasureStore) ReplacePayload(ctx context.Context, b campaign.Batch, key string, offsets []int) (bool, error) {
	replaced, err := s.updateBatch(ctx, b.BatchRef, "SET payload = :new, offsets = :offsets, formerPayload = :old",
		"payload = :old AND attribute_not_exists(formerPayload)",
		Item{":new": text(key), ":offsets": packOffsets(offsets), ":old": text(b.Payload)})
	if replaced || err != nil {
		return replaced, err
	}
	// The SDK repeats updates without a response: the first one may have succeeded.
	latest, err := (&BatchStore{s.table}).Batch(ctx, b.BatchRef)
	return latest.Payload == key, err
}

// ClearFormerPayload removes the reference to a batch's deleted former payload.
func (s *ErasureStore) ClearFormerPayload(ctx context.Context, b campaign.Batch) error {
	_, err := s.updateBatch(ctx, b.BatchRef, "REMOVE formerPayload", "formerPayload = :former", Item{":former": text(b.FormerPayload)})
	return err
}

// ReplaceSet replaces a campaign's packed set if it is unchanged since it was read, and
// reports whether it did. After a lost response, it can report false although it succeeded.
func (s *ErasureStore) ReplaceSet(ctx context.Context, id campaign.ID, read acceptance.PackedSet, packed []byte) (bool, error) {
	w := s.update(setKey(id, read.Ordinal), "SET packed = :new", "packed = :read",
		Item{":new": bytesOf(packed), ":read": bytesOf(read.Packed)})
	return s.write(ctx, fmt.Sprintf("write packed set %d of campaign %s", read.Ordinal, id.CampaignID), w)
}

// KeptAnswers yields the stored responses of all idempotency keys. It scans the table and
// calls progress with the number of scanned rows after each page.
func (s *ErasureStore) KeptAnswers(ctx context.Context, progress func(rows int)) iter.Seq2[acceptance.KeptAnswer, error] {
	pages := dynamodb.NewScanPaginator(s.Client, &dynamodb.ScanInput{
		TableName: &s.Campaigns, ConsistentRead: aws.Bool(true),
		FilterExpression: aws.String("begins_with(pk, :prefix)"), ExpressionAttributeValues: Item{":prefix": text(answerPrefix)},
	})
	scanned := 0
	rows := eachIn(ctx, "read stored responses", pages, func(page *dynamodb.ScanOutput) []Item {
		scanned += int(page.ScannedCount)
		progress(scanned)
		return page.Items
	})
	return decoded(rows, func(row Item) (acceptance.KeptAnswer, error) { return readKeptAnswer(row), nil })
}

func readKeptAnswer(row Item) acceptance.KeptAnswer {
	pk := getText(row, "pk")
	tenant, _, _ := strings.Cut(strings.TrimPrefix(pk, answerPrefix), "#")
	return acceptance.KeptAnswer{
		Tenant: tenant, Key: [2]string{pk, getText(row, "sk")}, Body: getBinary(row, "body"), BlobKey: getText(row, "blobKey"),
	}
}

// ReplaceAnswer replaces the body of a stored response if it is unchanged since it was
// read, and reports whether it did.
func (s *ErasureStore) ReplaceAnswer(ctx context.Context, a acceptance.KeptAnswer, body []byte) (bool, error) {
	w := s.update(keyOf(a.Key[0], a.Key[1]), "SET body = :new", "body = :read", Item{":new": bytesOf(body), ":read": bytesOf(a.Body)})
	return s.write(ctx, "write stored response", w)
}

// expiring is the attribute of the META row of a campaign that is being deleted. Such a
// campaign cannot be read or extended.
const (
	expiring    = "expiring"
	notExpiring = "attribute_not_exists(" + expiring + ")"
)

const perWrite = 25

// Lifetime reads a campaign's lifetime consistently. The error wraps campaign.ErrNotFound
// if the campaign does not exist.
func (s *ErasureStore) Lifetime(ctx context.Context, id campaign.ID) (campaign.Lifetime, error) {
	row, err := s.get(ctx, "read the lifetime of campaign "+id.CampaignID, metaKey(id))
	return campaign.Lifetime{
		ID: id, Name: getText(row, "name"), Batches: getInt(row, "batches"), LastAt: getMillis(row, "lastAt"),
		Check: getMillis(row, "nextCheck"), Expiring: getBool(row, expiring),
	}, err
}

// PostponeExpiry sets a campaign's next check if it is unchanged since it was read.
func (s *ErasureStore) PostponeExpiry(ctx context.Context, l campaign.Lifetime, next time.Time) error {
	_, err := s.updateLifetime(ctx, l, "SET nextCheck = :next", Item{":next": millis(next)})
	return err
}

// StartExpiry marks a campaign as being deleted if it is unchanged since it was read,
// and reports whether it did. The caller may delete its rows until lease. Then sweep
// checks it again, and another caller continues.
func (s *ErasureStore) StartExpiry(ctx context.Context, l campaign.Lifetime, lease time.Time) (bool, error) {
	return s.updateLifetime(ctx, l, "SET nextCheck = :next, "+expiring+" = :true REMOVE listOf, listAs", Item{
		":next": millis(lease), ":true": boolean(true),
	})
}

func (s *ErasureStore) updateLifetime(ctx context.Context, l campaign.Lifetime, update string, values Item) (bool, error) {
	values[":read"], values[":batches"] = millis(l.Check), number(l.Batches)
	w := s.update(metaKey(l.ID), update, "nextCheck = :read AND batches = :batches", values)
	return s.write(ctx, "change the lifetime of campaign "+l.CampaignID, w)
}

// ExpireRows deletes up to 25 rows of a campaign that is being deleted. It reports whether
// only META and the name are left.
func (s *ErasureStore) ExpireRows(ctx context.Context, id campaign.ID) (done bool, err error) {
	in := queryOf(s.Campaigns, "pk = :pk", Item{":pk": metaKey(id)["pk"]}, "pk", "sk")
	in.ConsistentRead, in.Limit = aws.Bool(true), aws.Int32(perWrite+1) // plus META
	out, err := s.Client.Query(ctx, in)
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

// EndExpiry deletes the campaign's pause, its name, unless another campaign uses it, and its META
// row. The name and the ID can be used again.
func (s *ErasureStore) EndExpiry(ctx context.Context, l campaign.Lifetime) error {
	doing := "delete campaign " + l.CampaignID
	if err := s.dropPause(ctx, l.ID); err != nil {
		return err
	}
	err := s.tryWrite(ctx, doing, s.removeIf(nameKey(l.Tenant, l.Name), "campaignId = :id", Item{":id": text(l.CampaignID)}))
	if err != nil {
		return err
	}
	return s.tryWrite(ctx, doing, s.removeIf(metaKey(l.ID), expiring+" = :true", Item{":true": boolean(true)}))
}
