package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

// A batch has three logs, each with a row of the Outcomes table and its pages: HEAD and LOG# of
// outcomes, TAPS and TAPS# of taps on suggestions, CLICKS and CLICKS# of clicks on links.
//
// All entries up to the sequence "newest" of the row are stored, in its tail or in a page. No page
// contains later entries, and pages are immutable. A row of the log of outcomes with new entries has
// the attribute "newAfter": the sequence before the first of them. The rows of the other logs have
// none, so the table's stream does not feed them. The tenant and the campaign are in the batch's
// HEAD row of the Campaigns table, see Identity.
const (
	tapsSK   = "TAPS"
	clicksSK = "CLICKS"
)

func pagesOf(sk string) string {
	if sk == headSK {
		return "LOG#"
	}
	return sk + "#"
}

func pageSK(sk string, first int) string { return fmt.Sprintf("%s%08d", pagesOf(sk), first) }

func skOf(changes []campaign.Change) string {
	if len(changes) > 0 && changes[0].Outcome == campaign.OutcomeClicked {
		return clicksSK
	}
	return tapsSK
}

// LedgerHead reads the head of a batch's ledger consistently, the zero Head if there is
// none. The error wraps campaign.ErrExpired for an expired batch.
func (s *OutcomeStore) LedgerHead(ctx context.Context, key campaign.BatchKey) (ledger.Head, error) {
	return readLog(ctx, &s.table, key, headSK, readLedgerHead)
}

// Taps reads the taps of a batch consistently, the zero Taps if there are none.
func (s *OutcomeStore) Taps(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error) {
	return readLog(ctx, &s.table, key, tapsSK, readTaps)
}

// Clicks reads the clicks of a batch consistently, the zero Taps if there are none.
func (s *OutcomeStore) Clicks(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error) {
	return readLog(ctx, &s.table, key, clicksSK, readTaps)
}

// readLog reads the row of a log. A row that does not exist is empty.
func readLog[T any](ctx context.Context, t *table, key campaign.BatchKey, sk string, read func(row Item) (T, error)) (log T, err error) {
	doing := fmt.Sprintf("read the %s of batch %s", sk, key)
	row, err := t.getFrom(ctx, doing, t.Outcomes, ledgerKey(key, sk))
	if err != nil && (errors.Is(err, campaign.ErrExpired) || !errors.Is(err, campaign.ErrNotFound)) {
		return log, err
	}
	if log, err = read(row); err != nil {
		return log, fmt.Errorf("%s: %w", doing, err)
	}
	return log, nil
}

func readLedgerHead(row Item) (ledger.Head, error) {
	packed := ledger.Packed{States: getBinary(row, "states"), Tally: getBinary(row, "tally"), Tail: getBinary(row, "tail")}
	return packed.Head(getInt(row, "newest"))
}

func readTaps(row Item) (ledger.Taps, error) {
	packed := ledger.PackedTaps{Tapped: getBinary(row, "tapped"), Tail: getBinary(row, "tail")}
	return packed.Taps(getInt(row, "newest"))
}

// AppendLedger appends fresh changes (see Head.NewChanges) to a batch's ledger if the head is
// unchanged since it was read. It returns the new head. A full tail is moved to a LOG row first. The
// error wraps campaign.ErrLostRace if the head changed, possibly by a repeated call of the
// SDK. After any other error, fresh may have been written: read the head again.
func (s *OutcomeStore) AppendLedger(
	ctx context.Context, b campaign.Batch, head ledger.Head, fresh []campaign.Change,
) (ledger.Head, error) {
	w := head.Plan(b.Accepted, fresh)
	for w.Move {
		moved, err := s.movePage(ctx, b, pageSK(headSK, head.First()), head.Tail)
		if err != nil {
			return head, err
		}
		head = head.Drop(moved)
		w = head.Plan(b.Accepted, fresh)
	}
	put := s.putLog(b, headSK, w.NewAfter, Item{
		"newAfter": number(w.NewAfter), "newest": number(w.Head.Sequence), "states": bytesOf(w.Packed.States),
		"tally": bytesOf(w.Packed.Tally), "tail": bytesOf(w.Packed.Tail),
	})
	doing := fmt.Sprintf("append %d changes to ledger of batch %s", len(fresh), b.BatchID)
	if err := s.appendLog(ctx, doing, put, s.pagePuts(b, w)); err != nil {
		return head, err
	}
	return w.Head, nil
}

// pagePuts write the pages of w as LOG rows.
func (s *OutcomeStore) pagePuts(b campaign.Batch, w ledger.Write) []types.TransactWriteItem {
	items := make([]types.TransactWriteItem, len(w.Pages))
	first := w.NewAfter + 1
	for i, page := range w.Pages {
		items[i] = inTable(s.Outcomes, s.put(with(pageRow(b, pageSK(headSK, first), page), Item{"newAfter": number(first - 1)})))
		first += len(page)
	}
	return items
}

// AppendTaps appends fresh taps (see Taps.NewTaps) to a batch's taps if these are unchanged since
// they were read. If fresh are clicks, taps are the batch's clicks. Its errors are those of
// AppendLedger.
func (s *OutcomeStore) AppendTaps(ctx context.Context, b campaign.Batch, taps ledger.Taps, fresh []campaign.Change) (ledger.Taps, error) {
	sk := skOf(fresh)
	if taps.Full(fresh) {
		moved, err := s.movePage(ctx, b, pageSK(sk, taps.First()), taps.Tail)
		if err != nil {
			return taps, err
		}
		taps = taps.Drop(moved)
	}
	next := taps.After(fresh)
	packed := next.Pack()
	put := s.putLog(b, sk, taps.Sequence, Item{
		"newest": number(next.Sequence), "tapped": bytesOf(packed.Tapped), "tail": bytesOf(packed.Tail),
	})
	if err := s.appendLog(ctx, fmt.Sprintf("append %d taps to batch %s", len(fresh), b.BatchID), put, nil); err != nil {
		return taps, err
	}
	return next, nil
}

// putLog replaces the row of a log if its newest sequence is the one that was read.
func (t *table) putLog(b campaign.Batch, sk string, newest int, attributes Item) types.TransactWriteItem {
	row := with(ledgerKey(b.Key, sk), attributes)
	row["at"] = number(t.Now().Unix())
	setEnd(row, b.ExpiresAt())
	return inTable(t.Outcomes, t.putAfter(row, "newest", newest))
}

// appendLog writes the row of a log and its pages, in one transaction if there are pages.
func (t *table) appendLog(ctx context.Context, doing string, put types.TransactWriteItem, pages []types.TransactWriteItem) error {
	if len(pages) > 0 {
		return t.writeAll(ctx, doing, append([]types.TransactWriteItem{put}, pages...)...)
	}
	var held bool
	err := repeat(ctx, func() (err error) { held, err = t.write(ctx, doing, put); return err })
	if err == nil && !held {
		err = fmt.Errorf("%s: %w", doing, campaign.ErrLostRace)
	}
	return err
}

// movePage writes the tail of a log as a page and returns the number of entries in that page.
// The page may already exist with fewer entries, written by a call that did not update the row
// of the tail.
func (t *table) movePage(ctx context.Context, b campaign.Batch, sk string, tail []campaign.Change) (int, error) {
	doing := "move log entries of batch " + b.BatchID
	there, _, err := t.repeatWrite(ctx, doing, inTable(t.Outcomes, t.putNew(pageRow(b, sk, tail))))
	if err != nil || there == nil {
		return len(tail), err
	}
	changes, err := ledger.Unpack(getBinary(there, "entries"))
	if err == nil && (len(changes) == 0 || len(changes) > len(tail)) {
		err = campaign.ErrLostRace // the tail changed since it was read
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
	return len(changes), nil
}

func pageRow(b campaign.Batch, sk string, changes []campaign.Change) Item {
	row := with(ledgerKey(b.Key, sk), Item{"entries": bytesOf(ledger.Pack(changes))})
	setEnd(row, b.ExpiresAt())
	return row
}
