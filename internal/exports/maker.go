// Package exports writes CSV files about campaigns: the outcomes of the messages as of a
// snapshot, or the rejected numbers. Service takes requests and serves the files; Maker
// writes a file in parts, in the background.
//
// A part consists of whole batches of the snapshot. What a part contains depends on the
// snapshot and on its first batch alone, so a repeated step uploads the same part again.
package exports

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/exports/export"
)

const (
	// PartSize is the size in bytes from which a part is uploaded, the minimum of S3.
	PartSize = 5 << 20
	// shutdownMargin is the time reserved for the part that has begun.
	shutdownMargin = 15 * time.Second
	// maxReceives is how often the queue delivers a task before it becomes a dead letter.
	maxReceives = 5
	// progressEvery is the maximum time between two updates of the progress.
	progressEvery = 3 * time.Second
)

// MakerStore reads campaigns and keeps the progress of exports.
type MakerStore interface {
	ledger.TapLogs
	port.SentBatches

	// Export returns an export. The error wraps campaign.ErrNotFound if there is none.
	Export(ctx context.Context, id string) (export.Export, error)
	// ExportSnapshot returns the batches of an export by ordinal. The error wraps campaign.ErrNotFound if there is none.
	ExportSnapshot(ctx context.Context, id string) ([]export.Batch, error)
	// SaveExport returns an error that wraps campaign.ErrLostRace if the export changed since it was read.
	SaveExport(ctx context.Context, e export.Export) (export.Export, error)
	// FreeExportSlot lets the tenant start another export. It can be repeated.
	FreeExportSlot(ctx context.Context, e export.Export) error
	// Dispatched returns a campaign without its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Changes returns up to limit changes after a sequence. The error wraps campaign.ErrExpired if the batch has expired.
	Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error)
}

// MakerBlobs reads payloads and error files, and writes files in parts.
type MakerBlobs interface {
	port.Blobs
	payload.Blobs

	// StartFile starts a file of parts that browsers save under a name, and returns the ID of the upload.
	StartFile(ctx context.Context, key, contentType, name string) (upload string, err error)
	// PutPart uploads or replaces a part. The error wraps campaign.ErrNotFound if there is no such upload.
	PutPart(ctx context.Context, key, upload string, part int, body []byte) error
	// FinishUpload makes a file of the parts. The error wraps campaign.ErrNotFound if there is no such upload.
	FinishUpload(ctx context.Context, key, upload string) error
	// AbortFile deletes the parts of an upload. A missing one is not an error.
	AbortFile(ctx context.Context, key, upload string) error
	// Exists reports whether there is an object.
	Exists(ctx context.Context, key string) (bool, error)
}

// Maker writes the files of exports.
type Maker struct {
	Store    MakerStore
	Blobs    MakerBlobs
	Tasks    port.Queue
	Now      func() time.Time
	PartSize int // bytes from which a part is uploaded
}

// Handle continues the exports of the tasks, and returns an error by position.
func (m *Maker) Handle(ctx context.Context, tasks []export.Task) []error {
	return port.HandleEach(ctx, tasks, m.handle)
}

func (m *Maker) handle(ctx context.Context, t export.Task) error {
	e, err := m.Store.Export(ctx, t.ExportID)
	if err != nil {
		return campaign.IgnoreNotFound(err)
	}
	err = m.run(ctx, e)
	switch {
	case errors.Is(err, campaign.ErrLostRace): // another task continues it, or it was deleted
		slog.InfoContext(ctx, "export continued elsewhere", "tenant", e.Tenant, "campaign_id", e.CampaignID, "export_id", e.ExportID)
		return m.cleanUp(ctx, e.ExportID)
	case errors.Is(err, campaign.ErrDamaged), errors.Is(err, campaign.ErrNotFound):
		slog.ErrorContext(ctx, "export failed", "tenant", e.Tenant, "campaign_id", e.CampaignID, "export_id", e.ExportID, "error", err)
		return m.fail(ctx, e.ExportID)
	case err != nil && t.Receives >= maxReceives: // so that the page does not show it as in progress
		return errors.Join(err, m.fail(ctx, e.ExportID))
	}
	return err
}

// cleanUp deletes what a task has written of an export that is deleted.
func (m *Maker) cleanUp(ctx context.Context, id string) error {
	e, err := m.Store.Export(ctx, id)
	if err != nil || !e.Closed() {
		return campaign.IgnoreNotFound(err)
	}
	return m.settle(ctx, e)
}

// settle repeats the last steps of a closed export.
func (m *Maker) settle(ctx context.Context, e export.Export) error {
	if e.State == export.Completed {
		return m.Store.FreeExportSlot(ctx, e)
	}
	if e.Upload != "" {
		if err := m.Blobs.AbortFile(ctx, e.Blob(), e.Upload); err != nil {
			return err
		}
	}
	for _, key := range []string{e.Blob(), e.RestBlob()} {
		if err := m.Blobs.Delete(ctx, key); err != nil {
			return err
		}
	}
	return m.Store.FreeExportSlot(ctx, e)
}

// fail ends an export that cannot be completed.
func (m *Maker) fail(ctx context.Context, id string) error {
	e, err := m.Store.Export(ctx, id)
	if err != nil || e.Closed() {
		return err
	}
	e.State = export.Failed
	if e, err = m.Store.SaveExport(ctx, e); err != nil {
		return err
	}
	metrics.Add(ctx, metrics.ExportsFailed, 1)
	return m.settle(ctx, e)
}

// run continues an export until it is completed or the time is over.
func (m *Maker) run(ctx context.Context, e export.Export) error {
	if e.Closed() {
		return m.settle(ctx, e)
	}
	w, err := m.open(ctx, e)
	if err != nil {
		return err
	}
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for began := false; w.Next < len(w.snapshot) || w.Parts == 0; began = true {
		if began && starting.Err() != nil {
			return queueTask(ctx, m.Tasks, w.Export, 0)
		}
		switch err := w.writePart(ctx, starting); {
		case errors.Is(err, errTimeOver):
			return queueTask(ctx, m.Tasks, w.Export, 0)
		case errors.Is(err, errNoUpload):
			return w.restart(ctx)
		case err != nil:
			return err
		}
	}
	return w.finish(ctx)
}

func queueTask(ctx context.Context, tasks port.Queue, e export.Export, delay time.Duration) error {
	return port.Send(ctx, tasks, e.Tenant, export.Task{ExportID: e.ExportID}, delay)
}
