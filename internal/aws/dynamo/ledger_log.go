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
	"campaign-dispatch/internal/outcome/ledger"
)

// Entries returns up to limit entries of a batch's log after a sequence, in order. It reads
// the head before the LOG rows, so that entries moved in between are found.
func (s *LedgerStore) Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error) {
	head, err := s.LedgerHead(ctx, key)
	if err != nil {
		return nil, err
	}
	last := min(after+limit, head.Sequence)
	entries, err := s.moved(ctx, key, logPages, after, min(last, head.First()-1))
	if err != nil {
		return nil, fmt.Errorf("read the log of batch %s: %w", key, err)
	}
	return follow(entries, ledger.Numbered(head.First(), head.Tail), after, last)
}

// moved returns the entries of the pages with the prefix that overlap (after, last].
func (t *table) moved(ctx context.Context, key campaign.BatchKey, prefix string, after, last int) ([]ledger.Entry, error) {
	if last <= after {
		return nil, nil
	}
	rows, err := t.queryIn(ctx, t.Outcomes, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": text(key.String()), ":from": text(pageSK(prefix, max(1, after+2-ledger.MaxPage))), ":to": text(pageSK(prefix, last)),
	})
	if err != nil {
		return nil, err
	}
	var entries []ledger.Entry
	for _, row := range rows {
		first, err := firstOf(row, prefix)
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

func firstOf(row Item, prefix string) (int, error) {
	first, err := strconv.Atoi(strings.TrimPrefix(getText(row, "sk"), prefix))
	if err != nil {
		return 0, fmt.Errorf("read the sequence of a page: %w", campaign.ErrDamaged)
	}
	return first, nil
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
func (s *LedgerStore) LedgersSince(ctx context.Context, since time.Time) iter.Seq2[campaign.BatchKey, error] {
	return s.writtenSince(ctx, headSK, since)
}

// writtenSince is LedgersSince for the rows with a sort key.
func (t *table) writtenSince(ctx context.Context, sk string, since time.Time) iter.Seq2[campaign.BatchKey, error] {
	pages := dynamodb.NewScanPaginator(t.Client, &dynamodb.ScanInput{
		TableName: &t.Outcomes, ConsistentRead: aws.Bool(true),
		FilterExpression:     aws.String("sk = :sk AND #at >= :since AND " + TTL + " > :now"),
		ProjectionExpression: aws.String("pk"), ExpressionAttributeNames: map[string]string{"#at": "at"},
		ExpressionAttributeValues: Item{":sk": text(sk), ":since": number(since.Unix()), ":now": number(t.Now().Unix())},
	})
	return func(yield func(campaign.BatchKey, error) bool) {
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(campaign.BatchKey{}, fmt.Errorf("find ledgers written since %s: %w", since, err))
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
