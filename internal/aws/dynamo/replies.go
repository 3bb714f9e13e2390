package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/reaction"
)

// SaveReply stores a reply to a tenant. The same reply can be stored again. A doubtful one has a second row until it is
// settled. That row is written with the first one only, so a repeated event does not bring it back.
func (s *ReplyStore) SaveReply(ctx context.Context, tenant string, r reaction.Reply) error {
	doing := "store a reply to tenant " + tenant
	if !r.Doubtful {
		return s.tryWrite(ctx, doing, s.put(replyRow(replyKey(tenant, r.ID), r)))
	}
	reasons, err := s.transact(ctx, []types.TransactWriteItem{
		s.putNew(replyRow(replyKey(tenant, r.ID), r)), s.put(replyRow(doubtKey(tenant, r.ID), r)),
	}, rand.Text())
	if err == nil && slices.ContainsFunc(reasons, isConflict) {
		err = campaign.ErrLostRace
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func replyRow(key Item, r reaction.Reply) Item {
	row := with(key, Item{"phone": text(r.Phone), "text": text(r.Text), "at": millis(r.At)})
	setEnd(row, r.At.Add(campaign.EventLife))
	return row
}

func readReply(row Item) reaction.Reply {
	return reaction.Reply{ID: getText(row, "sk"), Phone: getText(row, "phone"), Text: getText(row, "text"), At: getMillis(row, "at")}
}

// Replies returns the newest replies to a tenant between two times, up to limit, the newest
// first. It is eventually consistent.
func (s *ReplyStore) Replies(ctx context.Context, tenant string, from, to time.Time, limit int) ([]reaction.Reply, error) {
	in := queryOf(s.Campaigns, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": replyKey(tenant, "")["pk"], ":from": text(reaction.ReplyFrom(from)), ":to": text(reaction.ReplyFrom(to)),
	})
	in.Limit = aws.Int32(int32(limit)) //nolint:gosec // a few thousand
	return s.marked(ctx, tenant, in, limit)
}

// RepliesOf returns the replies of a phone number to a tenant, the newest first. It reads all
// replies to the tenant, consistently.
func (s *ReplyStore) RepliesOf(ctx context.Context, tenant, phone string) ([]reaction.Reply, error) {
	in := queryOf(s.Campaigns, "pk = :pk", Item{":pk": replyKey(tenant, "")["pk"], ":phone": text(phone)})
	in.FilterExpression, in.ConsistentRead = aws.String("phone = :phone"), aws.Bool(true)
	return s.marked(ctx, tenant, in, 0)
}

// DoubtfulReplies returns the doubtful replies to a tenant before the reply with an ID, the newest first, up to limit.
// An ID of "" is after all, and a limit of 0 is none.
func (s *ReplyStore) DoubtfulReplies(ctx context.Context, tenant, before string, limit int) ([]reaction.Reply, error) {
	in := queryOf(s.Campaigns, "pk = :pk AND sk < :before", Item{":pk": doubtKey(tenant, "")["pk"], ":before": text(cmp.Or(before, "~"))})
	in.ConsistentRead = aws.Bool(true)
	if limit > 0 {
		in.Limit = aws.Int32(int32(limit)) //nolint:gosec // a hundred
	}
	found, err := s.replies(ctx, tenant, in, limit)
	for i := range found {
		found[i].Doubtful = true
	}
	return found, err
}

// DoubtfulReply returns a doubtful reply to a tenant. The error wraps campaign.ErrNotFound if it is settled.
func (s *ReplyStore) DoubtfulReply(ctx context.Context, tenant, id string) (reaction.Reply, error) {
	row, err := s.get(ctx, "read a reply to tenant "+tenant, doubtKey(tenant, id))
	if err != nil {
		return reaction.Reply{}, err
	}
	r := readReply(row)
	r.Doubtful = true
	return r, nil
}

// SettleReplies removes the mark of the doubtful replies on which there is a decision.
func (s *ReplyStore) SettleReplies(ctx context.Context, tenant string, decided func(r reaction.Reply) bool) error {
	doing := "settle replies to tenant " + tenant
	rows, err := s.query(ctx, doing, "pk = :pk", Item{":pk": doubtKey(tenant, "")["pk"]})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if r := readReply(row); decided(r) {
			if err := s.tryWrite(ctx, doing, s.remove(doubtKey(tenant, r.ID))); err != nil {
				return err
			}
		}
	}
	return nil
}

// marked is replies that marks those that are doubtful.
func (s *ReplyStore) marked(ctx context.Context, tenant string, in *dynamodb.QueryInput, limit int) ([]reaction.Reply, error) {
	found, err := s.replies(ctx, tenant, in, limit)
	if err != nil || len(found) == 0 {
		return found, err
	}
	doubtful, err := s.query(ctx, "read the doubtful replies to tenant "+tenant, "pk = :pk AND sk BETWEEN :last AND :first", Item{
		":pk": doubtKey(tenant, "")["pk"], ":first": text(found[0].ID), ":last": text(found[len(found)-1].ID),
	}, "sk")
	marks := map[string]bool{}
	for _, row := range doubtful {
		marks[getText(row, "sk")] = true
	}
	for i, r := range found {
		found[i].Doubtful = marks[r.ID]
	}
	return found, err
}

// replies returns the unexpired replies of a query, each event once. A limit of 0 is none.
func (s *ReplyStore) replies(ctx context.Context, tenant string, in *dynamodb.QueryInput, limit int) (found []reaction.Reply, err error) {
	in.ScanIndexForward = aws.Bool(false)
	known := map[string]bool{}
	for row, err := range s.each(ctx, "read the replies to tenant "+tenant, in) {
		if err != nil {
			return nil, err
		}
		r := readReply(row)
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
	if err := s.SettleReplies(ctx, tenant, func(r reaction.Reply) bool { return r.Phone == phone }); err != nil {
		return 0, err
	}
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
