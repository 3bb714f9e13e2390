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
	"campaign-dispatch/internal/ledger"
)

// The rows of the Outcomes table, by batch key:
//
//	HEAD      states, tally and the newest entries of the log (the tail)
//	LOG#first the entries from a sequence on; never changed
//
// All entries up to the sequence of HEAD are stored, each in the tail or in a LOG
// row, and no LOG row holds an entry that HEAD has not counted. A row that has new
// entries has the attribute was, the sequence before the first of them. Whose a batch
// is stands in its HEAD row of the Campaigns table, see Identity.

const logPrefix = "LOG#"

func ledgerKey(key campaign.BatchKey, sk string) Item {
	return Item{"pk": text(key.String()), "sk": text(sk)}
}

// LedgerHead reads the head of a batch's ledger consistently: the zero head where
// nothing is known of it. The error wraps campaign.ErrEnded of a batch that has ended.
func (s *Store) LedgerHead(ctx context.Context, key campaign.BatchKey) (ledger.Head, error) {
	row, err := s.getFrom(ctx, s.Outcomes, ledgerKey(key, headSK))
	if err != nil && (errors.Is(err, campaign.ErrEnded) || !errors.Is(err, campaign.ErrNotFound)) {
		return ledger.Head{}, fmt.Errorf("read the outcomes of batch %s: %w", key, err)
	}
	head, err := readLedgerHead(row)
	if err != nil {
		return head, fmt.Errorf("read the outcomes of batch %s: %w", key, err)
	}
	return head, nil
}

func readLedgerHead(row Item) (ledger.Head, error) {
	packed := ledger.Packed{States: getBinary(row, "states"), Tally: getBinary(row, "tally"), Tail: getBinary(row, "tail")}
	return packed.Head(int(getNumber(row, "seq")))
}

// EnterLedger writes the news, which head.News returned, into the ledger of a batch
// whose head is still as it was read, and returns the head as it is then. A tail that
// is full moves into a LOG row first, which by itself changes nothing: readers address
// entries by sequence. The error wraps campaign.ErrLostRace where the head was no
// longer as it was read, or where an earlier try of this call, whose answer was lost,
// changed it; after any other error the news may have been written. Reading the head
// again tells.
func (s *Store) EnterLedger(ctx context.Context, b campaign.Batch, head ledger.Head, news []campaign.Change) (ledger.Head, error) {
	w := head.Plan(b.Accepted, news)
	for w.Move {
		moved, err := s.moveTail(ctx, b, head)
		if err != nil {
			return head, fmt.Errorf("move entries of batch %s: %w", b.BatchID, err)
		}
		head = head.Drop(moved)
		w = head.Plan(b.Accepted, news)
	}
	write := s.putHead
	if len(w.Pages) > 0 {
		write = s.putPages
	}
	if err := write(ctx, b, w); err != nil {
		return head, fmt.Errorf("enter %d changes of batch %s: %w", len(news), b.BatchID, err)
	}
	return w.Head, nil
}

// moveTail writes the tail of a head as a LOG row, unless one is there that begins with
// the same entry: another call may have moved a shorter tail and ended before it
// changed the head. It returns how many entries the row has.
func (s *Store) moveTail(ctx context.Context, b campaign.Batch, head ledger.Head) (int, error) {
	there, err := s.putFirst(ctx, entriesRow(b, head.First(), head.Tail))
	if err != nil || there == nil {
		return len(head.Tail), err
	}
	changes, err := ledger.Unpack(getBinary(there, "entries"))
	if err != nil {
		return 0, err
	}
	if len(changes) == 0 || len(changes) > len(head.Tail) {
		return 0, campaign.ErrLostRace // the head has moved on since it was read
	}
	return len(changes), nil
}

// putFirst writes a row where there is none, and returns the row that is there instead.
func (s *Store) putFirst(ctx context.Context, row Item) (there Item, err error) {
	err = repeat(ctx, func() error {
		_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.Outcomes, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return failed.Item, nil
	}
	return nil, err
}

// putHead replaces the head.
func (s *Store) putHead(ctx context.Context, b campaign.Batch, w ledger.Write) error {
	put := s.headPut(b, w)
	err := repeat(ctx, func() error {
		_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item,
			ConditionExpression: put.ConditionExpression, ExpressionAttributeValues: put.ExpressionAttributeValues,
		})
		return err
	})
	if ok, err := held(err, "write the head"); err != nil || ok {
		return err
	}
	return campaign.ErrLostRace
}

// putPages replaces the head and writes the news, which no tail holds, as LOG rows, or
// does neither.
func (s *Store) putPages(ctx context.Context, b campaign.Batch, w ledger.Write) error {
	items := []types.TransactWriteItem{{Put: s.headPut(b, w)}}
	first := w.Was + 1
	for _, page := range w.Pages {
		row := entriesRow(b, first, page)
		row["was"] = number(first - 1)
		items = append(items, types.TransactWriteItem{Put: &types.Put{TableName: &s.Outcomes, Item: row}})
		first += len(page)
	}
	reasons, err := s.transact(ctx, items, rand.Text())
	if err == nil && len(reasons) > 0 {
		err = campaign.ErrLostRace
	}
	return err
}

func (s *Store) headPut(b campaign.Batch, w ledger.Write) *types.Put {
	row := ledgerKey(b.Key, headSK)
	row["was"], row["seq"] = number(w.Was), number(w.Head.Sequence)
	row["states"], row["tally"], row["tail"] = bytesOf(w.Packed.States), bytesOf(w.Packed.Tally), bytesOf(w.Packed.Tail)
	row["at"] = number(s.Now().Unix())
	setEnd(row, b.Ends())
	put := &types.Put{TableName: &s.Outcomes, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if w.Was > 0 {
		put.ConditionExpression = aws.String("seq = :was")
		put.ExpressionAttributeValues = Item{":was": number(w.Was)}
	}
	return put
}

func entriesRow(b campaign.Batch, first int, changes []campaign.Change) Item {
	row := ledgerKey(b.Key, logSK(first))
	row["entries"] = bytesOf(ledger.Pack(changes))
	setEnd(row, b.Ends())
	return row
}

// Entries returns up to limit entries of a batch's log after a sequence, in their
// order. What it returns does not depend on where they are stored: the head is read
// first, so that entries which move meanwhile are found in both places.
func (s *Store) Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error) {
	head, err := s.LedgerHead(ctx, key)
	if err != nil {
		return nil, err
	}
	last := min(after+limit, head.Sequence)
	entries, err := s.moved(ctx, key, after, min(last, head.First()-1))
	if err != nil {
		return nil, fmt.Errorf("read the log of batch %s: %w", key, err)
	}
	return follow(entries, ledger.Numbered(head.First(), head.Tail), after, last)
}

// moved returns the entries of the LOG rows that hold those after one sequence and up
// to another.
func (s *Store) moved(ctx context.Context, key campaign.BatchKey, after, last int) ([]ledger.Entry, error) {
	if last <= after {
		return nil, nil
	}
	rows, err := s.queryIn(ctx, s.Outcomes, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": text(key.String()), ":from": text(logSK(max(1, after+2-ledger.MaxPage))), ":to": text(logSK(last)),
	})
	if err != nil {
		return nil, err
	}
	var entries []ledger.Entry
	for _, row := range rows {
		first, err := firstOf(row)
		if err != nil {
			return nil, err
		}
		changes, err := ledger.Unpack(getBinary(row, "entries"))
		if err != nil {
			return nil, err
		}
		entries = append(entries, ledger.Numbered(first, changes)...)
	}
	return entries, nil
}

func changesIn(entries []ledger.Entry) []campaign.Change {
	changes := make([]campaign.Change, len(entries))
	for i, e := range entries {
		changes[i] = e.Change
	}
	return changes
}

func firstOf(row Item) (int, error) {
	first, err := strconv.Atoi(strings.TrimPrefix(getText(row, "sk"), logPrefix))
	if err != nil {
		return 0, fmt.Errorf("read the sequence of a LOG row: %w", campaign.ErrDamaged)
	}
	return first, nil
}

// follow returns the entries after one sequence and up to another, each once.
func follow(moved, tail []ledger.Entry, after, last int) ([]ledger.Entry, error) {
	var entries []ledger.Entry
	next := after + 1
	for _, part := range [][]ledger.Entry{moved, tail} {
		for _, e := range part {
			if e.Sequence < next || e.Sequence > last {
				continue
			}
			if e.Sequence > next {
				return nil, fmt.Errorf("read entry %d: %w", next, campaign.ErrDamaged)
			}
			entries, next = append(entries, e), next+1
		}
	}
	if next <= last {
		return nil, fmt.Errorf("read entry %d: %w", next, campaign.ErrDamaged)
	}
	return entries, nil
}

// LedgersSince returns the batches whose ledgers were written since an instant, by the
// clocks of those who wrote them, each once. It reads the whole Outcomes table. The
// sequence ends at the first error.
func (s *Store) LedgersSince(ctx context.Context, since time.Time) iter.Seq2[campaign.BatchKey, error] {
	pages := dynamodb.NewScanPaginator(s.Client, &dynamodb.ScanInput{
		TableName: &s.Outcomes, ConsistentRead: aws.Bool(true),
		FilterExpression:     aws.String("sk = :head AND #at >= :since AND " + TTL + " > :now"),
		ProjectionExpression: aws.String("pk"), ExpressionAttributeNames: map[string]string{"#at": "at"},
		ExpressionAttributeValues: Item{":head": text(headSK), ":since": number(since.Unix()), ":now": number(s.Now().Unix())},
	})
	return func(yield func(campaign.BatchKey, error) bool) {
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(campaign.BatchKey{}, fmt.Errorf("read which outcomes were written since %s: %w", since, err))
				return
			}
			for _, row := range page.Items {
				if key, err := campaign.ParseBatchKey(getText(row, "pk")); !yield(key, err) || err != nil {
					return
				}
			}
		}
	}
}
