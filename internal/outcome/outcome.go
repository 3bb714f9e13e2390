// Package outcome records what becomes of messages. Recording is one operation,
// whoever learns of an outcome: states, counts and the log of a batch change
// together, so that its books always balance.
package outcome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"campaign-dispatch/internal/backoff"
	"campaign-dispatch/internal/campaign"
)

// Store keeps the books of batches.
type Store interface {
	Books(ctx context.Context, key campaign.BatchKey, frames []int) (campaign.Books, error)
	Enter(ctx context.Context, b campaign.Batch, books campaign.Books, news []campaign.Change) error
	FinishBatch(ctx context.Context, ref campaign.BatchRef) (bool, error)
}

// Recorder records outcomes.
type Recorder struct {
	Store Store
}

// tries is how many lost races for a batch's books are run again. Each round
// somebody wins, and no more frames of a batch than 20 are recorded at once.
const tries = 40

// Record enters those of a batch's changes that are news, in their order, and
// drops the others: the same change may be recorded any number of times. After
// an error some writer may have entered them; to record them again is harmless.
func (r Recorder) Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error {
	for try := range tries {
		if err := backoff.Wait(ctx, try); err != nil {
			return fmt.Errorf("record outcomes of batch %s: %w", b.BatchID, err)
		}
		head, err := r.enter(ctx, b, changes)
		if errors.Is(err, campaign.ErrLostRace) {
			continue
		}
		if err != nil {
			return fmt.Errorf("record outcomes: %w", err)
		}
		r.finish(ctx, b, head)
		return nil
	}
	return fmt.Errorf("record outcomes of batch %s, try %d: %w", b.BatchID, tries, campaign.ErrLostRace)
}

// enter reads the books, judges the changes and writes the news. It returns the
// head that resulted.
func (r Recorder) enter(ctx context.Context, b campaign.Batch, changes []campaign.Change) (campaign.Head, error) {
	books, err := r.Store.Books(ctx, b.Key, framesOf(changes))
	if err != nil {
		return campaign.Head{}, err
	}
	news := books.News(changes)
	if len(news) == 0 {
		return books.Head, nil
	}
	return books.HeadAfter(news, 0), r.Store.Enter(ctx, b, books, news)
}

// finish ends a batch all of whose messages have an outcome. A failure is no
// failure of recording: sweep finishes what it finds complete.
func (r Recorder) finish(ctx context.Context, b campaign.Batch, head campaign.Head) {
	if head.Known() < b.Accepted {
		return
	}
	if _, err := r.Store.FinishBatch(ctx, b.BatchRef); err != nil {
		slog.WarnContext(ctx, "a complete batch could not be finished, sweep will", "batch_id", b.BatchID, "error", err)
	}
}

func framesOf(changes []campaign.Change) []int {
	frames := map[int]bool{}
	for _, c := range changes {
		frames[c.Index/campaign.FrameSize] = true
	}
	return slices.Sorted(maps.Keys(frames))
}
