// Package outcome records message outcomes. One write changes a batch's states, counts and
// log. The stream of the Outcomes table then starts the webhooks.
package outcome

import (
	"context"
	"slices"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
)

// Store stores the ledgers and states of batches.
type Store interface {
	port.OpenBatches

	// AppendLedger returns an error that wraps campaign.ErrLostRace if the head was changed concurrently.
	AppendLedger(ctx context.Context, b campaign.Batch, head ledger.Head, fresh []campaign.Change) (ledger.Head, error)
	// MarkSent moves a batch whose messages all have outcomes to sent, and reports whether it did.
	MarkSent(ctx context.Context, ref campaign.BatchRef, nextCheck time.Time) (bool, error)
	// CompleteBatch completes a batch, removes its reservation and frees the unused part of it. It reports whether it did.
	CompleteBatch(ctx context.Context, b campaign.Batch, unused campaign.Money, nextCheck time.Time) (bool, error)
	// Progress returns the completed and total batches of a campaign, zero for no campaign.
	Progress(ctx context.Context, id campaign.ID) (campaign.Progress, error)
	// EndPause ends the pause of a completed campaign, unless it was resumed or got another batch since p was read.
	EndPause(ctx context.Context, id campaign.ID, p campaign.Progress) error
	// CloseBatch ends the checks of a batch. The error wraps campaign.ErrLostRace if its reservation has changed.
	CloseBatch(ctx context.Context, b campaign.Batch, unused campaign.Money) error
	// Endpoints returns the endpoints of a tenant, disabled ones included.
	Endpoints(ctx context.Context, tenant string) ([]delivery.Endpoint, error)
	// AddDeliveries writes deliveries. Existing ones are unchanged, which is not an error.
	AddDeliveries(ctx context.Context, deliveries []delivery.Delivery) error
}

// Recorder records outcomes.
type Recorder struct {
	Store  Store
	Blobs  port.BlobWriter
	Notify port.BatchQueue
	// Days counts the results by day. Nil counts nothing.
	Days       Days
	SweepAfter time.Duration // time until sweep checks a new delivery or a completed batch
	Now        func() time.Time

	endpoints cache.Cache[string, []delivery.Endpoint]
}

// tries is the maximum number of attempts after concurrent updates. Each conflict has a winner, and
// at most 20 frames of a batch are recorded at once.
const tries = 40

// Record appends the changes that supersede the current outcomes, in order, and ignores the
// others. Repeated calls are harmless, also after an error. The table's stream starts the
// webhooks.
func (r *Recorder) Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error {
	return r.record(ctx, b, changes, func(w ledgerWrite) {
		var days dayCounts
		days.addWrite(w)
		r.storeDays(ctx, &days)
	})
}

// record is Record that passes what it wrote to count, before it finishes the write.
func (r *Recorder) record(ctx context.Context, b campaign.Batch, changes []campaign.Change, count func(ledgerWrite)) error {
	e, err := AppendLedger(ctx, r.Store, b, changes)
	if err != nil {
		return err
	}
	w := ledgerWrite{batch: b, before: e.Before.Summary(), after: e.After.Summary()}
	count(w)
	r.finish(ctx, w)
	return nil
}

type ledgerWrite struct {
	batch  campaign.Batch
	before campaign.LedgerSummary
	after  campaign.LedgerSummary
}

func (r *Recorder) endpointsOf(ctx context.Context, tenant string) ([]delivery.Endpoint, error) {
	options := cache.Options{TTL: delivery.EndpointTTL, MaxEntries: delivery.CachedTenants}
	return r.endpoints.Get(tenant, r.Now(), options, func() ([]delivery.Endpoint, error) {
		all, err := r.Store.Endpoints(ctx, tenant)
		return slices.DeleteFunc(all, delivery.Endpoint.Off), err
	})
}
