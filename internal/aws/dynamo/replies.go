package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
)

// SaveReply stores a reply to a tenant. The same reply can be stored again.
func (s *RecipientStore) SaveReply(ctx context.Context, tenant string, r reaction.Reply) error {
	doing, row := "store a reply to tenant "+tenant, replyRow(replyKey(tenant, r.ID), r)
	if r.Doubtful {
		row["doubtful"] = boolean(true)
	}
	if err := s.tryWrite(ctx, doing, s.put(row)); err != nil || !r.Doubtful {
		return err
	}
	if err := s.saveDoubt(ctx, tenant, r); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// saveDoubt stores a doubtful reply in the row of its number, which has the newest one. Each event is stored once, also
// if its reply has a new time, so that a repeated event does not bring a settled reply back.
func (s *RecipientStore) saveDoubt(ctx context.Context, tenant string, r reaction.Reply) error {
	guard := doubtedKey(tenant, r.Event())
	setEnd(guard, r.At.Add(campaign.EventLife))
	row := replyRow(doubtKey(tenant, r.Phone), r)
	row["reply"] = text(r.ID)
	reasons, err := s.transact(ctx, []types.TransactWriteItem{
		s.putNew(guard), s.putIf(row, absent+" OR #at <= :at", Item{":at": row["at"]}),
	}, rand.Text())
	switch {
	case err != nil || len(reasons) == 0 || failedCondition(reasons[0]):
		return err
	case slices.ContainsFunc(reasons, isConflict):
		return campaign.ErrLostRace
	}
	return s.tryWrite(ctx, "pass a doubtful reply", s.putNew(guard)) // a newer one is in doubt
}

func replyRow(key Item, r reaction.Reply) Item {
	row := with(key, Item{"phone": text(r.Phone), "text": text(r.Text), "at": millis(r.At)})
	setEnd(row, r.At.Add(campaign.EventLife))
	return row
}

func readReply(row Item) reaction.Reply {
	return reaction.Reply{
		ID: getText(row, "sk"), Phone: getText(row, "phone"), Text: getText(row, "text"), At: getMillis(row, "at"), Doubtful: getBool(row, "doubtful"),
	}
}

func readDoubt(row Item) reaction.Reply {
	r := readReply(row)
	r.ID, r.Doubtful = getText(row, "reply"), true
	return r
}

// Replies returns the newest replies to a tenant between two times, up to limit, the newest
// first. It is eventually consistent.
func (s *RecipientStore) Replies(ctx context.Context, tenant string, from, to time.Time, limit int) ([]reaction.Reply, error) {
	in := queryOf(s.Campaigns, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": replyKey(tenant, "")["pk"], ":from": text(reaction.ReplyFrom(from)), ":to": text(reaction.ReplyFrom(to)),
	})
	in.Limit = aws.Int32(int32(limit)) //nolint:gosec // a few thousand
	return s.marked(ctx, tenant, in, limit)
}

// RepliesOf returns the replies of a phone number, given in any forms, to a tenant, the newest first. It reads all replies
// to the tenant, consistently.
func (s *RecipientStore) RepliesOf(ctx context.Context, tenant string, phones []string) ([]reaction.Reply, error) {
	if len(phones) == 0 {
		return nil, nil
	}
	in := queryOf(s.Campaigns, "pk = :pk", Item{":pk": replyKey(tenant, "")["pk"]})
	in.ConsistentRead = aws.Bool(true)
	onlyOf(in, phones)
	return s.marked(ctx, tenant, in, 0)
}

// onlyOf makes a query return only the rows of phone numbers.
func onlyOf(in *dynamodb.QueryInput, phones []string) {
	names := make([]string, len(phones))
	for i, phone := range phones {
		names[i] = fmt.Sprint(":phone", i)
		in.ExpressionAttributeValues[names[i]] = text(phone)
	}
	in.FilterExpression = aws.String("phone IN (" + strings.Join(names, ", ") + ")")
}

// maxDoubts is the number of doubtful replies that DoubtfulReplies reads at most. One that it does not read comes after
// others are settled.
const maxDoubts = 5_000

// DoubtfulReplies returns the doubtful replies to a tenant before the reply with an ID, the newest first, up to limit:
// one of each number. An ID of "" is after all, and a limit of 0 is none.
func (s *RecipientStore) DoubtfulReplies(ctx context.Context, tenant, before string, limit int) (found []reaction.Reply, err error) {
	for row, err := range s.doubts(ctx, tenant, maxDoubts) {
		if err != nil {
			return nil, err
		}
		if r := readDoubt(row); before == "" || r.ID < before {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b reaction.Reply) int { return strings.Compare(b.ID, a.ID) })
	if limit > 0 {
		found = found[:min(len(found), limit)]
	}
	return found, nil
}

// CountDoubts returns the number of doubtful replies to a tenant, up to limit.
func (s *RecipientStore) CountDoubts(ctx context.Context, tenant string, limit int) (n int, err error) {
	for _, err := range s.doubts(ctx, tenant, limit) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// doubts yields the rows of doubtful replies, up to limit.
func (s *RecipientStore) doubts(ctx context.Context, tenant string, limit int) iter.Seq2[Item, error] {
	in := queryOf(s.Campaigns, "pk = :pk", Item{":pk": doubtKey(tenant, "")["pk"]})
	in.ConsistentRead, in.Limit = aws.Bool(true), aws.Int32(int32(limit)) //nolint:gosec // some thousands
	return func(yield func(Item, error) bool) {
		left := limit
		for row, err := range s.each(ctx, "read the doubtful replies to tenant "+tenant, in) {
			if err == nil && s.unexpiredRow(row) == nil {
				continue
			}
			if left--; !yield(row, err) || left == 0 {
				return
			}
		}
	}
}

// DoubtfulReply returns the doubtful reply to a tenant of the number that wrote a reply: that one, or a newer one. The
// error wraps campaign.ErrNotFound if it is settled.
func (s *RecipientStore) DoubtfulReply(ctx context.Context, tenant, id string) (reaction.Reply, error) {
	doing := "read a reply to tenant " + tenant
	row, err := s.get(ctx, doing, replyKey(tenant, id))
	if err != nil {
		return reaction.Reply{}, err
	}
	if row, err = s.get(ctx, doing, doubtKey(tenant, readReply(row).Phone)); err != nil {
		return reaction.Reply{}, err
	}
	return readDoubt(row), nil
}

// settledAtOnce is the number of concurrent deletions of SettleReplies: thousands take some seconds.
const settledAtOnce = 16

// SettleReplies settles the doubtful replies of phone numbers until a time of each. A zero time is any. After an error,
// some may be settled.
func (s *RecipientStore) SettleReplies(ctx context.Context, tenant string, until map[string]time.Time) error {
	doing := "settle replies to tenant " + tenant
	rows, err := s.doubtsOf(ctx, doing, tenant, slices.Collect(maps.Keys(until)))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(settledAtOnce)
	for phone := range rows {
		if end, decided := until[phone]; decided && ctx.Err() == nil {
			group.Go(func() error { return s.tryWrite(ctx, doing, s.settle(doubtKey(tenant, phone), end)) })
		}
	}
	return group.Wait()
}

func (s *RecipientStore) settle(key Item, until time.Time) types.TransactWriteItem {
	if until.IsZero() {
		return s.remove(key)
	}
	return s.removeIf(key, "#at <= :until", Item{":until": millis(until)})
}

// doubtsOf reads the rows of doubtful replies of phone numbers, by number. It can return those of others: of many numbers,
// few are in doubt.
func (s *RecipientStore) doubtsOf(ctx context.Context, doing, tenant string, phones []string) (map[string]Item, error) {
	if len(phones) > perBatchGet {
		rows, err := s.query(ctx, doing, "pk = :pk", Item{":pk": doubtKey(tenant, "")["pk"]})
		return byAttribute(rows, "phone"), err
	}
	return s.rowsOf(ctx, doing, s.Campaigns, phones, func(phone string) Item { return doubtKey(tenant, phone) })
}

func byAttribute(rows []Item, name string) map[string]Item {
	by := make(map[string]Item, len(rows))
	for _, row := range rows {
		by[getText(row, name)] = row
	}
	return by
}

// marked is replies that marks those that are still doubtful: of a number, the newest one.
func (s *RecipientStore) marked(ctx context.Context, tenant string, in *dynamodb.QueryInput, limit int) ([]reaction.Reply, error) {
	found, err := s.replies(ctx, tenant, in, limit)
	var phones []string
	for _, r := range found {
		if r.Doubtful && !slices.Contains(phones, r.Phone) {
			phones = append(phones, r.Phone)
		}
	}
	if err != nil || len(phones) == 0 {
		return found, err
	}
	rows, err := s.doubtsOf(ctx, "read the doubtful replies to tenant "+tenant, tenant, phones)
	for i, r := range found {
		found[i].Doubtful = r.Doubtful && readDoubt(rows[r.Phone]).Event() == r.Event()
	}
	return found, err
}

// replies returns the unexpired replies of a query, each event once. A limit of 0 is none.
func (s *RecipientStore) replies(ctx context.Context, tenant string, in *dynamodb.QueryInput, limit int) (found []reaction.Reply, err error) {
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

// DeleteReplies deletes the replies of a phone number, given in any forms, to a tenant, and returns how many there were.
// It reads again after it deleted some, because a read omits a second row of an event.
func (s *RecipientStore) DeleteReplies(ctx context.Context, tenant string, phones []string) (deleted int, err error) {
	all := map[string]time.Time{}
	for _, phone := range phones {
		all[phone] = time.Time{}
	}
	if err := s.SettleReplies(ctx, tenant, all); err != nil {
		return 0, err
	}
	for {
		found, err := s.RepliesOf(ctx, tenant, phones)
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
