package dynamo

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

// Entries returns up to limit entries of a batch's log after a sequence, in order. It reads
// the head before the LOG rows, so that entries moved in between are found.
func (s *OutcomeStore) Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error) {
	head, err := s.LedgerHead(ctx, key)
	if err != nil {
		return nil, err
	}
	return s.entries(ctx, key, headSK, head.Sequence, head.Tail, after, limit)
}

// TapEntries returns up to limit entries of a batch's log of taps after a sequence, in
// order.
func (s *OutcomeStore) TapEntries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]campaign.Change, error) {
	entries, err := s.tapEntries(ctx, key, tapsSK, after, limit)
	return changesIn(entries), err
}

// ClickEntries returns up to limit entries of a batch's log of clicks after a sequence, in
// order.
func (s *OutcomeStore) ClickEntries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]campaign.Change, error) {
	entries, err := s.tapEntries(ctx, key, clicksSK, after, limit)
	return changesIn(entries), err
}

// Entries returns up to limit taps of a batch after a sequence.
func (s *TapLog) Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error) {
	return s.tapEntries(ctx, key, tapsSK, after, limit)
}

func (t *table) tapEntries(ctx context.Context, key campaign.BatchKey, sk string, after, limit int) ([]ledger.Entry, error) {
	taps, err := readLog(ctx, t, key, sk, readTaps)
	if err != nil {
		return nil, err
	}
	return t.entries(ctx, key, sk, taps.Sequence, taps.Tail, after, limit)
}

// entries returns up to limit entries of a log after a sequence, in order: those of its pages, and
// those of the tail that ends with the last sequence.
func (t *table) entries(
	ctx context.Context, key campaign.BatchKey, sk string, sequence int, tail []campaign.Change, after, limit int,
) ([]ledger.Entry, error) {
	last, first := min(after+limit, sequence), sequence-len(tail)+1
	moved, err := t.moved(ctx, key, sk, after, min(last, first-1))
	if err != nil {
		return nil, fmt.Errorf("read the log %s of batch %s: %w", sk, key, err)
	}
	return follow(moved, ledger.Numbered(first, tail), after, last)
}

// moved returns the entries of the pages that overlap (after, last].
func (t *table) moved(ctx context.Context, key campaign.BatchKey, sk string, after, last int) ([]ledger.Entry, error) {
	if last <= after {
		return nil, nil
	}
	rows, err := t.queryIn(ctx, "read its pages", t.Outcomes, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": text(key.String()), ":from": text(pageSK(sk, max(1, after+2-ledger.MaxPage))), ":to": text(pageSK(sk, last)),
	})
	if err != nil {
		return nil, err
	}
	var entries []ledger.Entry
	for _, row := range rows {
		first, err := strconv.Atoi(strings.TrimPrefix(getText(row, "sk"), pagesOf(sk)))
		if err != nil {
			return nil, fmt.Errorf("read the sequence of a page: %w", campaign.ErrDamaged)
		}
		changes, err := ledger.Unpack(getBinary(row, "entries"))
		if err != nil {
			return nil, err
		}
		entries = append(entries, ledger.Numbered(first, changes)...)
	}
	return entries, nil
}

// Changes returns up to limit changes of a batch's log after a sequence, in order.
func (s *OutcomeStore) Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error) {
	entries, err := s.Entries(ctx, b.Key, after, limit)
	return changesIn(entries), err
}

// Latest returns the last change of each message by index. It is the zero Change for
// messages without an outcome.
func (s *OutcomeStore) Latest(ctx context.Context, b campaign.Batch) ([]campaign.Change, error) {
	latest := make([]campaign.Change, b.Accepted)
	entries, err := s.Entries(ctx, b.Key, 0, campaign.MaxChanges)
	for _, e := range entries {
		if e.Index < len(latest) {
			latest[e.Index] = e.Change
		}
	}
	return latest, err
}

func changesIn(entries []ledger.Entry) []campaign.Change {
	changes := make([]campaign.Change, len(entries))
	for i, e := range entries {
		changes[i] = e.Change
	}
	return changes
}

// follow returns the entries in (after, last] without duplicates. A gap is an error.
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

// LedgersSince yields the batches whose ledgers were written since the instant, according
// to the writers' clocks. It scans the Outcomes table. The sequence ends at the first
// error.
func (s *OutcomeStore) LedgersSince(ctx context.Context, since time.Time) iter.Seq2[campaign.BatchKey, error] {
	return s.writtenSince(ctx, headSK, since)
}

// TapLog reads the logs of taps as OutcomeStore reads those of changes.
type TapLog struct{ table }

// TapLog returns the logs of taps.
func (s *OutcomeStore) TapLog() *TapLog { return &TapLog{s.table} }

// LedgersSince yields the batches whose taps were written since the instant.
func (s *TapLog) LedgersSince(ctx context.Context, since time.Time) iter.Seq2[campaign.BatchKey, error] {
	return s.writtenSince(ctx, tapsSK, since)
}

// writtenSince is LedgersSince for the rows with a sort key.
func (t *table) writtenSince(ctx context.Context, sk string, since time.Time) iter.Seq2[campaign.BatchKey, error] {
	pages := dynamodb.NewScanPaginator(t.Client, &dynamodb.ScanInput{
		TableName: &t.Outcomes, ConsistentRead: aws.Bool(true),
		FilterExpression:     aws.String("sk = :sk AND #at >= :since AND " + TTL + " > :now"),
		ProjectionExpression: aws.String("pk"), ExpressionAttributeNames: map[string]string{"#at": "at"},
		ExpressionAttributeValues: Item{":sk": text(sk), ":since": number(since.Unix()), ":now": number(t.Now().Unix())},
	})
	doing := fmt.Sprintf("find ledgers written since %s", since)
	rows := eachIn(ctx, doing, pages, func(page *dynamodb.ScanOutput) []Item { return page.Items })
	return decoded(rows, func(row Item) (campaign.BatchKey, error) { return campaign.ParseBatchKey(getText(row, "pk")) })
}
