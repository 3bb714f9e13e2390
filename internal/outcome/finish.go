package outcome

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"campaign-dispatch/internal/campaign"
)

// finish moves the batch on where the entry made it complete, or where nothing
// was news and whoever entered the last of it may have died. A failure is no
// failure of recording: sweep finishes what it finds complete.
func (r *Recorder) finish(ctx context.Context, e entry) {
	again := e.after.Sequence == e.before.Sequence
	crossed := func(count func(campaign.LedgerSummary) int) bool {
		return count(e.after) >= e.batch.Accepted && (again || count(e.before) < e.batch.Accepted)
	}
	var err error
	switch {
	case crossed(campaign.LedgerSummary.Settled):
		err = r.moveOn(ctx, e.batch, again, campaign.BatchCompleted, r.completeNow)
	case crossed(campaign.LedgerSummary.Known):
		err = r.moveOn(ctx, e.batch, again, campaign.BatchSent, r.finishNow)
	}
	if err != nil {
		slog.WarnContext(ctx, "a complete batch could not be finished, sweep will", "batch_id", e.batch.BatchID, "error", err)
	}
}

// moveOn moves a batch to a state by an update. Where nothing was news it reads first
// whether the batch is in that state: events that arrive twice are many, and a refused
// update costs more than a read.
func (r *Recorder) moveOn(ctx context.Context, b campaign.Batch, again bool, to campaign.BatchState, move func(context.Context, campaign.Batch) error) error {
	if again {
		now, err := r.Store.Batch(ctx, b.BatchRef)
		if err != nil || now.State == to {
			return err
		}
	}
	return move(ctx, b)
}

func (r *Recorder) finishNow(ctx context.Context, b campaign.Batch) error {
	_, err := r.Store.FinishBatch(ctx, b.BatchRef, r.Now().Add(campaign.MessageTTL+campaign.AnswerGrace))
	return err
}

func (r *Recorder) completeNow(ctx context.Context, b campaign.Batch) error {
	moved, err := r.Store.CompleteBatch(ctx, b.BatchRef, r.Now().Add(r.SweepAfter))
	if err != nil || !moved {
		return err
	}
	return r.announce(ctx, b)
}

// Complete ends a batch of which nothing more has to come, whether or not
// somebody began to: its campaign may be completed with it, which is then owed to
// the endpoints that ask for it.
func (r *Recorder) Complete(ctx context.Context, b campaign.Batch) error {
	if _, err := r.Store.CompleteBatch(ctx, b.BatchRef, r.Now().Add(r.SweepAfter)); err != nil {
		return err
	}
	return r.announce(ctx, b)
}

// announce tells of the campaign's completion if the completed batch was its
// last, and only then lets sweep forget the batch. The end of a campaign that was
// cancelled is no completion, and is not told.
func (r *Recorder) announce(ctx context.Context, b campaign.Batch) error {
	tally, err := r.Store.Progress(ctx, b.ID)
	if err != nil {
		return err
	}
	if tally.Ended() {
		if err := r.tellCompleted(ctx, b.ID, tally); err != nil {
			return fmt.Errorf("tell of the end of campaign %s: %w", b.CampaignID, err)
		}
	}
	return r.Store.Forget(ctx, b.BatchRef)
}

// tellCompleted owes the campaign's completion to the endpoints. It is another
// event once the campaign has more batches. Told again it is told the same: its time
// is not that of the telling.
func (r *Recorder) tellCompleted(ctx context.Context, id campaign.ID, tally campaign.Tally) error {
	deliveries, err := r.owed(ctx, id.Tenant, campaign.KindCompleted)
	if err != nil || len(deliveries) == 0 {
		return err
	}
	eventID := campaign.Digest(id.Tenant + "#" + id.CampaignID + "#" + strconv.Itoa(tally.Batches))
	blob := "events/completed/" + eventID
	body, err := json.Marshal(campaign.WebhookEvent{Kind: campaign.KindCompleted, EventID: eventID, At: tally.CompletedAt, CampaignID: id.CampaignID})
	if err != nil {
		return err
	}
	if err := r.Blobs.Put(ctx, blob, body, "application/json"); err != nil {
		return err
	}
	return r.owe(ctx, deliveries, blob)
}

// owed returns an unwritten delivery for each endpoint that wants the kind.
func (r *Recorder) owed(ctx context.Context, tenant string, kind campaign.Kind) ([]campaign.Delivery, error) {
	endpoints, err := r.endpointsOf(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var deliveries []campaign.Delivery
	for _, e := range endpoints {
		if e.Wants(kind) {
			deliveries = append(deliveries, campaign.Delivery{Tenant: tenant, EndpointID: e.ID, Kind: kind, Next: r.Now().Add(r.SweepAfter), Ends: r.Now().Add(campaign.EventLife)})
		}
	}
	return deliveries, nil
}

func (r *Recorder) owe(ctx context.Context, deliveries []campaign.Delivery, blob string) error {
	for i := range deliveries {
		deliveries[i].Blob = blob
		if r.Split {
			deliveries[i] = deliveries[i].Identified()
		}
	}
	if err := r.Webhooks.AddDeliveries(ctx, deliveries); err != nil {
		return err
	}
	r.post(ctx, deliveries)
	return nil
}

// post asks for the deliveries, which are written, to be posted. Sweep finds what
// could not be queued.
func (r *Recorder) post(ctx context.Context, deliveries []campaign.Delivery) {
	if len(deliveries) == 0 {
		return
	}
	tasks := make([]campaign.NotifyTask, len(deliveries))
	for i, n := range deliveries {
		tasks[i] = n.Task()
	}
	bodies, err := campaign.Bodies(tasks)
	if err == nil {
		err = r.Notify.SendAll(ctx, deliveries[0].Tenant, bodies)
	}
	if err != nil {
		slog.WarnContext(ctx, "notices could not be queued, sweep will", "tenant", deliveries[0].Tenant, "error", err)
	}
}
