package dynamo

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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

// ForgetFormerPayload removes the reference to a batch's deleted former payload.
func (s *ErasureStore) ForgetFormerPayload(ctx context.Context, b campaign.Batch) error {
	_, err := s.updateBatch(ctx, b.BatchRef, "REMOVE formerPayload", "formerPayload = :former", Item{":former": text(b.FormerPayload)})
	return err
}

// ReplaceSet replaces a campaign's packed set if it is unchanged since it was read, and
// reports whether it did. After a lost response, it can report false although it succeeded.
func (s *ErasureStore) ReplaceSet(ctx context.Context, id campaign.ID, read acceptance.PackedSet, packed []byte) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: setKey(id, read.Ordinal),
		UpdateExpression: aws.String("SET packed = :new"), ConditionExpression: aws.String("packed = :read"),
		ExpressionAttributeValues: Item{":new": bytesOf(packed), ":read": bytesOf(read.Packed)},
	})
	return conditionHeld(err, fmt.Sprintf("write packed set %d of campaign %s", read.Ordinal, id.CampaignID))
}

// KeptAnswers yields the stored responses of all idempotency keys. It scans the table and
// calls progress with the number of scanned rows after each page.
func (s *ErasureStore) KeptAnswers(ctx context.Context, progress func(rows int)) iter.Seq2[acceptance.KeptAnswer, error] {
	return func(yield func(acceptance.KeptAnswer, error) bool) {
		pages := dynamodb.NewScanPaginator(s.Client, &dynamodb.ScanInput{
			TableName: &s.Campaigns, ConsistentRead: aws.Bool(true),
			FilterExpression: aws.String("begins_with(pk, :prefix)"), ExpressionAttributeValues: Item{":prefix": text("I#")},
		})
		rows := 0
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(acceptance.KeptAnswer{}, fmt.Errorf("read stored responses: %w", err))
				return
			}
			rows += int(page.ScannedCount)
			progress(rows)
			for _, row := range page.Items {
				if !yield(readKeptAnswer(row), nil) {
					return
				}
			}
		}
	}
}

func readKeptAnswer(row Item) acceptance.KeptAnswer {
	pk := getText(row, "pk")
	tenant, _, _ := strings.Cut(strings.TrimPrefix(pk, "I#"), "#")
	return acceptance.KeptAnswer{
		Tenant: tenant, Key: [2]string{pk, getText(row, "sk")}, Body: getBinary(row, "body"), BlobKey: getText(row, "blobKey"),
	}
}

// ReplaceAnswer replaces the body of a stored response if it is unchanged since it was
// read, and reports whether it did.
func (s *ErasureStore) ReplaceAnswer(ctx context.Context, a acceptance.KeptAnswer, body []byte) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: Item{"pk": text(a.Key[0]), "sk": text(a.Key[1])},
		UpdateExpression: aws.String("SET body = :new"), ConditionExpression: aws.String("body = :read"),
		ExpressionAttributeValues: Item{":new": bytesOf(body), ":read": bytesOf(a.Body)},
	})
	return conditionHeld(err, "write stored response")
}
