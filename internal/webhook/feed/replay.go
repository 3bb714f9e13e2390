package feed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/ledger"
)

// Logs has the logs of batches.
type Logs interface {
	// LedgersSince returns the batches whose outcomes were written since an instant.
	LedgersSince(ctx context.Context, since time.Time) iter.Seq2[campaign.BatchKey, error]
	// Entries returns up to limit entries of a log after a sequence. The error wraps
	// campaign.ErrNotFound of a batch that has ended.
	Entries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]ledger.Entry, error)
}

// Replayer queues webhooks again from the logs, for when the stream was not read.
// Webhooks that were taken before come again, with the same ids.
type Replayer struct {
	Logs   Logs
	Feeder interface {
		Handle(ctx context.Context, fresh []ledger.Fresh) error
	}
}

// Replayed counts what was queued again.
type Replayed struct {
	Batches, Entries int
}

const (
	// perReplay is how many entries are fed at once.
	perReplay = 5000
	// late is how long after its time an outcome may be recorded: an entry has the time
	// of the provider's event, and events are dropped when they are older on arrival.
	late = 8 * 24 * time.Hour
)

// Replay queues the webhooks of all entries that may have been recorded since an instant,
// and calls progress after each group of them. A log does not say when an entry was
// recorded, so entries of some days before are among them. After an error it returns what
// was queued before. A batch that is damaged holds up no other: the error names all of
// them, and wraps campaign.ErrDamaged, once the others are queued.
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

// replay is one run of Replay.
type replay struct {
	Replayer

	progress   func(Replayed)
	done, next Replayed
	group      []ledger.Fresh // to be fed next
	damaged    []error        // by batch
}

// add adds the entries of a batch from the first one of an instant or later to the group,
// and feeds the group where it is large enough.
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
	r.group = append(r.group, ledger.Fresh{Key: key, Entries: entries})
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

// Count returns how many batches Replay would look at.
func (r Replayer) Count(ctx context.Context, since time.Time) (batches int, err error) {
	for _, err := range r.Logs.LedgersSince(ctx, since) {
		if err != nil {
			return batches, err
		}
		batches++
	}
	return batches, nil
}

// since returns the entries of a log from the first one of an instant or later. Those
// behind it were recorded later, whatever their own times are.
func (r Replayer) since(ctx context.Context, key campaign.BatchKey, at time.Time) ([]ledger.Entry, error) {
	var entries []ledger.Entry
	for after := 0; ; {
		page, err := r.Logs.Entries(ctx, key, after, perReplay)
		if errors.Is(err, campaign.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
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
