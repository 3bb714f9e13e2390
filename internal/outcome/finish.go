package outcome

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// finish updates the batch's state if the write completed it. It also checks repeated
// changes, because the caller that completed the batch may have crashed. Errors are only
// logged: sweep repeats the update.
func (r *Recorder) finish(ctx context.Context, e ledgerWrite) {
	repeated := e.after.Sequence == e.before.Sequence
	crossed := func(count func(campaign.LedgerSummary) int) bool {
		return count(e.after) >= e.batch.Accepted && (repeated || count(e.before) < e.batch.Accepted)
	}
	var err error
	switch {
	case crossed(campaign.LedgerSummary.Final):
		err = r.updateState(ctx, e.batch, repeated, campaign.BatchCompleted, r.completeNow)
	case crossed(campaign.LedgerSummary.Known):
		err = r.updateState(ctx, e.batch, repeated, campaign.BatchSent, r.markSent)
	}
	if err != nil {
		slog.WarnContext(ctx, "completing batch failed; sweep retries", "batch_id", e.batch.BatchID, "error", err)
	}
}

// updateState updates the batch's state with move. For repeated changes it reads the state
// first: they are frequent, and a failed conditional update costs more than a read.
func (r *Recorder) updateState(
	ctx context.Context, b campaign.Batch, repeated bool, to campaign.BatchState, move func(context.Context, campaign.Batch) error,
) error {
	if repeated {
		current, err := r.Store.Batch(ctx, b.BatchRef)
		if err != nil || current.State == to {
			return err
		}
	}
	return move(ctx, b)
}

func (r *Recorder) markSent(ctx context.Context, b campaign.Batch) error {
	_, err := r.Store.MarkSent(ctx, b.BatchRef, r.Now().Add(campaign.MessageTTL+campaign.AnswerGrace))
	return err
}

func (r *Recorder) completeNow(ctx context.Context, b campaign.Batch) error {
	moved, err := r.completeBatch(ctx, &b)
	if err != nil || !moved {
		return err
	}
	_, err = r.completeCampaign(ctx, b)
	return err
}

// completeBatch completes a batch and frees what it has reserved from the budget for messages that were not
// delivered. It reports whether the batch was not completed before.
func (r *Recorder) completeBatch(ctx context.Context, b *campaign.Batch) (moved bool, err error) {
	unused, err := r.unused(ctx, *b)
	if err != nil {
		return false, err
	}
	check := r.Now().Add(r.SweepAfter)
	if moved, err = r.Store.CompleteBatch(ctx, *b, unused, check); moved {
		b.NextCheck, b.Reserved, b.ReservedOn = check, 0, ""
	}
	return moved, err
}

// unused returns what an ended batch has reserved for messages that were not delivered. The outcomes are read
// only for a batch with a reservation.
func (r *Recorder) unused(ctx context.Context, b campaign.Batch) (campaign.Money, error) {
	if b.Reserved == 0 {
		return 0, nil
	}
	head, err := r.Store.LedgerHead(ctx, b.Key)
	if err != nil {
		return 0, err
	}
	return b.Unused(head.Outcome), nil
}

// Complete completes a batch whose messages all have final outcomes. It can be repeated. If
// the campaign is completed too, webhooks are queued. It reports whether the campaign awaits
// parts of its file.
func (r *Recorder) Complete(ctx context.Context, b campaign.Batch) (awaitsParts bool, err error) {
	if _, err := r.completeBatch(ctx, &b); err != nil {
		return false, err
	}
	return r.completeCampaign(ctx, b)
}

// partsCheck is how often sweep checks a completed batch of a campaign that awaits parts, and waveCheck how often if they
// wait for a person, perhaps for days.
const (
	partsCheck = 15 * time.Minute
	waveCheck  = time.Hour
)

// completeCampaign ends the pause of the campaign and queues the webhook of its completion if the
// batch was its last one. Then sweep stops checking the batch. A cancelled campaign causes no
// webhook. While only parts of its file keep the campaign from being completed, sweep goes on
// checking the batch: the last parts may be discarded, and then no other batch completes it.
func (r *Recorder) completeCampaign(ctx context.Context, b campaign.Batch) (awaitsParts bool, err error) {
	progress, err := r.Store.Progress(ctx, b.ID)
	if err != nil {
		return false, err
	}
	last := b.ClosedAt.IsZero() || !b.ClosedAt.Before(progress.CompletedAt) // else another one was completed later
	if last && progress.AwaitsParts() {
		check := partsCheck
		if progress.Holding {
			check = waveCheck
		}
		b.Waits = campaign.Waits{Parts: true}
		_, err := r.Store.PostponeCheck(ctx, b, r.Now().Add(check))
		return true, err
	}
	if last && progress.IsCompleted() {
		if err := r.endCampaign(ctx, b.ID, progress); err != nil {
			return false, err
		}
	}
	return false, r.Close(ctx, b)
}

// endCampaign ends the pause of a completed campaign and queues the webhook of its completion, which says of the pause too
// that it is over.
func (r *Recorder) endCampaign(ctx context.Context, id campaign.ID, progress campaign.Progress) error {
	if !progress.PausedAt.IsZero() {
		if err := r.Store.EndPause(ctx, id, progress); err != nil {
			return err
		}
		slog.InfoContext(ctx, "completed campaign resumed", "tenant", id.Tenant, "campaign_id", id.CampaignID)
	}
	if err := r.queueCompletedWebhook(ctx, id, progress); err != nil {
		return fmt.Errorf("announce completion of campaign %s: %w", id.CampaignID, err)
	}
	return nil
}

// Close ends the checks of a completed or cancelled batch. A batch that still has a reservation frees what it
// has reserved for messages that were not delivered. It can be repeated.
func (r *Recorder) Close(ctx context.Context, b campaign.Batch) error {
	unused, err := r.unused(ctx, b)
	if err != nil {
		return err
	}
	return r.Store.CloseBatch(ctx, b, unused)
}

// queueCompletedWebhook writes the deliveries of the campaign's completion. A repeated call
// creates the same event. A campaign that was extended gets a new event.
func (r *Recorder) queueCompletedWebhook(ctx context.Context, id campaign.ID, progress campaign.Progress) error {
	eventID := campaign.Digest(id.Tenant + "#" + id.CampaignID + "#" + strconv.Itoa(progress.Batches))
	return r.announce(ctx, id, delivery.KindCompleted, eventID, progress.CompletedAt)
}

// announce writes the deliveries of a campaign's event. A repeated call creates the same event.
func (r *Recorder) announce(ctx context.Context, id campaign.ID, kind delivery.Kind, eventID string, at time.Time) error {
	blob := "events/" + strings.TrimPrefix(string(kind), "campaign.") + "/" + eventID
	h := delivery.Event{Kind: kind, EventID: eventID, At: at, CampaignID: id.CampaignID}
	return r.queueEvent(ctx, r.Blobs, id.Tenant, blob, h, subscribers(kind))
}

// queueEvent writes a webhook event, and its deliveries to the endpoints that want it, and queues these.
func (r *Recorder) queueEvent(
	ctx context.Context, contents port.BlobWriter, tenant, blob string, h delivery.Event, wants func(delivery.Endpoint) bool,
) error {
	deliveries, err := r.newDeliveries(ctx, delivery.Delivery{Tenant: tenant, Kind: h.Kind, Blob: blob}, wants)
	if err != nil || len(deliveries) == 0 {
		return err
	}
	if err := port.PutJSON(ctx, contents, blob, h); err != nil {
		return err
	}
	if err := r.Store.AddDeliveries(ctx, deliveries); err != nil {
		return err
	}
	r.queueDeliveries(ctx, deliveries)
	return nil
}

func subscribers(kind delivery.Kind) func(delivery.Endpoint) bool {
	return func(e delivery.Endpoint) bool { return e.Subscribes(kind) }
}

// newDeliveries returns a delivery like of for each endpoint that wants it.
func (r *Recorder) newDeliveries(
	ctx context.Context, of delivery.Delivery, wants func(delivery.Endpoint) bool,
) (deliveries []delivery.Delivery, err error) {
	endpoints, err := r.endpointsOf(ctx, of.Tenant)
	if err != nil {
		return nil, err
	}
	of.Next, of.ExpiresAt = r.Now().Add(r.SweepAfter), r.Now().Add(campaign.EventLife)
	for _, e := range endpoints {
		if of.EndpointID = e.ID; wants(e) {
			deliveries = append(deliveries, of.Identified())
		}
	}
	return deliveries, nil
}

// queueDeliveries queues tasks for the written deliveries. On failure, sweep queues them.
func (r *Recorder) queueDeliveries(ctx context.Context, deliveries []delivery.Delivery) {
	tasks := make([]delivery.NotifyTask, len(deliveries))
	for i, n := range deliveries {
		tasks[i] = n.Task()
	}
	if err := port.SendAll(ctx, r.Notify, deliveries[0].Tenant, tasks); err != nil {
		slog.WarnContext(ctx, "queueing deliveries failed; sweep retries", "tenant", deliveries[0].Tenant, "error", err)
	}
}
