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

func logSK(ordinal int) string { return pageSK(logPages, ordinal) }

// Ledger reads the head and the given frames of a batch's ledger consistently.
func (s *CampaignStore) Ledger(ctx context.Context, b campaign.Batch, frames []int) (campaign.Ledger, error) {
	if b.Ledger {
		head, err := s.LedgerHead(ctx, b.Key)
		return head.Ledger(frames), err
	}
	row, err := s.get(ctx, outcomeKey(b.Key, headSK))
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return campaign.Ledger{}, fmt.Errorf("read ledger of batch %s: %w", b.Key, err)
	}
	head, err := readHead(row)
	if err != nil {
		return campaign.Ledger{}, fmt.Errorf("read ledger of batch %s: %w", b.Key, err)
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

// Append writes news (see campaign.Ledger.Effective) for a batch without a ledger. One
// transaction writes the head, the log pages and the deliveries for the endpoints. check is
// when sweep checks the deliveries. All changes must fit one transaction, see
// MaxAppend. The error wraps campaign.ErrLostRace if the head changed since it was read.
// After any other error, news may have been written: read the head again.
func (s *CampaignStore) Append(ctx context.Context, b campaign.Batch, batchLedger campaign.Ledger, news []campaign.Change, endpoints []campaign.Endpoint, check time.Time) ([]campaign.WebhookDelivery, error) {
	pages := slices.Collect(slices.Chunk(news, maxPage))
	head := batchLedger.HeadAfter(news, len(pages))
	items := []types.TransactWriteItem{s.headWrite(b, batchLedger, head, news)}
	var deliveries []campaign.WebhookDelivery
	first := batchLedger.Head.Sequence + 1
	for i, page := range pages {
		ordinal := batchLedger.Head.Ordinal + 1 + i
		items = append(items, s.putNew(logRow(b, ordinal, first, page)))
		first += len(page)
		for _, e := range endpoints {
			if subscribesToSome(e, page) {
				deliveries = append(deliveries, campaign.WebhookDelivery{Tenant: b.Tenant, EndpointID: e.ID, Key: b.Key, Ordinal: ordinal, Next: check, ExpiresAt: b.ExpiresAt()})
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
		return nil, fmt.Errorf("append %d changes to ledger of batch %s: %w", len(news), b.BatchID, err)
	}
	return deliveries, nil
}

// maxItems is the maximum number of rows of a transaction.
const maxItems = 100

// MaxAppend returns the maximum number of changes per Append, for up to 98 endpoints.
func MaxAppend(endpoints int) int { return max(1, (maxItems-1)/(1+endpoints)) * maxPage }

func subscribesToSome(e campaign.Endpoint, page []campaign.Change) bool {
	return slices.ContainsFunc(page, func(c campaign.Change) bool { return e.Subscribes(c.Outcome.Kind()) })
}

// headWrite replaces the HEAD row if it is unchanged since it was read. The row contains
// the states of all messages: writing 1 KB costs less than a row for each changed frame.
func (s *CampaignStore) headWrite(b campaign.Batch, old campaign.Ledger, head campaign.LedgerSummary, news []campaign.Change) types.TransactWriteItem {
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

// headRow returns the HEAD row of a batch without outcomes. It identifies the batch of a
// message ID. For a batch with a ledger, it contains nothing else and is immutable: it has
// no ordinal, so the condition of headWrite fails, also in older versions.
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
	setEnd(row, b.ExpiresAt())
	return row
}

// logRow returns the row of a log page. first is the sequence of its first change.
func logRow(b campaign.Batch, ordinal, first int, page []campaign.Change) Item {
	row := outcomeKey(b.Key, logSK(ordinal))
	row["first"] = number(first)
	row["changes"] = bytesOf(packChanges(page))
	setEnd(row, b.ExpiresAt())
	return row
}

// Changes returns up to limit changes of a batch's log after a sequence, in order.
func (s *CampaignStore) Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error) {
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

// Log returns the log pages after an ordinal, in order, for a batch without a ledger.
func (s *CampaignStore) Log(ctx context.Context, key campaign.BatchKey, after int) ([]campaign.LogPage, error) {
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

// Latest returns the last change of each message by index. It is the zero Change for
// messages without an outcome.
func (s *CampaignStore) Latest(ctx context.Context, b campaign.Batch) ([]campaign.Change, error) {
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

// logOf returns the query values of the log pages after an ordinal.
func logOf(key campaign.BatchKey, after int) Item {
	return Item{":pk": outcomeKey(key, headSK)["pk"], ":from": text(logSK(after + 1)), ":to": text("LOG#~")}
}
