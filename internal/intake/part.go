package intake

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/submission"
)

// part is the messages of one dispatch call.
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

// saveClosed saves a submission that has ended, and deletes its files. Sweep repeats a deletion
// that was interrupted.
func saveClosed(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) error {
	sub, err := store.SaveSubmission(ctx, sub.Close(sub.State))
	if err != nil {
		return err
	}
	return clean(ctx, store, blobs, sub)
}

// clean closes the parts of a closed submission, and saves that no files are left. It can be repeated.
func clean(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) error {
	ended, err := closeParts(ctx, store, blobs, sub)
	if err != nil || !sub.FilesLeft {
		return err
	}
	sub.FilesLeft = false
	_, err = store.SaveSubmission(ctx, sub)
	if errors.Is(err, campaign.ErrLostRace) { // another one has cleaned up
		return nil
	}
	if err != nil {
		return err
	}
	countNeverAccepted(ctx, store, sub, ended)
	return nil
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
		for _, part := range ended.PartsLeft() {
			kept[submission.LeftKey(sub.ID, ended.SubmissionTotals, part)] = true
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
		err = store.AddDay(ctx, sub.Tenant, localtime.Day(at), campaign.DayCounts{Failed: ended.NeverAccepted()})
	}
	if err != nil {
		slog.WarnContext(ctx, "counting people failed; the recount corrects the day", "tenant", sub.Tenant, "campaign_id", sub.CampaignID, "error", err)
	}
}

// atOnce is the number of files read or deleted at once.
const atOnce = 8

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
