package dynamo

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
)

// ReplacePayload gives a batch another payload, of other offsets, where it still has
// the one that it was read with and no former one, and reports whether it has it now.
// The one that it had becomes its former one.
func (s *Store) ReplacePayload(ctx context.Context, b campaign.Batch, key string, offsets []int) (bool, error) {
	replaced, err := s.updateBatch(ctx, b.BatchRef, "SET payload = :new, offsets = :offsets, formerPayload = :old",
		"payload = :old AND attribute_not_exists(formerPayload)",
		Item{":new": text(key), ":offsets": packOffsets(offsets), ":old": text(b.Payload)})
	if replaced || err != nil {
		return replaced, err
	}
	// The SDK repeats an update whose answer was lost: it may have taken place.
	latest, err := s.Batch(ctx, b.BatchRef)
	return latest.Payload == key, err
}

// ForgetFormerPayload says of a batch's former payload that it is deleted.
func (s *Store) ForgetFormerPayload(ctx context.Context, b campaign.Batch) error {
	_, err := s.updateBatch(ctx, b.BatchRef, "REMOVE formerPayload", "formerPayload = :former", Item{":former": text(b.FormerPayload)})
	return err
}

// ReplaceSet replaces a campaign's packed set where it is still as it was read, and
// reports whether it was. One whose answer was lost may report false although it took
// place.
func (s *Store) ReplaceSet(ctx context.Context, id campaign.ID, read campaign.PackedSet, packed []byte) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: setKey(id, read.Ordinal),
		UpdateExpression: aws.String("SET packed = :new"), ConditionExpression: aws.String("packed = :read"),
		ExpressionAttributeValues: Item{":new": bytesOf(packed), ":read": bytesOf(read.Packed)},
	})
	return held(err, fmt.Sprintf("write the numbers of batch %d of campaign %s", read.Ordinal, id.CampaignID))
}

// KeptAnswers returns the answers that idempotency keys of all tenants have. It
// reads the whole table, and calls progress with the number of rows looked at so
// far after each megabyte.
func (s *Store) KeptAnswers(ctx context.Context, progress func(rows int)) iter.Seq2[campaign.KeptAnswer, error] {
	return func(yield func(campaign.KeptAnswer, error) bool) {
		pages := dynamodb.NewScanPaginator(s.Client, &dynamodb.ScanInput{
			TableName: &s.Campaigns, ConsistentRead: aws.Bool(true),
			FilterExpression: aws.String("begins_with(pk, :prefix)"), ExpressionAttributeValues: Item{":prefix": text("I#")},
		})
		rows := 0
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(campaign.KeptAnswer{}, fmt.Errorf("read the kept answers: %w", err))
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

func readKeptAnswer(row Item) campaign.KeptAnswer {
	pk := getText(row, "pk")
	tenant, _, _ := strings.Cut(strings.TrimPrefix(pk, "I#"), "#")
	return campaign.KeptAnswer{
		Tenant: tenant, Key: [2]string{pk, getText(row, "sk")}, Body: getBinary(row, "body"), BlobKey: getText(row, "blobKey"),
	}
}

// ReplaceAnswer replaces the body of a kept answer where it is still as it was read,
// and reports whether it was.
func (s *Store) ReplaceAnswer(ctx context.Context, a campaign.KeptAnswer, body []byte) (bool, error) {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: Item{"pk": text(a.Key[0]), "sk": text(a.Key[1])},
		UpdateExpression: aws.String("SET body = :new"), ConditionExpression: aws.String("body = :read"),
		ExpressionAttributeValues: Item{":new": bytesOf(body), ":read": bytesOf(a.Body)},
	})
	return held(err, "write a kept answer")
}
