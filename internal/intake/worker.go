// Package intake sends campaigns from large files. Service takes a file and a person's
// decisions; Worker reads the file in parts and dispatches them, in the background.
//
// What a part contains depends on the file, the columns and the template alone, so a repeated
// step writes the same part again. Each step ends with a save of the import, which fails if
// another task is ahead.
package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/port"
	"campaign-dispatch/internal/retry"
)

const (
	// shutdownMargin is the time reserved for the part that has begun.
	shutdownMargin = 20 * time.Second
	// maxReceives is how often the queue delivers a task before it becomes a dead letter.
	maxReceives = 5
)

// The codes of faults.
const (
	faultFileGone     = "file_gone"
	faultNoHeader     = "no_header"
	faultDamaged      = "damaged"
	faultTooManyLines = "too_many_lines"
	faultTemplateGone = "template_not_found"
	faultTooLarge     = "workbook_large"
)

// Store reads templates and keeps the progress of imports.
type Store interface {
	Imports(ctx context.Context, tenant string) ([]campaign.Import, error)
	Import(ctx context.Context, id campaign.ID) (campaign.Import, error)
	// SaveImport returns an error that wraps campaign.ErrLostRace if the stored version is not
	// i.Version.
	SaveImport(ctx context.Context, i campaign.Import) (campaign.Import, error)
	Template(ctx context.Context, id string) (campaign.Template, error)
	// KnownColumns returns the names of columns that the tenant has confirmed, by value.
	KnownColumns(ctx context.Context, tenant string) (map[string]string, error)
	SaveKnownColumns(ctx context.Context, tenant string, names map[string]string) error
	// Move returns the last change of a campaign's due time. The error wraps
	// campaign.ErrNotFound if the campaign does not exist.
	Move(ctx context.Context, id campaign.ID) (campaign.Move, error)
	// SkipPart counts a part that erasures have left empty. totals are those after it.
	SkipPart(ctx context.Context, id campaign.ID, totals campaign.SubmissionTotals) error
	// EndParts ends the acceptance of a campaign's parts. It can be repeated.
	EndParts(ctx context.Context, id campaign.ID) error
	Approval(ctx context.Context, tenant, id string) (campaign.Approval, error)
	SaveApproval(ctx context.Context, a campaign.Approval, was campaign.ApprovalState) error
}

// Blobs stores the parts. The error wraps campaign.ErrNotFound if an object does not exist.
type Blobs interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, body []byte, contentType string) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) iter.Seq2[campaign.Blob, error]
}

// Source is an uploaded file.
type Source interface {
	io.ReaderAt
	// BytesRead returns the number of bytes read so far.
	BytesRead() int64
}

// Worker reads files and dispatches their parts.
type Worker struct {
	Store Store
	Blobs Blobs
	// Open opens an uploaded file that still has the tag.
	Open     func(ctx context.Context, key, tag string) (file Source, size int64, err error)
	Dispatch dispatch.Dispatcher
	OptOuts  port.OptOuts
	Tasks    port.Queue
	Now      func() time.Time
	// PartLines is the maximum number of messages of a part.
	PartLines int
}

// Handle continues the imports of the tasks, and returns an error by position.
func (w *Worker) Handle(ctx context.Context, tasks []campaign.ImportTask) []error {
	failed := make([]error, len(tasks))
	for n, t := range tasks {
		failed[n] = w.handle(ctx, t)
	}
	return failed
}

// handle continues an import. A task that arrives twice loses the race of the next save.
func (w *Worker) handle(ctx context.Context, t campaign.ImportTask) error {
	i, err := w.Store.Import(ctx, campaign.ID{Tenant: t.Tenant, CampaignID: t.ImportID})
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = w.run(ctx, i)
	switch wrong, isFault := errors.AsType[*fault](err); {
	case errors.Is(err, campaign.ErrLostRace):
		slog.InfoContext(ctx, "import continued elsewhere", "tenant", i.Tenant, "campaign_id", i.CampaignID)
		return w.deleteLeft(ctx, i.ID)
	case isFault:
		return w.end(ctx, i.ID, wrong)
	case err != nil && t.Receives >= maxReceives: // so that the page does not show it as in progress
		return errors.Join(err, w.end(ctx, i.ID, &fault{code: faultDamaged}))
	}
	return err
}

func (w *Worker) run(ctx context.Context, i campaign.Import) error {
	switch i.State {
	case campaign.ImportOpening:
		return w.readHeader(ctx, i)
	case campaign.ImportReading:
		return w.read(ctx, i)
	case campaign.ImportSending:
		return w.send(ctx, i)
	case campaign.ImportSent, campaign.ImportFailed, campaign.ImportCancelled: // the deletion was interrupted
		return closeParts(ctx, w.Store, w.Blobs, i)
	case campaign.ImportUploading, campaign.ImportColumns, campaign.ImportReady, campaign.ImportApproval, campaign.ImportStopped:
	}
	return nil
}

// deleteLeft deletes what a task has written after its import was discarded.
func (w *Worker) deleteLeft(ctx context.Context, id campaign.ID) error {
	i, err := w.Store.Import(ctx, id)
	if err != nil || !i.Closed() {
		return err
	}
	return closeParts(ctx, w.Store, w.Blobs, i)
}

// fault is why an import cannot continue.
type fault struct {
	code string
	args []string
}

func (f *fault) Error() string { return "import: " + f.code }

// end fails an import that is being read, or stops one that is being sent. It discards one
// whose campaign was cancelled.
func (w *Worker) end(ctx context.Context, id campaign.ID, why *fault) error {
	i, err := w.Store.Import(ctx, id)
	if err != nil || !i.Working() {
		return err
	}
	slog.WarnContext(ctx, "import ended", "tenant", i.Tenant, "campaign_id", i.CampaignID, "state", i.State, "code", why.code)
	i.State, i.Fault, i.FaultArgs, i.First = ended(i, why), why.code, why.args, nil
	if i.State == campaign.ImportFailed {
		metrics.Add(ctx, metrics.SubmissionsFailed, 1)
	}
	if i, err = w.Store.SaveImport(ctx, i); err != nil || !i.Closed() {
		return err
	}
	return closeParts(ctx, w.Store, w.Blobs, i)
}

// ended returns the state of an import after a fault.
func ended(i campaign.Import, why *fault) campaign.ImportState {
	switch {
	case i.State != campaign.ImportSending:
		return campaign.ImportFailed
	case why.code == dispatch.CodeCancelled:
		return campaign.ImportCancelled
	}
	return campaign.ImportStopped
}

// queue queues the task to continue an import after a time.
func queue(ctx context.Context, tasks port.Queue, id campaign.ID, after time.Duration) error {
	body, err := json.Marshal(campaign.ImportTask{Tenant: id.Tenant, ImportID: id.CampaignID})
	if err != nil {
		return fmt.Errorf("encode import task: %w", err)
	}
	return tasks.Send(ctx, id.Tenant, body, after)
}

// withMargin returns a context that ends when no further part may begin.
func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	return retry.WithMargin(ctx, shutdownMargin)
}
