// Package intake makes campaigns of lists of people. Service takes a file and a person's
// decisions; Worker reads the file in parts and dispatches them, in the background.
//
// What a part contains depends on the file, the columns and the template alone, so a repeated
// step writes the same part again. Each step ends with a save of the submission, which fails if
// another task is ahead.
package intake

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/submission"
)

const (
	shutdownMargin = 20 * time.Second // for the part that has begun
	maxReceives    = 5                // before a task becomes a dead letter
)

const (
	faultFileGone     = "file_gone"
	faultNoHeader     = "no_header"
	faultDamaged      = "damaged"
	faultTooManyLines = "too_many_lines"
	faultTemplateGone = "template_not_found"
	faultTooLarge     = "workbook_large"
)

// Store reads templates and keeps the progress of submissions.
type Store interface {
	// Submissions returns the submissions of a tenant. The error wraps campaign.ErrDamaged if one cannot be read.
	Submissions(ctx context.Context, tenant string) ([]submission.Submission, error)
	// Submission returns a submission. The error wraps campaign.ErrNotFound if there is none.
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	// SaveSubmission returns an error that wraps campaign.ErrLostRace if the stored version is
	// not sub.Version.
	SaveSubmission(ctx context.Context, sub submission.Submission) (submission.Submission, error)
	// SaveDecision is SaveSubmission with an entry of the audit log, in one write.
	SaveDecision(ctx context.Context, sub submission.Submission, entry account.AuditEntry) (submission.Submission, error)
	// Template returns the current version. The error wraps campaign.ErrNotFound if there is no such template.
	Template(ctx context.Context, id string) (campaign.Template, error)
	// TemplateVersion returns a version, which never changes. The error wraps campaign.ErrNotFound if there is none.
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
	// KnownColumns returns the names of columns that the tenant has confirmed, by value.
	KnownColumns(ctx context.Context, tenant string) (map[string]string, error)
	// ChangeKnownColumns changes them. It calls change again after a concurrent change, and writes nothing if it returns
	// false.
	ChangeKnownColumns(ctx context.Context, tenant string, change func(names map[string]string) bool) error
	// Move returns the last change of a campaign's due time. The error wraps
	// campaign.ErrNotFound if the campaign does not exist.
	Move(ctx context.Context, id campaign.ID) (campaign.Move, error)
	// Standings returns the progress of campaigns by ID, without those that do not exist.
	Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error)
	// SkipPart counts a part that erasures have left empty. totals are those after it.
	SkipPart(ctx context.Context, id campaign.ID, totals campaign.SubmissionTotals) error
	// EndParts ends the acceptance of a campaign's parts. It can be repeated. What it returns is zero
	// if there is no campaign.
	EndParts(ctx context.Context, id campaign.ID) (campaign.EndedParts, error)
	// AddDay adds counts to a day. A repeated call adds them twice.
	AddDay(ctx context.Context, tenant, date string, counts campaign.DayCounts) error
}

// Blobs stores the parts.
type Blobs interface {
	// Get returns an object. The error wraps campaign.ErrNotFound if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// PutOnce writes an object that does not exist, or exists with the same content. The error
	// wraps campaign.ErrLostRace if it has another content.
	PutOnce(ctx context.Context, key string, body []byte, contentType string) error
	// Delete deletes an object. A missing one is not an error.
	Delete(ctx context.Context, key string) error
	// List yields the objects with the prefix, ordered by key.
	List(ctx context.Context, prefix string) iter.Seq2[campaign.Blob, error]
}

// Worker reads files and dispatches their parts.
type Worker struct {
	Store Store
	Blobs Blobs
	// Open opens an uploaded file that still has the tag.
	Open      func(ctx context.Context, key, tag string) (file port.File, size int64, err error)
	Dispatch  dispatch.Dispatcher
	Tasks     port.Queue
	Now       func() time.Time
	PartLines int // the most messages of a part
	// WavesFrom is the number of people from which a file is divided, so that its campaign can go in waves, 0 for never.
	WavesFrom int
}

// Handle continues the submissions of the tasks, and returns an error by position.
func (w *Worker) Handle(ctx context.Context, tasks []submission.Task) []error {
	return port.HandleEach(ctx, tasks, w.handle)
}

// handle continues a submission. A task that arrives twice loses the race of the next save.
func (w *Worker) handle(ctx context.Context, t submission.Task) error {
	sub, err := w.Store.Submission(ctx, campaign.ID{Tenant: t.Tenant, CampaignID: t.CampaignID})
	if err != nil {
		return campaign.IgnoreNotFound(err)
	}
	if sub.Repairs > submission.MaxRepairs && sub.Working() {
		return w.end(ctx, sub, &submission.Fault{Code: faultDamaged})
	}
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	err = w.run(ctx, starting, sub, true)
	if err != nil && t.Receives >= maxReceives { // so that the page does not show it as in progress
		return errors.Join(err, w.end(ctx, sub, &submission.Fault{Code: faultDamaged}))
	}
	return err
}

// run does the steps of a submission until it waits for a person, or until starting ends: then no
// part begins any more, and the task does the rest. Only a task ends a file that takes too long.
func (w *Worker) run(ctx, starting context.Context, sub submission.Submission, isTask bool) error {
	for first := true; ; first = false {
		next, err := w.step(ctx, starting, sub)
		switch wrong, isFault := errors.AsType[*submission.Fault](err); {
		case errors.Is(err, campaign.ErrLostRace):
			slog.InfoContext(ctx, "submission continued elsewhere", "tenant", sub.Tenant, "campaign_id", sub.CampaignID)
			return w.deleteRemains(ctx, sub.ID)
		case isFault && wrong.Code == faultTooLarge && (!isTask || !first): // the next task has the whole time
			return queue(ctx, w.Tasks, sub.ID, 0)
		case isFault:
			return w.end(ctx, sub, wrong)
		case err != nil || sub.State != submission.StateOpening || next.State != submission.StateChecking:
			return err
		}
		sub = next
	}
}

// step does what is next for a submission, and returns it as it was saved after its file was opened.
func (w *Worker) step(ctx, starting context.Context, sub submission.Submission) (submission.Submission, error) {
	switch sub.State {
	case submission.StateOpening:
		return w.readHeader(ctx, starting, sub)
	case submission.StateChecking:
		return sub, w.read(ctx, starting, sub)
	case submission.StateSending:
		return sub, w.send(ctx, starting, sub)
	case submission.StateSent, submission.StateFailed, submission.StateDiscarded: // the deletion was interrupted
		return sub, clean(ctx, w.Store, w.Blobs, sub)
	case submission.StateHolding: // the function died when it had dispatched a wave
		return sub, w.discardCancelled(ctx, sub)
	case submission.StateDraft, submission.StateUploading, submission.StateColumns, submission.StateReady, submission.StateApproval,
		submission.StateRefused, submission.StateInterrupted:
	}
	return sub, nil
}

// deleteRemains deletes what a task has written after its submission was discarded.
func (w *Worker) deleteRemains(ctx context.Context, id campaign.ID) error {
	sub, err := w.Store.Submission(ctx, id)
	if err != nil || !sub.Closed() {
		return err
	}
	return clean(ctx, w.Store, w.Blobs, sub)
}

func (w *Worker) save(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	sub.Repairs = 0
	return w.Store.SaveSubmission(ctx, sub)
}

// end fails a submission that is being read, or interrupts one that is being sent. It discards one
// whose campaign was cancelled. What began since the submission was read goes on.
func (w *Worker) end(ctx context.Context, read submission.Submission, why *submission.Fault) error {
	sub, err := w.Store.Submission(ctx, read.ID)
	same := sub.State == read.State && sub.Check.Number == read.Check.Number && sub.File.Object == read.File.Object
	if err != nil || !sub.Working() || !same {
		return err
	}
	slog.WarnContext(
		ctx, "submission ended", "tenant", sub.Tenant, "campaign_id", sub.CampaignID, "state", sub.State, "code", why.Code,
	)
	sub.State, sub.Fault = ended(sub, why), *why
	sub.Columns.First, sub.Columns.Encodings = nil, nil
	if sub.State == submission.StateFailed {
		metrics.Add(ctx, metrics.SubmissionsFailed, 1)
	}
	if !sub.Closed() {
		_, err = w.save(ctx, sub)
		return err
	}
	if sub, err = w.Store.SaveSubmission(ctx, sub.Close(sub.State)); err != nil {
		return err
	}
	return clean(ctx, w.Store, w.Blobs, sub)
}

func ended(sub submission.Submission, why *submission.Fault) submission.State {
	switch {
	case sub.State != submission.StateSending:
		return submission.StateFailed
	case why.Code == dispatch.CodeCancelled:
		return submission.StateDiscarded
	}
	return submission.StateInterrupted
}

// queue queues the task to continue a submission after a time.
func queue(ctx context.Context, tasks port.Queue, id campaign.ID, after time.Duration) error {
	return port.Send(ctx, tasks, id.Tenant, submission.Task{Tenant: id.Tenant, CampaignID: id.CampaignID}, after)
}
