package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/ledger"
)

// The rows of the Outcomes table, by batch key:
//
//	HEAD       states, tally and the newest entries of the log (the tail)
//	LOG#first  the entries from a sequence on; immutable
//	TAPS       taps and the newest entries of their log
//	TAPS#first the entries of the log of taps from a sequence on; immutable
//	CLICKS, CLICKS#first the same for clicks on links
//
// All entries up to HEAD's sequence are stored, in the tail or in a LOG row. No
// LOG row contains later entries. A row with new entries has the attribute
// "was": the sequence before the first of them. The tenant and the campaign are
// in the batch's HEAD row of the Campaigns table, see Identity.

func logSK(first int) string { return pageSK(logPages, first) }

func ledgerKey(key campaign.BatchKey, sk string) Item {
	return Item{"pk": text(key.String()), "sk": text(sk)}
}

// LedgerHead reads the head of a batch's ledger consistently, the zero Head if there is
// none. The error wraps campaign.ErrExpired for an expired batch.
func (s *LedgerStore) LedgerHead(ctx context.Context, key campaign.BatchKey) (ledger.Head, error) {
	row, err := s.getFrom(ctx, s.Outcomes, ledgerKey(key, headSK))
	if err != nil && (errors.Is(err, campaign.ErrExpired) || !errors.Is(err, campaign.ErrNotFound)) {
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

// AppendLedger appends news (see Head.NewChanges) to a batch's ledger if the head is unchanged
// since it was read. It returns the new head. A full tail is moved to a LOG row first. The
// error wraps campaign.ErrLostRace if the head changed, possibly by a repeated call of the
// SDK. After any other error, news may have been written: read the head again.
func (s *LedgerStore) AppendLedger(ctx context.Context, b campaign.Batch, head ledger.Head, news []campaign.Change) (ledger.Head, error) {
	w := head.Plan(b.Accepted, news)
	for w.Move {
		moved, err := s.movePage(ctx, b, logSK(head.First()), head.Tail)
		if err != nil {
			return head, fmt.Errorf("move log entries of batch %s: %w", b.BatchID, err)
		}
		head = head.Drop(moved)
		w = head.Plan(b.Accepted, news)
	}
	write := s.putHead
	if len(w.Pages) > 0 {
		write = s.putPages
	}
	if err := write(ctx, b, w); err != nil {
		return head, fmt.Errorf("append %d changes to ledger of batch %s: %w", len(news), b.BatchID, err)
	}
	return w.Head, nil
}

// putFirst writes a row if there is none. Otherwise it returns the existing row.
func (t *table) putFirst(ctx context.Context, row Item) (there Item, err error) {
	err = repeat(ctx, func() error {
		_, err := t.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &t.Outcomes, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)"),
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
func (s *LedgerStore) putHead(ctx context.Context, b campaign.Batch, w ledger.Write) error {
	put := s.headPut(b, w)
	err := repeat(ctx, func() error {
		_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: put.TableName, Item: put.Item,
			ConditionExpression: put.ConditionExpression, ExpressionAttributeValues: put.ExpressionAttributeValues,
		})
		return err
	})
	if ok, err := conditionHeld(err, "write the head"); err != nil || ok {
		return err
	}
	return campaign.ErrLostRace
}

// putPages replaces the head and writes news as LOG rows, in one transaction.
func (s *LedgerStore) putPages(ctx context.Context, b campaign.Batch, w ledger.Write) error {
	items := []types.TransactWriteItem{{Put: s.headPut(b, w)}}
	first := w.Was + 1
	for _, page := range w.Pages {
		row := pageRow(b, logSK(first), page)
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

func (s *LedgerStore) headPut(b campaign.Batch, w ledger.Write) *types.Put {
	row := ledgerKey(b.Key, headSK)
	row["was"], row["seq"] = number(w.Was), number(w.Head.Sequence)
	row["states"], row["tally"], row["tail"] = bytesOf(w.Packed.States), bytesOf(w.Packed.Tally), bytesOf(w.Packed.Tail)
	row["at"] = number(s.Now().Unix())
	setEnd(row, b.ExpiresAt())
	put := &types.Put{TableName: &s.Outcomes, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if w.Was > 0 {
		put.ConditionExpression = aws.String("seq = :was")
		put.ExpressionAttributeValues = Item{":was": number(w.Was)}
	}
	return put
}
