package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/reaction"
)

func replyKey(tenant, id string) Item {
	return Item{"pk": text("REPLIES#" + tenant), "sk": text(id)}
}

// SaveReply stores a reply to a tenant. The same reply can be stored again.
func (s *ReplyStore) SaveReply(ctx context.Context, tenant string, r reaction.Reply) error {
	row := replyKey(tenant, r.ID)
	row["phone"], row["text"], row["at"] = text(r.Phone), text(r.Text), millis(r.At)
	setEnd(row, r.At.Add(campaign.EventLife))
	if _, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.Campaigns, Item: row}); err != nil {
		return fmt.Errorf("store a reply to tenant %s: %w", tenant, err)
	}
	return nil
}

// Replies returns the newest replies to a tenant between two times, up to limit, the newest
// first. It is eventually consistent.
func (s *ReplyStore) Replies(ctx context.Context, tenant string, from, to time.Time, limit int) ([]reaction.Reply, error) {
	query := &dynamodb.QueryInput{
		TableName: &s.Campaigns, ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(limit)), //nolint:gosec // a few thousand
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :from AND :to"),
		ExpressionAttributeValues: Item{
			":pk": replyKey(tenant, "")["pk"], ":from": text(reaction.ReplyFrom(from)), ":to": text(reaction.ReplyFrom(to)),
		},
	}
	return s.replies(ctx, tenant, query, limit)
}

// RepliesOf returns the replies of a phone number to a tenant, the newest first. It reads all
// replies to the tenant, consistently.
func (s *ReplyStore) RepliesOf(ctx context.Context, tenant, phone string) ([]reaction.Reply, error) {
	return s.replies(ctx, tenant, &dynamodb.QueryInput{
		TableName: &s.Campaigns, ScanIndexForward: aws.Bool(false), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk"), FilterExpression: aws.String("phone = :phone"),
		ExpressionAttributeValues: Item{":pk": replyKey(tenant, "")["pk"], ":phone": text(phone)},
	}, 0)
}

// replies returns the unexpired replies of a query, each event once. A limit of 0 is none.
func (s *ReplyStore) replies(ctx context.Context, tenant string, query *dynamodb.QueryInput, limit int) (found []reaction.Reply, err error) {
	known := map[string]bool{}
	for pages := dynamodb.NewQueryPaginator(s.Client, query); pages.HasMorePages() && (limit == 0 || len(found) < limit); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the replies to tenant %s: %w", tenant, err)
		}
		for _, row := range s.unexpiredRows(page.Items) {
			r := reaction.Reply{ID: getText(row, "sk"), Phone: getText(row, "phone"), Text: getText(row, "text"), At: getMillis(row, "at")}
			if !known[r.Event()] {
				found = append(found, r)
			}
			known[r.Event()] = true
		}
	}
	if limit > 0 {
		found = found[:min(len(found), limit)]
	}
	return found, nil
}

// DeleteReplies deletes the replies of a phone number to a tenant, and returns how many
// there were. It reads again after it deleted some, because a read omits a second row of an
// event.
func (s *ReplyStore) DeleteReplies(ctx context.Context, tenant, phone string) (deleted int, err error) {
	for {
		found, err := s.RepliesOf(ctx, tenant, phone)
		if err != nil || len(found) == 0 {
			return deleted, err
		}
		for _, r := range found {
			if _, err := s.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.Campaigns, Key: replyKey(tenant, r.ID)}); err != nil {
				return deleted, fmt.Errorf("delete a reply to tenant %s: %w", tenant, err)
			}
			deleted++
		}
	}
}
