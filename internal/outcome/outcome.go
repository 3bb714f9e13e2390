// Package outcome records what becomes of messages. Recording is one operation,
// whoever learns of an outcome: states, counts and the log of a batch change
// together with the deliveries that endpoints are owed of it, so that its ledger
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

// Store keeps the ledger of batches, and how far the batches are.
type Store interface {
	Ledgers
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	Ledger(ctx context.Context, b campaign.Batch, frames []int) (campaign.Ledger, error)
	Append(ctx context.Context, b campaign.Batch, batchLedger campaign.Ledger, news []campaign.Change, endpoints []campaign.Endpoint, check time.Time) ([]campaign.Delivery, error)
	FinishBatch(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	CompleteBatch(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	Progress(ctx context.Context, id campaign.ID) (campaign.Tally, error)
	Forget(ctx context.Context, ref campaign.BatchRef) error
}

// Webhooks knows the endpoints of tenants, and keeps what they are owed beside
// what Append writes.
type Webhooks interface {
	Endpoints(ctx context.Context, tenant string) ([]campaign.Endpoint, error)
	AddDeliveries(ctx context.Context, deliveries []campaign.Delivery) error
}

// Blobs keeps what deliveries tell that belong to no batch.
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
	// MaxAppend is how many changes Store.Append takes at once for so many
	// endpoints.
	MaxAppend func(endpoints int) int
	// Split says that the deliveries of webhook events stand in the Webhooks table.
	Split bool
	// SweepAfter is how long a delivery or a completed batch is left to those whose
	// work it is before sweep looks at it.
	SweepAfter time.Duration
	Now        func() time.Time

	endpoints cache.Cache[string, []campaign.Endpoint]
}

const (
	// tries is how many lost races for a batch's ledger is run again. Each round
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
		r.post(ctx, e.deliveries)
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
	e, err := AppendLedger(ctx, r.Store, b, changes)
	if err != nil {
		return err
	}
	r.finish(ctx, entry{batch: b, before: e.Before.Summary(), after: e.After.Summary()})
	return nil
}

// entry is what one write enters into the ledger of a batch.
type entry struct {
	batch      campaign.Batch
	endpoints  []campaign.Endpoint
	before     campaign.LedgerSummary
	after      campaign.LedgerSummary
	deliveries []campaign.Delivery
	more       bool // news are left that did not fit
}

// enter reads the ledger, judges the changes and writes the news.
func (r *Recorder) enter(ctx context.Context, e *entry, changes []campaign.Change) error {
	batchLedger, err := r.Store.Ledger(ctx, e.batch, framesOf(changes))
	if err != nil {
		return err
	}
	e.before, e.after = batchLedger.Head, batchLedger.Head
	news := batchLedger.Effective(changes)
	if len(news) == 0 {
		return nil
	}
	if most := r.MaxAppend(len(e.endpoints)); len(news) > most {
		news, e.more = news[:most], true
	}
	e.after = batchLedger.HeadAfter(news, 0)
	e.deliveries, err = r.Store.Append(ctx, e.batch, batchLedger, news, e.endpoints, r.Now().Add(r.SweepAfter))
	return err
}

// endpointsOf returns the tenant's endpoints that are switched on.
func (r *Recorder) endpointsOf(ctx context.Context, tenant string) ([]campaign.Endpoint, error) {
	return r.endpoints.Get(tenant, r.Now(), cache.Options{TTL: endpointsFor, MaxEntries: maxKnown}, func() ([]campaign.Endpoint, error) {
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
