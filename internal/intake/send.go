package intake

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/submission"
)

const (
	codeTooSoon = "schedule_too_soon"
	maxTries    = 6 // attempts of a call that fails
)

// send dispatches the remaining parts, until all are sent, a wave ends or the time is over.
func (w *Worker) send(ctx, starting context.Context, sub submission.Submission) (err error) {
	for sub.Sending.Parts < sub.PartsOpen() {
		if sub, err = w.saveMoved(ctx, sub); err != nil {
			return err
		}
		if wait := sub.Due().Sub(w.Now()); sub.Sending.RestAtOnce && wait > 0 { // what goes at once must not go before its time
			return queue(ctx, w.Tasks, sub.ID, wait+time.Second) // the queue counts in seconds
		}
		if sub, err = w.sendPart(ctx, sub); err != nil {
			return err
		}
		if starting.Err() != nil {
			return queue(ctx, w.Tasks, sub.ID, 0)
		}
	}
	if sub.State == submission.StateHolding {
		return w.discardCancelled(ctx, sub)
	}
	return w.finish(ctx, sub)
}

// hold returns a submission that waits for a person if all parts of the open wave are dispatched, and others are left.
func hold(sub submission.Submission) submission.Submission {
	if sub.Sending.Parts == sub.PartsOpen() && sub.Sending.Parts < sub.Check.Parts {
		sub.State = submission.StateHolding
	}
	return sub
}

// discardCancelled discards the waves that wait for a person if the campaign was cancelled while the last part before them
// was dispatched: the cancellation has found nothing that waits.
func (w *Worker) discardCancelled(ctx context.Context, sub submission.Submission) error {
	standings, err := w.Store.Standings(ctx, sub.Tenant, []string{sub.CampaignID})
	if err != nil || standings[sub.CampaignID].CancelledAt.IsZero() {
		return err
	}
	if sub, err = w.Store.SaveSubmission(ctx, sub.Close(submission.StateDiscarded)); err != nil {
		return err
	}
	return clean(ctx, w.Store, w.Blobs, sub)
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
	return sub.Moved(last), nil
}

func (w *Worker) sendPart(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	number := sub.Sending.Parts + 1
	c, err := readCall(ctx, w.Blobs, sub, number)
	if errors.Is(err, campaign.ErrNotFound) {
		return sub, &submission.Fault{Code: faultFileGone}
	}
	if err != nil {
		return sub, err
	}
	sent, err := w.accept(ctx, c)
	progress := &sub.Sending
	wrong, ok := errors.AsType[*submission.Fault](err)
	switch {
	case ok && wrong.Code == codeTooSoon && !progress.RestAtOnce && (progress.Parts > 0 || sub.Due().After(w.Now())):
		progress.RestAtOnce = true
	case err != nil:
		return sub, err
	default:
		progress.Parts = number
		progress.Accepted += sent.Accepted
		progress.Rejected += sent.Rejected
		progress.InOtherBatches += sent.InOtherBatches
		progress.Erased += c.People - sent.Accepted - sent.InOtherBatches
	}
	return w.save(ctx, hold(sub))
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
			return r, w.Store.SkipPart(ctx, c.ID, c.Totals.WithPart(c.People, 0, 0))
		} else if refused {
			return r, &submission.Fault{Code: refusal.Faults[0].Code}
		}
	}
	return r, err
}

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

// readCall reads the dispatch call of a part, by its number from 1.
func readCall(ctx context.Context, blobs Blobs, sub submission.Submission, number int) (c dispatch.Call, err error) {
	file, err := blobs.Get(ctx, sub.PartKey(number))
	if err != nil {
		return c, err
	}
	p, people, err := submission.DecodePart(file)
	return part(p).call(sub, number, people), err
}

type part []submission.Message

// call returns the dispatch call of a part, by its number from 1, with the number of people when it
// was checked.
func (p part) call(sub submission.Submission, number, people int) dispatch.Call {
	c := dispatch.Call{
		ID: sub.ID, Name: sub.Name, TemplateID: sub.TemplateID, TemplateVersion: sub.TemplateVersion,
		Batch: strconv.Itoa(number), Schedule: sub.Schedule, NotAfter: sub.NotAfter, AskedBy: sub.Approval.Asker(),
		Part: sub.PartID(number), Totals: sub.Totals(), People: people,
		Messages: make([]dispatch.Message, 0, len(p)),
	}
	if sub.Sending.RestAtOnce {
		c.Schedule = ""
	}
	for _, m := range p {
		c.Messages = append(c.Messages, dispatch.Message{Phone: m.Phone, UID: m.UID, Vars: m.Vars, Line: m.Line})
	}
	return c
}

// clean closes the parts of a closed submission, and saves that no files are left. It can be repeated:
// sweep does so after a death.
func clean(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) error {
	ended, err := closeParts(ctx, store, blobs, sub)
	if err != nil || !sub.DeletingFiles {
		return err
	}
	sub.DeletingFiles = false
	switch _, err = store.SaveSubmission(ctx, sub); {
	case errors.Is(err, campaign.ErrLostRace): // another one has cleaned up
		return nil
	case err == nil:
		countNeverAccepted(ctx, store, sub, ended)
	}
	return err
}

// closeParts deletes the files of a closed submission, after its campaign expects no more parts of a
// discarded one. Parts that a campaign has not accepted are kept: their people stand in its exports. A
// part may have been accepted while the submission was discarded. It can be repeated.
func closeParts(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) (ended campaign.EndedParts, err error) {
	kept := map[string]bool{}
	if sub.State == submission.StateDiscarded {
		if ended, err = store.EndParts(ctx, sub.ID); err != nil {
			return ended, err
		}
		for _, part := range ended.PartsNotAccepted() {
			kept[submission.NotAcceptedKey(sub.ID, ended.SubmissionTotals, part)] = true
		}
	}
	return ended, deleteFiles(ctx, blobs, sub.Folders(), kept)
}

// countNeverAccepted counts the people who are not accepted any more on the day on which their campaign
// went out. An error is only logged, and a death loses the count: the recount corrects the day.
func countNeverAccepted(ctx context.Context, store Store, sub submission.Submission, ended campaign.EndedParts) {
	if ended.NeverAccepted() == 0 {
		return
	}
	sub, err := moved(ctx, store, sub)
	if err == nil {
		at := ended.CreatedAt
		if due := sub.Due(); ended.PartsDone > 0 && !due.IsZero() {
			at = due
		}
		err = store.AddDay(ctx, sub.Tenant, localtime.Day(at), campaign.DayCounts{NotSent: ended.NeverAccepted()})
	}
	if err != nil {
		slog.WarnContext(
			ctx, "counting people failed; the recount corrects the day", "tenant", sub.Tenant, "campaign_id", sub.CampaignID, "error", err,
		)
	}
}

const atOnce = 8 // files that are read or deleted

// deleteFiles deletes the objects of some folders, except for the kept ones. It can be repeated.
func deleteFiles(ctx context.Context, blobs Blobs, folders []string, kept map[string]bool) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for _, folder := range folders {
		for o, err := range blobs.List(ctx, folder) {
			if err != nil {
				return errors.Join(err, all.Wait())
			}
			if !kept[o.Key] {
				all.Go(func() error { return blobs.Delete(ctx, o.Key) })
			}
		}
	}
	return all.Wait()
}
