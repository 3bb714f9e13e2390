// Package outcome records what becomes of messages. Recording is one operation,
// whoever learns of an outcome: states, counts and the log of a batch change
// together with the notices that endpoints are owed of it, so that its books
// always balance and no webhook is lost.
package outcome

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/retry"
)

// Store keeps the books of batches, and how far the batches are.
type Store interface {
	Ledgers
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	Books(ctx context.Context, b campaign.Batch, frames []int) (campaign.Books, error)
	Enter(ctx context.Context, b campaign.Batch, books campaign.Books, news []campaign.Change, endpoints []campaign.Endpoint, check time.Time) ([]campaign.Notice, error)
	FinishBatch(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	CompleteBatch(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	Progress(ctx context.Context, id campaign.ID) (campaign.Tally, error)
	Forget(ctx context.Context, ref campaign.BatchRef) error
}

// Webhooks knows the endpoints of tenants, and keeps what they are owed beside
// what Enter writes.
type Webhooks interface {
	Endpoints(ctx context.Context, tenant string) ([]campaign.Endpoint, error)
	AddNotices(ctx context.Context, notices []campaign.Notice) error
}

// Blobs keeps what notices tell that belong to no batch.
type Blobs interface {
	Put(ctx context.Context, key string, body []byte, contentType string) error
}

// Queue takes the tasks of webhooks.
type Queue interface {
	SendAll(ctx context.Context, group string, bodies [][]byte) error
}

// Recorder records outcomes.
type Recorder struct {
	Store    Store
	Webhooks Webhooks
	Blobs    Blobs
	Notify   Queue
	// MaxNews is how many changes Store.Enter takes at once for so many
	// endpoints.
	MaxNews func(endpoints int) int
	// Split says that the notices of happenings stand in the Webhooks table.
	Split bool
	// SweepAfter is how long a notice or a completed batch is left to those whose
	// work it is before sweep looks at it.
	SweepAfter time.Duration
	Now        func() time.Time

	endpoints cache.Cache[string, []campaign.Endpoint]
}

const (
	// tries is how many lost races for a batch's books are run again. Each round
	// somebody wins, and no more frames of a batch than 20 are recorded at once.
	tries = 40
	// endpointsFor is how long a tenant's endpoints are taken for what they were:
	// so long it may take until a new one is owed anything.
	endpointsFor = 10 * time.Second
	// maxKnown is the number of tenants whose endpoints are kept.
	maxKnown = 1000
)

// Record enters those of a batch's changes that are news, in their order, and
// drops the others: the same change may be recorded any number of times. After
// an error some may have been entered; to record them again is harmless.
func (r *Recorder) Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error {
	if b.Ledger {
		return r.recordInLedger(ctx, b, changes)
	}
	endpoints, err := r.endpointsOf(ctx, b.Tenant)
	if err != nil {
		return fmt.Errorf("record outcomes: %w", err)
	}
	for try := 0; try < tries; {
		if err := retry.Wait(ctx, try); err != nil {
			return fmt.Errorf("record outcomes of batch %s: %w", b.BatchID, err)
		}
		e := entry{batch: b, endpoints: endpoints}
		err := r.enter(ctx, &e, changes)
		if errors.Is(err, campaign.ErrLostRace) {
			try++
			continue
		}
		if err != nil {
			return fmt.Errorf("record outcomes: %w", err)
		}
		r.post(ctx, e.notices)
		r.finish(ctx, e)
		if !e.more {
			return nil
		}
		try = 0
	}
	return fmt.Errorf("record outcomes of batch %s, try %d: %w", b.BatchID, tries, campaign.ErrLostRace)
}

// recordInLedger is Record for a batch with a ledger. Nothing is queued: what is
// entered is in the stream of the ledger's table.
func (r *Recorder) recordInLedger(ctx context.Context, b campaign.Batch, changes []campaign.Change) error {
	e, err := EnterLedger(ctx, r.Store, b, changes)
	if err != nil {
		return err
	}
	r.finish(ctx, entry{batch: b, before: e.Before.Summary(), after: e.After.Summary()})
	return nil
}

// entry is what one write enters into the books of a batch.
type entry struct {
	batch     campaign.Batch
	endpoints []campaign.Endpoint
	before    campaign.Head
	after     campaign.Head
	notices   []campaign.Notice
	more      bool // news are left that did not fit
}

// enter reads the books, judges the changes and writes the news.
func (r *Recorder) enter(ctx context.Context, e *entry, changes []campaign.Change) error {
	books, err := r.Store.Books(ctx, e.batch, framesOf(changes))
	if err != nil {
		return err
	}
	e.before, e.after = books.Head, books.Head
	news := books.News(changes)
	if len(news) == 0 {
		return nil
	}
	if most := r.MaxNews(len(e.endpoints)); len(news) > most {
		news, e.more = news[:most], true
	}
	e.after = books.HeadAfter(news, 0)
	e.notices, err = r.Store.Enter(ctx, e.batch, books, news, e.endpoints, r.Now().Add(r.SweepAfter))
	return err
}

// endpointsOf returns the tenant's endpoints that are switched on.
func (r *Recorder) endpointsOf(ctx context.Context, tenant string) ([]campaign.Endpoint, error) {
	return r.endpoints.Get(tenant, r.Now(), cache.Terms{For: endpointsFor, Most: maxKnown}, func() ([]campaign.Endpoint, error) {
		all, err := r.Webhooks.Endpoints(ctx, tenant)
		return slices.DeleteFunc(all, campaign.Endpoint.Off), err
	})
}

func framesOf(changes []campaign.Change) []int {
	frames := map[int]bool{}
	for _, c := range changes {
		frames[c.Index/campaign.FrameSize] = true
	}
	return slices.Sorted(maps.Keys(frames))
}
