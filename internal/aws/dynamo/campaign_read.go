package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
)

const (
	// rowsAtOnce is the number of rows per BatchGetItem call, at most 100.
	rowsAtOnce = 100
	// headReads is the number of concurrent calls.
	headReads = 8
)

// Campaign reads a campaign consistently, with its batches ordered by ordinal. The error
// wraps campaign.ErrNotFound if it does not exist.
func (s *CampaignStore) Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return s.campaign(ctx, id, nil, true)
}

var overview = slices.Concat(totalsAttributes, []string{
	"sk", "name", "askedBy", "createdAt", "ordinal", "key", "templateId", "templateVersion", "errorFile", "accepted", "rejected",
	"acceptedAt", "dueAt", "notAfter", "scheduled", "state", "cancelledAt", "pausedAt", "revoke", "tapKey", "countsClicks", "nextCheck",
	"waiting", "sendWindow", "zones", "waitingZones", "neverZones", "neverSince", "test",
	"failedAt", "part", expiring, "basics", "classes", "basicPrice", "singlePrice", "reserved", "reservedOn",
	"batches", "movedTo", "moves", "movesUpTo", "moving", "movingHeld", "movingHeldOn",
})

// Overview is Campaign with fewer fields: batches lack Payload and Offsets.
func (s *CampaignStore) Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return s.campaign(ctx, id, overview, true)
}

// Dispatched is Campaign without heads.
func (s *CampaignStore) Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return s.campaign(ctx, id, nil, false)
}

var batchAgents = []string{"sk", "key", "agentId", "closedAt", expiring}

// BatchAgents is Dispatched with fewer fields: batches have only their agent and when they were
// closed.
func (s *CampaignStore) BatchAgents(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return s.campaign(ctx, id, batchAgents, false)
}

// campaign reads the given attributes of the campaign's rows (nil for all) and, if heads is
// set, the heads of its batches.
func (t *table) campaign(ctx context.Context, id campaign.ID, rowsFor []string, heads bool) (campaign.Campaign, error) {
	// The sort keys are BATCH#..., META and SET#..., in this order.
	doing := "read campaign " + id.CampaignID
	rows, err := t.query(ctx, doing, "pk = :pk AND sk <= :meta", Item{":pk": metaKey(id)["pk"], ":meta": text(metaSK)}, rowsFor...)
	if err != nil {
		return campaign.Campaign{}, err
	}
	if len(rows) == 0 || getText(rows[len(rows)-1], "sk") != metaSK || getBool(rows[len(rows)-1], expiring) {
		return campaign.Campaign{}, fmt.Errorf("%s: %w", doing, campaign.ErrNotFound)
	}
	meta := rows[len(rows)-1]
	c := campaign.Campaign{
		ID: id, Name: getText(meta, "name"), AskedBy: getText(meta, "askedBy"), CreatedAt: getMillis(meta, "createdAt"),
		CancelledAt: getMillis(meta, "cancelledAt"), PausedAt: getMillis(meta, "pausedAt"), Revoke: getBool(meta, "revoke"), Move: readMove(meta),
		BatchCount: getInt(meta, "batches"), Submission: t.readTotals(meta),
		Batches: make([]campaign.BatchProgress, len(rows)-1),
	}
	for i, row := range rows[:len(rows)-1] {
		ref := campaign.BatchRef{ID: id, BatchID: strings.TrimPrefix(getText(row, "sk"), batchPrefix)}
		if c.Batches[i].Batch, err = readBatch(ref, row); err != nil {
			return c, err
		}
		c.Batches[i].Batch = c.Move.Applied(c.Batches[i].Batch)
	}
	slices.SortFunc(c.Batches, func(a, b campaign.BatchProgress) int { return a.Ordinal - b.Ordinal })
	if !heads {
		return c, nil
	}
	return c, t.readHeads(ctx, c.Batches)
}

// BatchProgress reads a batch consistently: the first existing one of the identifiers. The
// error wraps campaign.ErrNotFound if the campaign does not exist.
func (s *CampaignStore) BatchProgress(
	ctx context.Context, id campaign.ID, batchIDs ...string,
) (p campaign.BatchProgress, found bool, err error) {
	keys := map[string]Item{metaSK: metaKey(id)}
	for _, batchID := range batchIDs {
		if len(batchID) == len(campaign.BatchID("")) { // the length of every batch ID; longer texts may exceed the key size
			keys[batchPrefix+batchID] = batchKey(campaign.BatchRef{ID: id, BatchID: batchID})
		}
	}
	doing := "read a batch of campaign " + id.CampaignID
	rows, err := s.rows(ctx, doing, keys)
	if err != nil {
		return p, false, err
	}
	if rows[metaSK] == nil || getBool(rows[metaSK], expiring) {
		return p, false, fmt.Errorf("%s: %w", doing, campaign.ErrNotFound)
	}
	for _, batchID := range batchIDs {
		row := rows[batchPrefix+batchID]
		if row == nil {
			continue
		}
		one := make([]campaign.BatchProgress, 1)
		if one[0].Batch, err = readBatch(campaign.BatchRef{ID: id, BatchID: batchID}, row); err != nil {
			return p, false, err
		}
		one[0].Batch = readMove(rows[metaSK]).Applied(one[0].Batch)
		return one[0], true, s.readHeads(ctx, one)
	}
	return p, false, nil
}

// readHeads reads the heads of the batches without their tails. Then it reads the taps and
// the clicks of the batches that can have some.
func (t *table) readHeads(ctx context.Context, batches []campaign.BatchProgress) error {
	inLedger := headReader{sks: []string{headSK}, attributes: []string{"newest", "states", "tally"}, set: setHead}
	taps := headReader{sks: []string{tapsSK}, attributes: []string{"newest", "tapped"}, set: setTapped}
	clicks := headReader{sks: []string{tapsSK, clicksSK}, attributes: taps.attributes, set: setTapped}
	heads, tapped := map[*headReader][]*campaign.BatchProgress{}, map[*headReader][]*campaign.BatchProgress{}
	for i := range batches {
		heads[&inLedger] = append(heads[&inLedger], &batches[i])
		switch {
		case batches[i].CountsClicks:
			tapped[&clicks] = append(tapped[&clicks], &batches[i])
		case len(batches[i].TapKey) > 0:
			tapped[&taps] = append(tapped[&taps], &batches[i])
		}
	}
	if err := t.readRows(ctx, heads); err != nil {
		return err
	}
	return t.readRows(ctx, tapped)
}

// readRows reads rows of each batch, some of them concurrently.
func (t *table) readRows(ctx context.Context, byReader map[*headReader][]*campaign.BatchProgress) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(headReads)
	for reader, all := range byReader {
		for some := range slices.Chunk(all, rowsAtOnce/len(reader.sks)) {
			group.Go(func() error { return t.readSomeHeads(ctx, reader, some) })
		}
	}
	return group.Wait()
}

type headReader struct {
	sks        []string // of the rows of a batch
	attributes []string
	// set gets the rows in the order of sks, nil for a missing one.
	set func(b *campaign.BatchProgress, rows []Item) error
}

// setHead sets the head of a batch, and how many of its delivered messages are basic if it
// has both billing classes.
func setHead(b *campaign.BatchProgress, rows []Item) error {
	head, err := readLedgerHead(rows[0])
	if err != nil {
		return err
	}
	b.Head = head.Summary()
	if b.Classes.Mixed() {
		b.DeliveredBasic = b.Delivered(head.Outcome).Basic
	}
	b.ClosedZones = b.CountClosed(head.Outcome)
	return nil
}

// setTapped sets the counts of the taps and, if there is a second row, of the clicks.
func setTapped(b *campaign.BatchProgress, rows []Item) error {
	taps, err := readTaps(rows[0])
	if err != nil {
		return err
	}
	clicks, err := readTaps(slices.Concat(rows, []Item{nil})[1])
	if err != nil {
		return err
	}
	h := &b.Head
	h.Taps, h.Tapped, h.TappedBy = taps.Sequence, taps.Messages(), taps.BySuggestion()
	h.Clicks, h.Clicked, h.ClickedBy = clicks.Sequence, clicks.Messages(), clicks.BySuggestion()
	touched := taps.Or(clicks)
	h.Touched, h.TouchedBy = touched.Messages(), touched.BySuggestion()
	return nil
}

func (t *table) readSomeHeads(ctx context.Context, r *headReader, some []*campaign.BatchProgress) error {
	keys := make(map[string]Item, len(some)*len(r.sks))
	for _, b := range some {
		for _, sk := range r.sks {
			keys[sk+b.BatchID] = ledgerKey(b.Key, sk)
		}
	}
	rows, err := t.rowsFrom(ctx, fmt.Sprintf("read the heads of %d batches", len(some)), t.Outcomes, keys, r.attributes...)
	if err != nil {
		return err
	}
	for _, b := range some {
		of := make([]Item, len(r.sks))
		for i, sk := range r.sks {
			of[i] = rows[sk+b.BatchID]
		}
		if err := r.set(b, of); err != nil {
			return fmt.Errorf("read the head of batch %s: %w", b.BatchID, err)
		}
	}
	return nil
}
