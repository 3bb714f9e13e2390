package dynamo

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

const headSK = "HEAD"

func stateSK(frame int) string { return fmt.Sprintf("STATE#%03d", frame) }

func logSK(ordinal int) string { return fmt.Sprintf("LOG#%08d", ordinal) }

// outcomePrefix begins the name of each attribute that belongs to an outcome: in
// a HEAD row the number of its messages, in a STATE row the set of the indexes
// within the frame that reached it.
const outcomePrefix = "o_"

// Books reads the head and the given frames of a batch's books consistently.
// The rows may be of different moments: Enter notices that.
func (s *Store) Books(ctx context.Context, key campaign.BatchKey, frames []int) (campaign.Books, error) {
	keys := map[string]rowKey{headSK: {s.Campaigns, outcomeKey(key, headSK)}}
	for _, f := range frames {
		keys[stateSK(f)] = rowKey{s.Campaigns, outcomeKey(key, stateSK(f))}
	}
	rows, err := s.batchGet(ctx, keys)
	if err != nil {
		return campaign.Books{}, fmt.Errorf("read the books of batch %s: %w", key, err)
	}
	books := campaign.Books{
		Head:   readHead(rows[keys[headSK].id()]),
		Frames: make(map[int]campaign.FrameState, len(frames)),
	}
	for _, f := range frames {
		state, err := readState(f, rows[keys[stateSK(f)].id()])
		if err != nil {
			return campaign.Books{}, fmt.Errorf("read frame %d of batch %s: %w", f, key, err)
		}
		books.Frames[f] = state
	}
	return books, nil
}

func readHead(row Item) campaign.Head {
	head := campaign.Head{
		Ordinal:  int(getNumber(row, "ordinal")),
		Sequence: int(getNumber(row, "sequence")),
		Counts:   map[campaign.Outcome]int{},
	}
	for name := range row {
		if outcome, ok := strings.CutPrefix(name, outcomePrefix); ok {
			head.Counts[campaign.Outcome(outcome)] = int(getNumber(row, name))
		}
	}
	return head
}

// readState reads a STATE row. A message stands in the set of each outcome that
// it had; the one that supersedes the others is the one it has.
func readState(frame int, row Item) (campaign.FrameState, error) {
	state := campaign.FrameState{Ordinal: int(getNumber(row, "ordinal")), Outcomes: map[int]campaign.Outcome{}}
	for name, value := range row {
		outcome, ok := strings.CutPrefix(name, outcomePrefix)
		set, isSet := value.(*types.AttributeValueMemberNS)
		if !ok || !isSet {
			continue
		}
		for _, member := range set.Value {
			n, err := strconv.Atoi(member)
			if err != nil {
				return state, fmt.Errorf("read an index: %w", err)
			}
			index := frame*campaign.FrameSize + n
			if o := campaign.Outcome(outcome); o.Supersedes(state.Outcomes[index]) {
				state.Outcomes[index] = o
			}
		}
	}
	return state, nil
}

// Enter writes the news, which books.News returned, into a batch's books: the
// log, the head and the frames change together or not at all. The error wraps
// campaign.ErrLostRace where the books are no longer as they were read; after
// any other error they may have been written, which reading them again tells.
func (s *Store) Enter(ctx context.Context, b campaign.Batch, books campaign.Books, news []campaign.Change) error {
	pages := slices.Collect(slices.Chunk(news, maxPage))
	head := books.HeadAfter(news, len(pages))
	items := []types.TransactWriteItem{s.headWrite(b, books.Head, head)}
	first := books.Head.Sequence + 1
	for i, page := range pages {
		items = append(items, s.putNew(logRow(b.Key, books.Head.Ordinal+1+i, first, page)))
		first += len(page)
	}
	byFrame := map[int][]campaign.Change{}
	for _, c := range news {
		byFrame[c.Index/campaign.FrameSize] = append(byFrame[c.Index/campaign.FrameSize], c)
	}
	for _, frame := range slices.Sorted(maps.Keys(byFrame)) {
		items = append(items, s.stateWrite(b.Key, frame, books.Frames[frame].Ordinal, head.Ordinal, byFrame[frame]))
	}
	reasons, err := s.transact(ctx, items, rand.Text())
	if err != nil {
		return fmt.Errorf("enter %d changes of batch %s: %w", len(news), b.BatchID, err)
	}
	if len(reasons) > 0 {
		return fmt.Errorf("enter %d changes of batch %s: %w", len(news), b.BatchID, campaign.ErrLostRace)
	}
	return nil
}

// headWrite replaces a HEAD row that is still as it was read. The row names its
// batch, so that what finds it by a message's id finds the batch.
func (s *Store) headWrite(b campaign.Batch, old, head campaign.Head) types.TransactWriteItem {
	row := outcomeKey(b.Key, headSK)
	row["tenant"] = text(b.Tenant)
	row["campaignId"] = text(b.CampaignID)
	row["batchId"] = text(b.BatchID)
	row["accepted"] = number(b.Accepted)
	row["ordinal"] = number(head.Ordinal)
	row["sequence"] = number(head.Sequence)
	for outcome, n := range head.Counts {
		row[outcomePrefix+string(outcome)] = number(n)
	}
	if old.Ordinal == 0 {
		return s.putNew(row)
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &s.Campaigns, Item: row,
		ConditionExpression:       aws.String("#ordinal = :old"),
		ExpressionAttributeNames:  map[string]string{"#ordinal": "ordinal"},
		ExpressionAttributeValues: Item{":old": number(old.Ordinal)},
	}}
}

// logRow is one page of a batch's log; first is the sequence of its first
// change.
func logRow(key campaign.BatchKey, ordinal, first int, page []campaign.Change) Item {
	row := outcomeKey(key, logSK(ordinal))
	row["first"] = number(first)
	row["changes"] = bytesOf(packChanges(page))
	return row
}

// stateWrite adds indexes to the sets of a STATE row whose last change was at
// the ordinal old, 0 where there is no row yet.
func (s *Store) stateWrite(key campaign.BatchKey, frame, old, ordinal int, changes []campaign.Change) types.TransactWriteItem {
	sets := map[campaign.Outcome][]string{}
	for _, c := range changes {
		sets[c.Outcome] = append(sets[c.Outcome], strconv.Itoa(c.Index%campaign.FrameSize))
	}
	names := map[string]string{"#ordinal": "ordinal"}
	values := Item{":ordinal": number(ordinal)}
	var adds []string
	for i, outcome := range slices.Sorted(maps.Keys(sets)) {
		names[fmt.Sprint("#", i)] = outcomePrefix + string(outcome)
		values[fmt.Sprint(":", i)] = &types.AttributeValueMemberNS{Value: sets[outcome]}
		adds = append(adds, fmt.Sprintf("#%d :%d", i, i))
	}
	condition := "attribute_not_exists(pk)"
	if old > 0 {
		condition, values[":old"] = "#ordinal = :old", number(old)
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &s.Campaigns, Key: outcomeKey(key, stateSK(frame)),
		UpdateExpression:         aws.String("SET #ordinal = :ordinal ADD " + strings.Join(adds, ", ")),
		ConditionExpression:      &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}}
}

// Log returns the pages of a batch's log after the given ordinal, in order.
func (s *Store) Log(ctx context.Context, key campaign.BatchKey, after int) ([]campaign.LogPage, error) {
	rows, err := s.query(ctx, "pk = :pk AND sk BETWEEN :from AND :to", Item{
		":pk": outcomeKey(key, headSK)["pk"], ":from": text(logSK(after + 1)), ":to": text("LOG#~"),
	})
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
