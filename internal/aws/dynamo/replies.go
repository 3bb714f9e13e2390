package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/reaction"
)

// SaveReply stores a reply to a tenant. The same reply can be stored again.
func (s *ReplyStore) SaveReply(ctx context.Context, tenant string, r reaction.Reply) error {
	row := with(replyKey(tenant, r.ID), Item{"phone": text(r.Phone), "text": text(r.Text), "at": millis(r.At)})
	setEnd(row, r.At.Add(campaign.EventLife))
	return s.tryWrite(ctx, "store a reply to tenant "+tenant, s.put(row))
}

// Replies returns the newest replies to a tenant between two times, up to limit, the newest
// first. It is eventually consistent.
func (s *ReplyStore) Replies(ctx context.Context, tenant string, from, to time.Time, limit int) ([]reaction.Reply, error) {
	in := queryOf(s.Campaigns, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": replyKey(tenant, "")["pk"], ":from": text(reaction.ReplyFrom(from)), ":to": text(reaction.ReplyFrom(to)),
	})
	in.Limit = aws.Int32(int32(limit)) //nolint:gosec // a few thousand
	return s.replies(ctx, tenant, in, limit)
}

// RepliesOf returns the replies of a phone number to a tenant, the newest first. It reads all
// replies to the tenant, consistently.
func (s *ReplyStore) RepliesOf(ctx context.Context, tenant, phone string) ([]reaction.Reply, error) {
	in := queryOf(s.Campaigns, "pk = :pk", Item{":pk": replyKey(tenant, "")["pk"], ":phone": text(phone)})
	in.FilterExpression, in.ConsistentRead = aws.String("phone = :phone"), aws.Bool(true)
	return s.replies(ctx, tenant, in, 0)
}

// replies returns the unexpired replies of a query, each event once. A limit of 0 is none.
func (s *ReplyStore) replies(ctx context.Context, tenant string, in *dynamodb.QueryInput, limit int) (found []reaction.Reply, err error) {
	in.ScanIndexForward = aws.Bool(false)
	known := map[string]bool{}
	for row, err := range s.each(ctx, "read the replies to tenant "+tenant, in) {
		if err != nil {
			return nil, err
		}
		r := reaction.Reply{ID: getText(row, "sk"), Phone: getText(row, "phone"), Text: getText(row, "text"), At: getMillis(row, "at")}
		if s.unexpiredRow(row) == nil || known[r.Event()] {
			continue
		}
		known[r.Event()] = true
		if found = append(found, r); len(found) == limit {
			break
		}
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
			if err := s.tryWrite(ctx, "delete a reply to tenant "+tenant, s.remove(replyKey(tenant, r.ID))); err != nil {
				return deleted, err
			}
			deleted++
		}
	}
}
