package dynamo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/ledger"
)

// tapsSK and its pages contain the taps of a batch, like HEAD and LOG. clicksSK and its
// pages contain its clicks. They have no attribute "was", so the table's stream does not
// feed them.
const (
	tapsSK   = "TAPS"
	clicksSK = "CLICKS"
	logPages = "LOG#"
)

// pagesOf returns the prefix of the pages of tapsSK or clicksSK.
func pagesOf(sk string) string { return sk + "#" }

// skOf returns the row of taps or of clicks.
func skOf(changes []campaign.Change) string {
	if len(changes) > 0 && changes[0].Outcome == campaign.OutcomeClicked {
		return clicksSK
	}
	return tapsSK
}

func pageSK(prefix string, first int) string { return fmt.Sprintf("%s%08d", prefix, first) }

// Taps reads the taps of a batch consistently, the zero Taps if there are none.
func (s *TapStore) Taps(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error) {
	return s.tapsIn(ctx, key, tapsSK)
}

// Clicks reads the clicks of a batch consistently, the zero Taps if there are none.
func (s *TapStore) Clicks(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error) {
	return s.tapsIn(ctx, key, clicksSK)
}

func (s *TapStore) tapsIn(ctx context.Context, key campaign.BatchKey, sk string) (ledger.Taps, error) {
	row, err := s.getFrom(ctx, s.Outcomes, ledgerKey(key, sk))
	if err != nil && (errors.Is(err, campaign.ErrExpired) || !errors.Is(err, campaign.ErrNotFound)) {
		return ledger.Taps{}, fmt.Errorf("read the %s of batch %s: %w", sk, key, err)
	}
	taps, err := readTaps(row)
	if err != nil {
		return taps, fmt.Errorf("read the %s of batch %s: %w", sk, key, err)
	}
	return taps, nil
}

func readTaps(row Item) (ledger.Taps, error) {
	packed := ledger.PackedTaps{Tapped: getBinary(row, "tapped"), Tail: getBinary(row, "tail")}
	return packed.Taps(int(getNumber(row, "seq")))
}

// AppendTaps appends news (see Taps.NewTaps) to the taps of a batch if they are unchanged
// since they were read. If news are clicks, taps are the batch's clicks. Its errors are those
// of AppendLedger.
func (s *TapStore) AppendTaps(ctx context.Context, b campaign.Batch, taps ledger.Taps, news []campaign.Change) (ledger.Taps, error) {
	sk := skOf(news)
	if taps.Full(news) {
		moved, err := s.movePage(ctx, b, pageSK(pagesOf(sk), taps.First()), taps.Tail)
		if err != nil {
			return taps, fmt.Errorf("move taps of batch %s: %w", b.BatchID, err)
		}
		taps = taps.Drop(moved)
	}
	next := taps.After(news)
	err := repeat(ctx, func() error {
		_, err := s.Client.PutItem(ctx, s.tapsPut(b, sk, taps.Sequence, next))
		return err
	})
	held, err := conditionHeld(err, "write the taps")
	if err == nil && !held {
		err = campaign.ErrLostRace
	}
	if err != nil {
		return taps, fmt.Errorf("append %d taps to batch %s: %w", len(news), b.BatchID, err)
	}
	return next, nil
}

func (s *TapStore) tapsPut(b campaign.Batch, sk string, was int, next ledger.Taps) *dynamodb.PutItemInput {
	row, packed := ledgerKey(b.Key, sk), next.Pack()
	row["seq"], row["tapped"], row["tail"] = number(next.Sequence), bytesOf(packed.Tapped), bytesOf(packed.Tail)
	row["at"] = number(s.Now().Unix())
	setEnd(row, b.ExpiresAt())
	put := &dynamodb.PutItemInput{TableName: &s.Outcomes, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if was > 0 {
		put.ConditionExpression = aws.String("seq = :was")
		put.ExpressionAttributeValues = Item{":was": number(was)}
	}
	return put
}

// TapEntries returns up to limit entries of a batch's log of taps after a sequence, in
// order.
func (s *TapStore) TapEntries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]campaign.Change, error) {
	return s.tapEntriesIn(ctx, key, tapsSK, after, limit)
}

// ClickEntries returns up to limit entries of a batch's log of clicks after a sequence, in
// order.
func (s *TapStore) ClickEntries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]campaign.Change, error) {
	return s.tapEntriesIn(ctx, key, clicksSK, after, limit)
}

func (s *TapStore) tapEntriesIn(ctx context.Context, key campaign.BatchKey, sk string, after, limit int) ([]campaign.Change, error) {
	taps, err := s.tapsIn(ctx, key, sk)
	if err != nil {
		return nil, err
	}
	last := min(after+limit, taps.Sequence)
	moved, err := s.moved(ctx, key, pagesOf(sk), after, min(last, taps.First()-1))
	if err != nil {
		return nil, fmt.Errorf("read the %s of batch %s: %w", sk, key, err)
	}
	entries, err := follow(moved, ledger.Numbered(taps.First(), taps.Tail), after, last)
	return changesIn(entries), err
}

// LedgersSince yields the batches whose taps were written since the instant.
func (s *TapLogStore) LedgersSince(ctx context.Context, since time.Time) iter.Seq2[campaign.BatchKey, error] {
	return s.writtenSince(ctx, tapsSK, since)
}

// Entries returns up to limit taps of a batch after a sequence.
func (s *TapLogStore) Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error) {
	taps, err := (&TapStore{s.table}).TapEntries(ctx, key, after, limit)
	return ledger.Numbered(after+1, taps), err
}

// movePage writes the tail of a HEAD or TAPS row as a page and returns the number of
// entries in that page. The page may already exist with fewer entries, written by a call
// that did not update the row of the tail.
func (t *table) movePage(ctx context.Context, b campaign.Batch, sk string, tail []campaign.Change) (int, error) {
	there, err := t.putFirst(ctx, pageRow(b, sk, tail))
	if err != nil || there == nil {
		return len(tail), err
	}
	changes, err := ledger.Unpack(getBinary(there, "entries"))
	if err != nil {
		return 0, err
	}
	if len(changes) == 0 || len(changes) > len(tail) {
		return 0, campaign.ErrLostRace // the tail changed since it was read
	}
	return len(changes), nil
}

func pageRow(b campaign.Batch, sk string, changes []campaign.Change) Item {
	row := ledgerKey(b.Key, sk)
	row["entries"] = bytesOf(ledger.Pack(changes))
	setEnd(row, b.ExpiresAt())
	return row
}
