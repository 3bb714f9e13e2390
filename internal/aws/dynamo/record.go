package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

const headSK = "HEAD"

func logSK(ordinal int) string { return fmt.Sprintf("LOG#%08d", ordinal) }

// Ledger reads the head and the given frames of a batch's ledger consistently.
func (s *Store) Ledger(ctx context.Context, b campaign.Batch, frames []int) (campaign.Ledger, error) {
	if b.Ledger {
		head, err := s.LedgerHead(ctx, b.Key)
		return head.Ledger(frames), err
	}
	row, err := s.get(ctx, outcomeKey(b.Key, headSK))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return campaign.Ledger{}, fmt.Errorf("read the books of batch %s: %w", b.Key, err)
	}
	head, err := readHead(row)
	if err != nil {
		return campaign.Ledger{}, fmt.Errorf("read the books of batch %s: %w", b.Key, err)
	}
	batchLedger := campaign.Ledger{
		Head: head, Frames: make(map[int]campaign.FrameState, len(frames)), States: getBinary(row, "states"),
	}
	for _, f := range frames {
		batchLedger.Frames[f] = readFrame(batchLedger.States, f)
	}
	return batchLedger, nil
}

func readHead(row Item) (campaign.LedgerSummary, error) {
	head, err := unpackTally(getBinary(row, "tally"))
	head.Ordinal = int(getNumber(row, "ordinal"))
	head.Sequence = int(getNumber(row, "sequence"))
	return head, err
}

// Append writes the news, which ledger.News returned, into the ledger of a batch without a
// ledger: the log and the head with the states change together or not at all, and with
// them come the deliveries of what each of the endpoints is owed of it, to be looked at by
// sweep at the time check, which are returned. All has to fit one transaction:
// see MaxNews. The error wraps campaign.ErrLostRace where the ledger is no longer
// as they were read; after any other error they may have been written, which
// reading them again tells.
func (s *Store) Append(ctx context.Context, b campaign.Batch, batchLedger campaign.Ledger, news []campaign.Change, endpoints []campaign.Endpoint, check time.Time) ([]campaign.Delivery, error) {
	pages := slices.Collect(slices.Chunk(news, maxPage))
	head := batchLedger.HeadAfter(news, len(pages))
	items := []types.TransactWriteItem{s.headWrite(b, batchLedger, head, news)}
	var deliveries []campaign.Delivery
	first := batchLedger.Head.Sequence + 1
	for i, page := range pages {
		ordinal := batchLedger.Head.Ordinal + 1 + i
		items = append(items, s.putNew(logRow(b, ordinal, first, page)))
		first += len(page)
		for _, e := range endpoints {
			if wantsSome(e, page) {
				deliveries = append(deliveries, campaign.Delivery{Tenant: b.Tenant, EndpointID: e.ID, Key: b.Key, Ordinal: ordinal, Next: check, Ends: b.Ends()})
			}
		}
	}
	for _, n := range deliveries {
		items = append(items, s.put(deliveryRow(n)))
	}
	reasons, err := s.transact(ctx, items, rand.Text())
	if err == nil && len(reasons) > 0 {
		err = campaign.ErrLostRace
	}
	if err != nil {
		return nil, fmt.Errorf("enter %d changes of batch %s: %w", len(news), b.BatchID, err)
	}
	return deliveries, nil
}

// maxItems is the number of rows that one transaction may write.
const maxItems = 100

// MaxAppend is how many changes Append takes at once for so many endpoints, of
// which there may be 98 at most.
func MaxAppend(endpoints int) int { return max(1, (maxItems-1)/(1+endpoints)) * maxPage }

func wantsSome(e campaign.Endpoint, page []campaign.Change) bool {
	return slices.ContainsFunc(page, func(c campaign.Change) bool { return e.Wants(c.Outcome.Kind()) })
}

// headWrite replaces a HEAD row that is still as it was read. It holds the states
// of all messages: one row of a kilobyte or so costs far less to write than a row for
// each frame that a group of events happens to touch.
func (s *Store) headWrite(b campaign.Batch, old campaign.Ledger, head campaign.LedgerSummary, news []campaign.Change) types.TransactWriteItem {
	row := headRow(b)
	row["ordinal"] = number(head.Ordinal)
	row["sequence"] = number(head.Sequence)
	row["states"] = bytesOf(withStates(old.States, b.Accepted, news))
	row["tally"] = bytesOf(packTally(head))
	condition := "#ordinal = :old"
	if old.Head.Ordinal == 0 {
		condition += " OR attribute_not_exists(pk)"
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  map[string]string{"#ordinal": "ordinal"},
		ExpressionAttributeValues: Item{":old": number(old.Head.Ordinal)},
	}}
}

// headRow is the HEAD row of a batch of which nothing is known. It names its
// batch, so that what finds it by a message's id finds the batch. That of a batch with a
// ledger holds nothing else, and never changes: without an ordinal it fails the
// condition of headWrite, also in a version that does not know ledgers.
func headRow(b campaign.Batch) Item {
	row := outcomeKey(b.Key, headSK)
	row["tenant"] = text(b.Tenant)
	row["campaignId"] = text(b.CampaignID)
	row["batchId"] = text(b.BatchID)
	row["accepted"] = number(b.Accepted)
	if b.Ledger {
		row["ledger"] = boolean(true)
	} else {
		row["ordinal"] = number(0)
	}
	setEnd(row, b.Ends())
	return row
}

// logRow is one page of a batch's log; first is the sequence of its first
// change.
func logRow(b campaign.Batch, ordinal, first int, page []campaign.Change) Item {
	row := outcomeKey(b.Key, logSK(ordinal))
	row["first"] = number(first)
	row["changes"] = bytesOf(packChanges(page))
	setEnd(row, b.Ends())
	return row
}

// Changes returns up to limit changes of a batch's log after a sequence, in their order:
// the first of them has the sequence after that one.
func (s *Store) Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error) {
	if b.Ledger {
		entries, err := s.Entries(ctx, b.Key, after, limit)
		return changesIn(entries), err
	}
	pages, err := s.Log(ctx, b.Key, 0)
	if err != nil {
		return nil, err
	}
	var changes []campaign.Change
	for _, p := range pages {
		from := min(max(after+1-p.First, 0), len(p.Changes))
		to := min(max(after+1+limit-p.First, from), len(p.Changes))
		changes = append(changes, p.Changes[from:to]...)
	}
	return changes, nil
}

// Log returns the pages of the log of a batch without a ledger after the given ordinal,
// in order.
func (s *Store) Log(ctx context.Context, key campaign.BatchKey, after int) ([]campaign.LogPage, error) {
	rows, err := s.query(ctx, "pk = :pk AND sk BETWEEN :from AND :to", logOf(key, after))
	if err != nil {
		return nil, fmt.Errorf("read the log of batch %s: %w", key, err)
	}
	pages := make([]campaign.LogPage, 0, len(rows))
	for _, row := range rows {
		ordinal, err := strconv.Atoi(strings.TrimPrefix(getText(row, "sk"), "LOG#"))
		if err != nil {
			return nil, fmt.Errorf("read the ordinal of a page of the log of batch %s: %w", key, err)
		}
		changes, err := unpackChanges(getBinary(row, "changes"))
		if err != nil {
			return nil, fmt.Errorf("read page %d of the log of batch %s: %w", ordinal, key, err)
		}
		pages = append(pages, campaign.LogPage{Ordinal: ordinal, First: int(getNumber(row, "first")), Changes: changes})
	}
	return pages, nil
}

// Latest returns the last change of each of a batch's messages by its index, the zero
// Change of those of which nothing is known. A log holds only what superseded the
// outcome before.
func (s *Store) Latest(ctx context.Context, b campaign.Batch) ([]campaign.Change, error) {
	latest := make([]campaign.Change, b.Accepted)
	keep := func(c campaign.Change) {
		if c.Index < len(latest) {
			latest[c.Index] = c
		}
	}
	if b.Ledger {
		entries, err := s.Entries(ctx, b.Key, 0, campaign.MaxChanges)
		for _, e := range entries {
			keep(e.Change)
		}
		return latest, err
	}
	rows, err := s.queryFor(ctx, "pk = :pk AND sk BETWEEN :from AND :to", logOf(b.Key, 0), "changes")
	if err != nil {
		return nil, fmt.Errorf("read the log of batch %s: %w", b.Key, err)
	}
	for _, row := range rows {
		if err := eachChange(getBinary(row, "changes"), keep); err != nil {
			return nil, fmt.Errorf("read the log of batch %s: %w", b.Key, err)
		}
	}
	return latest, nil
}

// logOf are the values of a condition that holds for a log's pages after an
// ordinal.
func logOf(key campaign.BatchKey, after int) Item {
	return Item{":pk": outcomeKey(key, headSK)["pk"], ":from": text(logSK(after + 1)), ":to": text("LOG#~")}
}
