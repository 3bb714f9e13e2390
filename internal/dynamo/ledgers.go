package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/ledger"
)

// Ledgers keeps the outcomes of batches in a table of their own, whose stream says
// what is new. Its rows, by batch key:
//
//	BATCH     who the batch belongs to; never changed
//	HEAD      states, tally and the newest entries of the log (the tail)
//	LOG#first the entries from a sequence on; never changed
//
// All entries up to the sequence of HEAD are stored, each in the tail or in a LOG
// row, and no LOG row holds an entry that HEAD has not counted. A row that tells of
// entries which are new has the attribute was, the sequence before the first of them.
type Ledgers struct {
	Client *dynamodb.Client
	Table  string // hash key pk, range key sk, a stream of new images
	Now    func() time.Time
}

// rows are the table's rows.
func (l *Ledgers) rows() *Store { return &Store{Client: l.Client, Campaigns: l.Table, Now: l.Now} }

const (
	identitySK = "BATCH"
	logPrefix  = "LOG#"
)

func ledgerKey(key campaign.BatchKey, sk string) Item {
	return Item{"pk": text(key.String()), "sk": text(sk)}
}

// open writes who a batch belongs to, which is there before its head is. To open it
// again is harmless.
func (l *Ledgers) open(ctx context.Context, b campaign.Batch) error {
	row := ledgerKey(b.Key, identitySK)
	row["tenant"], row["campaignId"], row["batchId"] = text(b.Tenant), text(b.CampaignID), text(b.BatchID)
	row["accepted"] = number(b.Accepted)
	setEnd(row, b.Ends())
	_, err := l.putNew(ctx, row)
	if err != nil {
		return fmt.Errorf("open the ledger of batch %s: %w", b.BatchID, err)
	}
	return nil
}

// Identity reads who a batch belongs to; the error wraps campaign.ErrNotFound where
// nobody knows.
func (l *Ledgers) Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
	row, err := l.rows().get(ctx, ledgerKey(key, identitySK))
	if err != nil {
		return campaign.BatchRef{}, fmt.Errorf("read whose batch %s is: %w", key, err)
	}
	return campaign.BatchRef{
		ID:      campaign.ID{Tenant: getText(row, "tenant"), CampaignID: getText(row, "campaignId")},
		BatchID: getText(row, "batchId"),
	}, nil
}

// Head reads the head of a batch's ledger consistently: the zero head where nothing
// is known of it. The error wraps campaign.ErrEnded of a batch that has ended.
func (l *Ledgers) Head(ctx context.Context, key campaign.BatchKey) (ledger.Head, error) {
	row, err := l.rows().get(ctx, ledgerKey(key, headSK))
	if err != nil && (errors.Is(err, campaign.ErrEnded) || !errors.Is(err, campaign.ErrNotFound)) {
		return ledger.Head{}, fmt.Errorf("read the outcomes of batch %s: %w", key, err)
	}
	packed := ledger.Packed{States: getBinary(row, "states"), Tally: getBinary(row, "tally"), Tail: getBinary(row, "tail")}
	head, err := packed.Head(int(getNumber(row, "seq")))
	if err != nil {
		return head, fmt.Errorf("read the outcomes of batch %s: %w", key, err)
	}
	return head, nil
}

// Enter writes the news, which head.News returned, into the ledger of a batch whose
// head is still as it was read, and returns the head as it is then. A tail that is
// full moves into a LOG row first, which by itself changes nothing: readers address
// entries by sequence. The error wraps campaign.ErrLostRace where the head was no
// longer as it was read, or where an earlier try of this call, whose answer was lost,
// changed it; after any other error the news may have been written. Reading the head
// again tells.
func (l *Ledgers) Enter(ctx context.Context, b campaign.Batch, head ledger.Head, news []campaign.Change) (ledger.Head, error) {
	w := head.Plan(b.Accepted, news)
	for w.Move {
		moved, err := l.move(ctx, b, head)
		if err != nil {
			return head, fmt.Errorf("move entries of batch %s: %w", b.BatchID, err)
		}
		head = head.Drop(moved)
		w = head.Plan(b.Accepted, news)
	}
	if w.Was == 0 {
		if err := l.open(ctx, b); err != nil {
			return head, err
		}
	}
	write := l.put
	if len(w.Pages) > 0 {
		write = l.putPages
	}
	if err := write(ctx, b, w); err != nil {
		return head, fmt.Errorf("enter %d changes of batch %s: %w", len(news), b.BatchID, err)
	}
	return w.Head, nil
}

// move writes the tail of a head as a LOG row, unless one is there that begins with
// the same entry: another call may have moved a shorter tail and ended before it
// changed the head. It returns how many entries the row has.
func (l *Ledgers) move(ctx context.Context, b campaign.Batch, head ledger.Head) (int, error) {
	there, err := l.putNew(ctx, entriesRow(b, head.First(), head.Tail))
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

// putNew writes a row where there is none, and returns the row that is there instead.
func (l *Ledgers) putNew(ctx context.Context, row Item) (there Item, err error) {
	err = repeat(ctx, func() error {
		_, err := l.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &l.Table, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return failed.Item, nil
	}
	return nil, err
}

// put replaces the head.
func (l *Ledgers) put(ctx context.Context, b campaign.Batch, w ledger.Write) error {
	put := l.headPut(b, w)
	err := repeat(ctx, func() error {
		_, err := l.Client.PutItem(ctx, &dynamodb.PutItemInput{
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
func (l *Ledgers) putPages(ctx context.Context, b campaign.Batch, w ledger.Write) error {
	items := []types.TransactWriteItem{{Put: l.headPut(b, w)}}
	first := w.Was + 1
	for _, page := range w.Pages {
		row := entriesRow(b, first, page)
		row["was"] = number(first - 1)
		items = append(items, l.rows().put(row))
		first += len(page)
	}
	reasons, err := l.rows().transact(ctx, items, rand.Text())
	if err == nil && len(reasons) > 0 {
		err = campaign.ErrLostRace
	}
	return err
}

func (l *Ledgers) headPut(b campaign.Batch, w ledger.Write) *types.Put {
	row := ledgerKey(b.Key, headSK)
	row["was"], row["seq"] = number(w.Was), number(w.Head.Sequence)
	row["states"], row["tally"], row["tail"] = bytesOf(w.Packed.States), bytesOf(w.Packed.Tally), bytesOf(w.Packed.Tail)
	setEnd(row, b.Ends())
	put := &types.Put{TableName: &l.Table, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
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
func (l *Ledgers) Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error) {
	head, err := l.Head(ctx, key)
	if err != nil {
		return nil, err
	}
	last := min(after+limit, head.Sequence)
	entries, err := l.moved(ctx, key, after, min(last, head.First()-1))
	if err != nil {
		return nil, fmt.Errorf("read the log of batch %s: %w", key, err)
	}
	return follow(entries, ledger.Numbered(head.First(), head.Tail), after, last)
}

// moved returns the entries of the LOG rows that hold those after one sequence and up
// to another.
func (l *Ledgers) moved(ctx context.Context, key campaign.BatchKey, after, last int) ([]ledger.Entry, error) {
	if last <= after {
		return nil, nil
	}
	rows, err := l.rows().query(ctx, "pk = :pk AND sk BETWEEN :from AND :to", Item{
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
