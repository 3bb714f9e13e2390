// Package outcome records message outcomes. One write changes a batch's states, counts and
// log. The stream of the Outcomes table then starts the webhooks; in the former layout, the
// same transaction writes their deliveries.
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

// Store stores the ledgers and states of batches.
type Store interface {
	Ledgers
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	Ledger(ctx context.Context, b campaign.Batch, frames []int) (campaign.Ledger, error)
	Append(ctx context.Context, b campaign.Batch, batchLedger campaign.Ledger, news []campaign.Change, endpoints []campaign.Endpoint, check time.Time) ([]campaign.WebhookDelivery, error)
	MarkSent(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	CompleteBatch(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	Progress(ctx context.Context, id campaign.ID) (campaign.Tally, error)
	RemoveFromDueIndex(ctx context.Context, ref campaign.BatchRef) error
}

// Webhooks stores endpoints and the deliveries that Append does not write.
type Webhooks interface {
	Endpoints(ctx context.Context, tenant string) ([]campaign.Endpoint, error)
	AddDeliveries(ctx context.Context, deliveries []campaign.WebhookDelivery) error
}

// Blobs stores webhook events that belong to no batch.
type Blobs interface {
	Put(ctx context.Context, key string, body []byte, contentType string) error
}

// Queue is the notify queue.
type Queue interface {
	SendAll(ctx context.Context, group string, bodies [][]byte) error
}

// Recorder records outcomes.
type Recorder struct {
	Store    Store
	Webhooks Webhooks
	Blobs    Blobs
	Notify   Queue
	// MaxAppend returns the maximum number of changes per Store.Append, by the number of
	// endpoints.
	MaxAppend func(endpoints int) int
	// Split stores deliveries of webhook events in the Webhooks table.
	Split bool
	// Days counts the results by day. Nil counts nothing.
	Days Days
	// SweepAfter is the time until sweep checks a new delivery or a completed batch.
	SweepAfter time.Duration
	Now        func() time.Time

	endpoints cache.Cache[string, []campaign.Endpoint]
}

const (
	// tries is the maximum number of attempts after concurrent updates. Each conflict has a
	// winner, and at most 20 frames of a batch are recorded at once.
	tries = 40
	// endpointsFor is the cache TTL of a tenant's endpoints. A new endpoint receives
	// webhooks after at most this time.
	endpointsFor = 10 * time.Second
	// maxKnown is the size of the endpoint cache, in tenants.
	maxKnown = 1000
)

// Record appends the effective changes, in order, and ignores the others. Repeated calls
// are harmless, also after an error.
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
		e := ledgerWrite{batch: b, endpoints: endpoints}
		err := r.appendOnce(ctx, &e, changes)
		if errors.Is(err, campaign.ErrLostRace) {
			try++
			continue
		}
		if err != nil {
			return fmt.Errorf("record outcomes: %w", err)
		}
		r.countDays(ctx, e)
		r.queueDeliveries(ctx, e.deliveries)
		r.finish(ctx, e)
		if !e.more {
			return nil
		}
		try = 0
	}
	return fmt.Errorf("record outcomes of batch %s, try %d: %w", b.BatchID, tries, campaign.ErrLostRace)
}

// recordInLedger is Record for a batch with a ledger. It queues nothing: the table's stream
// does.
func (r *Recorder) recordInLedger(ctx context.Context, b campaign.Batch, changes []campaign.Change) error {
	e, err := AppendLedger(ctx, r.Store, b, changes)
	if err != nil {
		return err
	}
	w := ledgerWrite{batch: b, before: e.Before.Summary(), after: e.After.Summary()}
	r.countDays(ctx, w)
	r.finish(ctx, w)
	return nil
}

// ledgerWrite is one write to the ledger of a batch.
type ledgerWrite struct {
	batch      campaign.Batch
	endpoints  []campaign.Endpoint
	before     campaign.LedgerSummary
	after      campaign.LedgerSummary
	deliveries []campaign.WebhookDelivery
	more       bool // some changes did not fit
}

// appendOnce reads the ledger and appends the effective changes.
func (r *Recorder) appendOnce(ctx context.Context, e *ledgerWrite, changes []campaign.Change) error {
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

// endpointsOf returns the tenant's enabled endpoints.
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
