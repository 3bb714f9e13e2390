package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

const (
	metaSK      = "META"
	batchPrefix = "BATCH#"
	// headsAtOnce is the number of rows per BatchGetItem call, at most 100.
	headsAtOnce = 100
	// headReads is the number of concurrent calls.
	headReads = 8
)

// Campaign reads a campaign consistently, with its batches ordered by ordinal. The error
// wraps campaign.ErrNotFound if it does not exist.
func (s *CampaignStore) Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return s.campaign(ctx, id, nil, []string{"ordinal", "sequence", "tally"}) // without the states of all messages
}

// overview are the attributes of META and BATCH rows that Overview reads.
var overview = []string{
	"sk", "name", "createdAt", "ordinal", "key", "templateId", "templateVersion", "errorFile", "accepted", "rejected",
	"acceptedAt", "dueAt", "notAfter", "scheduled", "state", "cancelledAt", "takeBack", "ledger", "tapKey", "countsClicks", "nextCheck", "failedAt", forgetting,
	"basics", "classes", "basicPrice", "singlePrice", "reserved", "reservedOn",
	"batches", "movedTo", "moves", "movesUpTo", "moving", "movingHeld",
}

// Overview is Campaign with fewer fields: batches lack Payload and Offsets.
// Heads of batches without a ledger lack Ordinal and Sequence.
func (s *CampaignStore) Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return s.campaign(ctx, id, overview, []string{"tally", "states"})
}

// Dispatched is Campaign without heads.
func (s *CampaignStore) Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return s.campaign(ctx, id, nil, nil)
}

// campaign reads the given attributes of the campaign's rows (nil for all) and of its
// batches' heads (nil for none).
func (s *CampaignStore) campaign(ctx context.Context, id campaign.ID, rowsFor, headsFor []string) (campaign.Campaign, error) {
	// The sort keys are BATCH#..., META and SET#..., in this order.
	rows, err := s.queryFor(ctx, "pk = :pk AND sk <= :meta", Item{":pk": metaKey(id)["pk"], ":meta": text(metaSK)}, rowsFor...)
	if err != nil {
		return campaign.Campaign{}, fmt.Errorf("read campaign %s: %w", id.CampaignID, err)
	}
	if len(rows) == 0 || getText(rows[len(rows)-1], "sk") != metaSK || getBool(rows[len(rows)-1], forgetting) {
		return campaign.Campaign{}, fmt.Errorf("read campaign %s: %w", id.CampaignID, campaign.ErrNotFound)
	}
	meta := rows[len(rows)-1]
	c := campaign.Campaign{
		ID: id, Name: getText(meta, "name"), CreatedAt: getMillis(meta, "createdAt"),
		CancelledAt: getMillis(meta, "cancelledAt"), Revoke: getBool(meta, "takeBack"), Move: readMove(meta), BatchCount: int(getNumber(meta, "batches")),
		Batches: make([]campaign.Progress, len(rows)-1),
	}
	for i, row := range rows[:len(rows)-1] {
		ref := campaign.BatchRef{ID: id, BatchID: strings.TrimPrefix(getText(row, "sk"), batchPrefix)}
		if c.Batches[i].Batch, err = readBatch(ref, row); err != nil {
			return c, err
		}
		c.Batches[i].Batch = c.Move.Applied(c.Batches[i].Batch)
	}
	slices.SortFunc(c.Batches, func(a, b campaign.Progress) int { return a.Ordinal - b.Ordinal })
	if headsFor == nil {
		return c, nil
	}
	return c, s.readHeads(ctx, c.Batches, headsFor)
}

// BatchProgress reads a batch consistently: the first existing one of the identifiers. The
// error wraps campaign.ErrNotFound if the campaign does not exist.
func (s *CampaignStore) BatchProgress(ctx context.Context, id campaign.ID, batchIDs ...string) (p campaign.Progress, found bool, err error) {
	keys := map[string]Item{metaSK: metaKey(id)}
	for _, batchID := range batchIDs {
		if len(batchID) == len(campaign.BatchID("")) { // the length of every batch ID; longer texts may exceed the key size
			keys[batchPrefix+batchID] = batchKey(campaign.BatchRef{ID: id, BatchID: batchID})
		}
	}
	rows, err := s.campaignRows(ctx, keys)
	if err == nil && (rows[metaSK] == nil || getBool(rows[metaSK], forgetting)) {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return p, false, fmt.Errorf("read a batch of campaign %s: %w", id.CampaignID, err)
	}
	for _, batchID := range batchIDs {
		row := rows[batchPrefix+batchID]
		if row == nil {
			continue
		}
		one := make([]campaign.Progress, 1)
		if one[0].Batch, err = readBatch(campaign.BatchRef{ID: id, BatchID: batchID}, row); err != nil {
			return p, false, err
		}
		one[0].Batch = readMove(rows[metaSK]).Applied(one[0].Batch)
		return one[0], true, s.readHeads(ctx, one, []string{"ordinal", "sequence", "tally"})
	}
	return p, false, nil
}

// readHeads reads the heads of the batches: of a ledger all but the tail, of other batches
// the attributes. Then it reads the taps and the clicks of the batches that can have
// some.
func (s *CampaignStore) readHeads(ctx context.Context, batches []campaign.Progress, attributes []string) error {
	plain := headReader{table: s.Campaigns, key: outcomeKey, sk: headSK, attributes: attributes, set: setHead(readHead, plainStates)}
	inLedger := headReader{table: s.Outcomes, key: ledgerKey, sk: headSK, attributes: []string{"seq", "states", "tally"}, set: setHead(readSummary, ledgerStates)}
	taps := headReader{table: s.Outcomes, key: ledgerKey, sk: tapsSK, attributes: []string{"seq", "tapped"}, set: setTapped}
	clicks := headReader{table: s.Outcomes, key: ledgerKey, sk: clicksSK, attributes: []string{"seq", "tapped"}, set: setClicked}
	heads, tapped := map[*headReader][]*campaign.Progress{}, map[*headReader][]*campaign.Progress{}
	for i := range batches {
		reader := &plain
		if batches[i].Ledger {
			reader = &inLedger
		}
		heads[reader] = append(heads[reader], &batches[i])
		if len(batches[i].TapKey) > 0 {
			tapped[&taps] = append(tapped[&taps], &batches[i])
		}
		if batches[i].CountsClicks {
			tapped[&clicks] = append(tapped[&clicks], &batches[i])
		}
	}
	if err := s.readRows(ctx, heads); err != nil {
		return err
	}
	return s.readRows(ctx, tapped)
}

// readRows reads a row of each batch, some of them concurrently.
func (s *CampaignStore) readRows(ctx context.Context, byReader map[*headReader][]*campaign.Progress) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(headReads)
	for reader, all := range byReader {
		for some := range slices.Chunk(all, headsAtOnce) {
			group.Go(func() error { return s.readSomeHeads(ctx, reader, some) })
		}
	}
	return group.Wait()
}

// headReader describes where and how heads are read.
type headReader struct {
	table      string
	key        func(key campaign.BatchKey, sk string) Item
	sk         string
	attributes []string
	set        func(b *campaign.Progress, row Item) error
}

// setHead returns a function that sets the head of a batch, and how many of its delivered
// messages are basic if it has both billing classes. states returns outcomes by message.
func setHead(read func(row Item) (campaign.LedgerSummary, error), states func(row Item) func(index int) campaign.Outcome) func(*campaign.Progress, Item) error {
	return func(b *campaign.Progress, row Item) (err error) {
		if b.Head, err = read(row); err != nil {
			return err
		}
		if b.Classes.Mixed() {
			b.DeliveredBasic = b.Delivered(states(row)).Basic
		}
		return nil
	}
}

func setTapped(b *campaign.Progress, row Item) error {
	taps, err := readTaps(row)
	b.Head.Taps, b.Head.Tapped = taps.Sequence, taps.Messages()
	return err
}

func setClicked(b *campaign.Progress, row Item) error {
	clicks, err := readTaps(row)
	b.Head.Clicks, b.Head.Clicked = clicks.Sequence, clicks.Messages()
	return err
}

func plainStates(row Item) func(index int) campaign.Outcome {
	states := getBinary(row, "states")
	return func(index int) campaign.Outcome { return packed.Outcomes[stateAt(states, index)] }
}

// ledgerStates returns no outcomes for a damaged row, which read reports.
func ledgerStates(row Item) func(index int) campaign.Outcome {
	head, _ := readLedgerHead(row)
	return head.Outcome
}

func (s *CampaignStore) readSomeHeads(ctx context.Context, r *headReader, some []*campaign.Progress) error {
	keys := make(map[string]Item, len(some))
	for _, b := range some {
		keys[b.BatchID] = r.key(b.Key, r.sk)
	}
	rows, err := s.rowsFrom(ctx, r.table, keys, r.attributes...)
	if err != nil {
		return fmt.Errorf("read the heads of %d batches: %w", len(some), err)
	}
	for _, b := range some {
		if err := r.set(b, rows[b.BatchID]); err != nil {
			return fmt.Errorf("read the head of batch %s: %w", b.BatchID, err)
		}
	}
	return nil
}

// readSummary decodes a HEAD row of the Outcomes table.
func readSummary(row Item) (campaign.LedgerSummary, error) {
	head, err := readLedgerHead(row)
	return head.Summary(), err
}

// PackedSets reads the packed sets of all batches of a campaign.
func (s *CampaignStore) PackedSets(ctx context.Context, id campaign.ID) ([]campaign.PackedSet, error) {
	sets, err := s.packedSets(ctx, campaign.AcceptQuery{Tenant: id.Tenant, CampaignID: id.CampaignID, Consistent: true})
	if err != nil {
		return nil, fmt.Errorf("read packed sets of campaign %s: %w", id.CampaignID, err)
	}
	return sets, nil
}
