package privacy

import (
	"context"
	"errors"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
)

// deleteExports deletes the export files of a campaign, which may contain anybody's number.
// An export that is being written ends: it may have read the number already.
func (e *erasure) deleteExports(ctx context.Context, id campaign.ID) error {
	all, err := e.Store.Exports.Exports(ctx, id)
	if err != nil {
		return fmt.Errorf("delete exports: %w", err)
	}
	for _, x := range all {
		if err := e.deleteExport(ctx, x); err != nil {
			return fmt.Errorf("delete exports: %w", err)
		}
	}
	return nil
}

// deleteExport marks an export before its files are deleted, so that no link leads to them
// and no function completes it. A repeated call deletes what is left.
func (e *erasure) deleteExport(ctx context.Context, x export.Export) error {
	for x.State != export.Deleted {
		next := x
		next.State = export.Deleted
		_, err := e.Store.Exports.SaveExport(ctx, next)
		if err == nil {
			e.add(func(done *Erased) { done.Exports++ })
			break
		}
		if !errors.Is(err, campaign.ErrLostRace) { // its function made progress
			return err
		}
		if x, err = e.Store.Exports.Export(ctx, x.ExportID); err != nil {
			return err
		}
	}
	if x.Upload != "" {
		if err := e.Blobs.AbortFile(ctx, x.Blob(), x.Upload); err != nil {
			return err
		}
	}
	for o, err := range e.Blobs.List(ctx, x.Blob()) {
		if err != nil {
			return err
		}
		if err := e.Blobs.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	return nil
}
