package intake

import (
	"context"
	"errors"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/retry"
)

const (
	codeTooSoon = "schedule_too_soon"
	// maxTries is the maximum number of attempts of a call that fails.
	maxTries = 6
)

// send dispatches the remaining parts, until all are sent or the time is over.
func (w *Worker) send(ctx context.Context, i campaign.Import) (err error) {
	starting, cancel := withMargin(ctx)
	defer cancel()
	for i.Sent < i.Read.Parts {
		if i, err = w.saveMoved(ctx, i); err != nil {
			return err
		}
		if wait := w.untilDue(i); i.Late && wait > 0 { // what goes at once must not go before its time
			return queue(ctx, w.Tasks, i.ID, wait+time.Second) // the queue counts in seconds
		}
		if i, err = w.sendPart(ctx, i); err != nil {
			return err
		}
		if starting.Err() != nil {
			return queue(ctx, w.Tasks, i.ID, 0)
		}
	}
	return w.finish(ctx, i)
}

// saveMoved saves the time of a rescheduled campaign, for which a late rest waits. Dispatch
// gives each part the campaign's time itself.
func (w *Worker) saveMoved(ctx context.Context, i campaign.Import) (campaign.Import, error) {
	now, err := moved(ctx, w.Store, i)
	if err != nil || now.Schedule == i.Schedule {
		return i, err
	}
	now.Late = false
	return w.Store.SaveImport(ctx, now)
}

// moved returns an import with the time to which its campaign was rescheduled.
func moved(ctx context.Context, store Store, i campaign.Import) (campaign.Import, error) {
	if i.Sent == 0 {
		return i, nil
	}
	last, err := store.Move(ctx, i.ID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return i, err
	}
	if last.Revision > 0 {
		i.Schedule = last.Due.UTC().Format(time.RFC3339Nano)
	}
	return i, nil
}

// untilDue returns the time until the schedule, which is negative after it and without one.
func (w *Worker) untilDue(i campaign.Import) time.Duration {
	due, _ := localtime.Parse(i.Schedule)
	return due.Sub(w.Now())
}

// sendPart dispatches the next part and saves the progress.
func (w *Worker) sendPart(ctx context.Context, i campaign.Import) (campaign.Import, error) {
	number := i.Sent + 1
	file, err := w.Blobs.Get(ctx, i.PartBlob(number))
	if errors.Is(err, campaign.ErrNotFound) {
		return i, &fault{code: faultFileGone}
	}
	if err != nil {
		return i, err
	}
	p, people, err := decodePart(file)
	if err != nil {
		return i, err
	}
	sent, err := w.accept(ctx, p.call(i, number, people))
	if wrong, ok := errors.AsType[*fault](err); ok && wrong.code == codeTooSoon && !i.Late && (i.Sent > 0 || w.untilDue(i) > 0) {
		i.Late = true
		return w.Store.SaveImport(ctx, i)
	}
	if err != nil {
		return i, err
	}
	i.Sent, i.SentAccepted, i.SentRejected = number, i.SentAccepted+sent.Accepted, i.SentRejected+sent.Rejected
	i.SentErased += people - sent.Accepted
	return w.Store.SaveImport(ctx, i)
}

// accept dispatches a part, which may be accepted already. It skips a part that erasures have left
// empty.
func (w *Worker) accept(ctx context.Context, c dispatch.Call) (r dispatch.Receipt, err error) {
	for attempt := range maxTries {
		if err := retry.Wait(ctx, attempt); err != nil {
			return r, err
		}
		if r, err = w.Dispatch.Accept(ctx, c); err == nil {
			return r, nil
		}
		if refusal, refused := errors.AsType[*dispatch.Refusal](err); refused && len(c.Messages) == 0 {
			return r, w.Store.SkipPart(ctx, c.ID, c.Totals.WithPart(c.People, 0))
		} else if refused {
			return r, &fault{code: refusal.Faults[0].Code}
		}
	}
	return r, err
}

// finish closes an import whose parts are all dispatched, and its request for approval.
func (w *Worker) finish(ctx context.Context, i campaign.Import) error {
	a, err := w.Store.Approval(ctx, i.Tenant, i.CampaignID)
	if err == nil && a.State == campaign.ApprovalApproved {
		a.State = campaign.ApprovalSent
		if err = w.Store.SaveApproval(ctx, a, campaign.ApprovalApproved); errors.Is(err, campaign.ErrLostRace) {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	if err := deleteFiles(ctx, w.Blobs, i); err != nil {
		return err
	}
	i.State, i.Fault, i.FaultArgs = campaign.ImportSent, "", nil
	if _, err := w.Store.SaveImport(ctx, i); err != nil {
		return err
	}
	metrics.Add(ctx, metrics.SubmissionsSent, 1)
	return nil
}
