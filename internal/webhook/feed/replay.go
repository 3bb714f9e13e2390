package feed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

// Logs reads the logs of batches.
type Logs interface {
	// LedgersSince yields the batches with outcomes written since the instant.
	LedgersSince(ctx context.Context, since time.Time) iter.Seq2[campaign.BatchKey, error]
	// Entries returns up to limit entries after a sequence. The error wraps campaign.ErrNotFound for an expired batch.
	Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error)
}

// Replayer queues webhooks again from the logs, after the stream was not processed.
// Webhooks posted before are repeated with the same IDs.
type Replayer struct {
	Logs   Logs
	Feeder *Feeder
}

// Replayed counts requeued items.
type Replayed struct {
	Batches, Entries int
}

const (
	perReplay = 5000 // number of entries per Feeder call
	// late is how long after its event time an outcome can be recorded. Older events are dropped on arrival.
	late = campaign.EventsRepeated
)

// Replay queues the webhooks of all entries that may have been recorded since the instant.
// It calls progress after each group. Logs do not contain recording times, so some earlier
// entries are included. It returns the progress also with an error. Damaged batches are
// skipped; the error then names them and wraps campaign.ErrDamaged.
func (r Replayer) Replay(ctx context.Context, since time.Time, progress func(Replayed)) (Replayed, error) {
	run := replay{Replayer: r, progress: progress}
	for key, err := range r.Logs.LedgersSince(ctx, since) {
		if err == nil {
			err = run.add(ctx, key, since.Add(-late))
		}
		if err != nil {
			return run.done, err
		}
	}
	if err := run.feed(ctx); err != nil {
		return run.done, err
	}
	return run.done, errors.Join(run.damaged...)
}

type replay struct {
	Replayer

	progress   func(Replayed)
	done, next Replayed
	group      []ledger.NewEntries // next group to feed
	damaged    []error             // by batch
}

// add adds a batch's entries, starting with the first entry at or after the instant, to the
// group. It feeds a full group.
func (r *replay) add(ctx context.Context, key campaign.BatchKey, at time.Time) error {
	entries, err := r.since(ctx, key, at)
	if err != nil {
		err = fmt.Errorf("read the log of batch %s: %w", key, err)
	}
	if errors.Is(err, campaign.ErrDamaged) {
		r.damaged = append(r.damaged, err)
		return nil
	}
	if err != nil || len(entries) == 0 {
		return err
	}
	r.group = append(r.group, ledger.NewEntries{Key: key, Entries: entries})
	r.next.Batches, r.next.Entries = r.next.Batches+1, r.next.Entries+len(entries)
	if r.next.Entries-r.done.Entries < perReplay {
		return nil
	}
	return r.feed(ctx)
}

func (r *replay) feed(ctx context.Context) error {
	if len(r.group) == 0 {
		return nil
	}
	err := r.Feeder.Handle(ctx, r.group)
	if errors.Is(err, campaign.ErrDamaged) { // the others are queued
		r.damaged, err = append(r.damaged, err), nil
	}
	if err != nil {
		return err
	}
	r.done, r.group = r.next, nil
	r.progress(r.done)
	return nil
}

// Count returns the number of batches that Replay would read.
func (r Replayer) Count(ctx context.Context, since time.Time) (batches int, err error) {
	for _, err := range r.Logs.LedgersSince(ctx, since) {
		if err != nil {
			return batches, err
		}
		batches++
	}
	return batches, nil
}

// since returns a log's entries, starting with the first one at or after the instant. Later
// entries were recorded later, whatever their event times.
func (r Replayer) since(ctx context.Context, key campaign.BatchKey, at time.Time) ([]ledger.Entry, error) {
	var entries []ledger.Entry
	for after := 0; ; {
		page, err := r.Logs.Entries(ctx, key, after, perReplay)
		if err != nil {
			return nil, campaign.IgnoreNotFound(err)
		}
		entries = append(entries, page...)
		if len(page) < perReplay {
			break
		}
		after = page[len(page)-1].Sequence
	}
	first := slices.IndexFunc(entries, func(e ledger.Entry) bool { return !e.At.Before(at) })
	if first < 0 {
		return nil, nil
	}
	return entries[first:], nil
}
