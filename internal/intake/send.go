package intake

import (
	"context"
	"errors"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/submission"
)

const (
	codeTooSoon = "schedule_too_soon"
	// maxTries is the maximum number of attempts of a call that fails.
	maxTries = 6
)

// send dispatches the remaining parts, until all are sent or the time is over.
func (w *Worker) send(ctx, starting context.Context, sub submission.Submission) (err error) {
	for sub.Sending.Parts < sub.Check.Parts {
		if sub, err = w.saveMoved(ctx, sub); err != nil {
			return err
		}
		if wait := w.untilDue(sub); sub.Sending.RestAtOnce && wait > 0 { // what goes at once must not go before its time
			return queue(ctx, w.Tasks, sub.ID, wait+time.Second) // the queue counts in seconds
		}
		if sub, err = w.sendPart(ctx, sub); err != nil {
			return err
		}
		if starting.Err() != nil {
			return queue(ctx, w.Tasks, sub.ID, 0)
		}
	}
	return w.finish(ctx, sub)
}

// saveMoved saves the time of a rescheduled campaign, for which a late rest waits. Dispatch
// gives each part the campaign's time itself.
func (w *Worker) saveMoved(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	now, err := moved(ctx, w.Store, sub)
	if err != nil || now.Schedule == sub.Schedule {
		return sub, err
	}
	now.Sending.RestAtOnce = false
	return w.save(ctx, now)
}

// moved returns a submission with the time to which its campaign was rescheduled.
func moved(ctx context.Context, store Store, sub submission.Submission) (submission.Submission, error) {
	if sub.Sending.Parts == 0 {
		return sub, nil
	}
	last, err := store.Move(ctx, sub.ID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return sub, err
	}
	if last.Revision > 0 {
		sub.Schedule = last.Due.UTC().Format(time.RFC3339Nano)
	}
	return sub, nil
}

// untilDue returns the time until the schedule, which is negative after it and without one.
func (w *Worker) untilDue(sub submission.Submission) time.Duration {
	return sub.Due().Sub(w.Now())
}

// sendPart dispatches the next part and saves the progress.
func (w *Worker) sendPart(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	number := sub.Sending.Parts + 1
	file, err := w.Blobs.Get(ctx, sub.PartKey(number))
	if errors.Is(err, campaign.ErrNotFound) {
		return sub, &fault{code: faultFileGone}
	}
	if err != nil {
		return sub, err
	}
	p, people, err := submission.DecodePart(file)
	if err != nil {
		return sub, err
	}
	sent, err := w.accept(ctx, part(p).call(sub, number, people))
	if wrong, ok := errors.AsType[*fault](err); ok && wrong.code == codeTooSoon && !sub.Sending.RestAtOnce && (sub.Sending.Parts > 0 || w.untilDue(sub) > 0) {
		sub.Sending.RestAtOnce = true
		return w.save(ctx, sub)
	}
	if err != nil {
		return sub, err
	}
	sub.Sending.Parts, sub.Sending.Accepted, sub.Sending.Rejected = number, sub.Sending.Accepted+sent.Accepted, sub.Sending.Rejected+sent.Rejected
	sub.Sending.Erased += people - sent.Accepted
	return w.save(ctx, sub)
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

// finish closes a submission whose parts are all dispatched.
func (w *Worker) finish(ctx context.Context, sub submission.Submission) error {
	if err := deleteFiles(ctx, w.Blobs, sub.Folders(), nil); err != nil {
		return err
	}
	sub = sub.Slim()
	sub.State, sub.Fault = submission.StateSent, submission.Fault{}
	if _, err := w.save(ctx, sub); err != nil {
		return err
	}
	metrics.Add(ctx, metrics.SubmissionsSent, 1)
	return nil
}
