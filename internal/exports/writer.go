package exports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/exports/export"
)

var (
	// errTimeOver reports that the time did not suffice for a part.
	errTimeOver = errors.New("the time is over")
	// errNoUpload reports that the upload does not exist any more.
	errNoUpload = errors.New("the upload is gone")
)

// writer writes the file of one export. The Export is the one that is stored.
type writer struct {
	*Maker
	export.Export
	snapshot []export.Batch
	batches  map[int]campaign.Batch // by ordinal
	totals   campaign.SubmissionTotals
	columns  variables // of export.Recipients
}

// open reads the snapshot of an export and its batches, and starts the upload.
func (m *Maker) open(ctx context.Context, e export.Export) (*writer, error) {
	w := &writer{Maker: m, Export: e, batches: map[int]campaign.Batch{}}
	var err error
	if w.snapshot, err = m.Store.ExportSnapshot(ctx, e.ExportID); err != nil {
		return nil, err
	}
	c, err := m.Store.Dispatched(ctx, e.ID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) { // an expired campaign has no lines
		return nil, fmt.Errorf("export: %w", err)
	}
	w.totals = c.Submission
	for _, b := range c.Batches {
		w.batches[b.Ordinal] = b.Batch
	}
	if e.Kind == export.Recipients {
		if err := w.readColumns(ctx, c); err != nil {
			return nil, err
		}
	}
	if w.Upload != "" {
		return w, nil
	}
	next := w.Export
	next.State = export.Running
	if next.Upload, err = m.Blobs.StartFile(ctx, e.Blob(), "text/csv; charset=utf-8", fileName(e, c.Name)); err != nil {
		return nil, err
	}
	err = w.save(ctx, next)
	return w, err
}

// fileName returns the name of an export's file: what it has, the letters and digits of the
// campaign's name, and the date in São Paulo.
func fileName(e export.Export, of string) string {
	const longest = 60 // characters of the campaign's name
	words := strings.FieldsFunc(of, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	if of = strings.Join(words, "-") + "-"; len(words) == 0 {
		of = ""
	} else if all := []rune(of); len(all) > longest {
		of = string(all[:longest]) + "-"
	}

	names := map[export.Kind]string{export.Outcomes: "results", export.Rejected: "rejected", export.Recipients: "recipients"}
	if e.Language == portuguese {
		names = map[export.Kind]string{export.Outcomes: "resultados", export.Rejected: "recusados"}
	}
	return names[e.Kind] + "-" + of + localtime.Day(e.CreatedAt) + ".csv"
}

func (w *writer) save(ctx context.Context, next export.Export) error {
	saved, err := w.Store.SaveExport(ctx, next)
	if err == nil {
		w.Export = saved
	}
	return err
}

// writePart uploads the next part and saves the progress. When starting ends, it stores the
// lines of at least one batch instead.
func (w *writer) writePart(ctx, starting context.Context) error {
	t, err := w.begin(ctx)
	if err != nil {
		return err
	}
	next := w.Export
	shown := w.Now()
	for ; next.Next < len(w.snapshot) && len(t.file) < w.PartSize; next.Next++ {
		if starting.Err() != nil && next.Next > w.Next {
			return w.storeRest(ctx, t, next)
		}
		checked, err := w.add(ctx, t, w.snapshot[next.Next])
		if err != nil {
			return err
		}
		next.Checked += checked
		if now := w.Now(); now.Sub(shown) >= progressEvery {
			if err := w.show(ctx, next.Checked); err != nil {
				return err
			}
			shown = now
		}
	}
	if err := noUpload(w.Blobs.PutPart(ctx, w.Blob(), w.Upload, w.Parts+1, t.file)); err != nil {
		return err
	}
	next.Parts, next.Lines, next.Rest = w.Parts+1, w.Lines+t.lines, 0
	return w.saveStep(ctx, next)
}

// add adds the lines of a batch or a part, and returns how many messages and people are checked.
func (w *writer) add(ctx context.Context, t *table, at export.Batch) (checked int, err error) {
	if at.Part > 0 {
		return w.addNotAccepted(ctx, t, at.Part)
	}
	b, ok := w.batches[at.Ordinal]
	if !ok {
		return 0, nil
	}
	return countOf(w.Kind, b), w.addBatch(ctx, t, b, at)
}

// begin returns the table of the next part with the lines that were stored for it.
func (w *writer) begin(ctx context.Context) (*table, error) {
	t := &table{Export: w.Export, columns: w.columns, inWaves: w.totals.Cells.Waves() > 0}
	if w.Rest > 0 {
		var err error
		if t.file, err = w.Blobs.Get(ctx, w.RestBlob()); err != nil {
			return nil, fmt.Errorf("read the rest of an export: %w", err)
		}
	} else if w.Parts == 0 {
		t.addHeading()
	}
	return t, nil
}

// storeRest stores the lines of a part that is not full, and returns errTimeOver.
func (w *writer) storeRest(ctx context.Context, t *table, next export.Export) error {
	next.Lines, next.Rest = w.Lines+t.lines, next.Next
	if err := w.Blobs.Put(ctx, next.RestBlob(), t.file, "text/csv; charset=utf-8"); err != nil {
		return err
	}
	if err := w.saveStep(ctx, next); err != nil {
		return err
	}
	return errTimeOver
}

// saveStep saves the progress and deletes the rest that it replaces.
func (w *writer) saveStep(ctx context.Context, next export.Export) error {
	was := w.Export
	next.Version = was.Version
	if err := w.save(ctx, next); err != nil {
		return err
	}
	if was.Rest == 0 || was.Rest == w.Rest {
		return nil
	}
	return w.Blobs.Delete(ctx, was.RestBlob())
}

func noUpload(err error) error {
	if errors.Is(err, campaign.ErrNotFound) {
		return errNoUpload
	}
	return err
}

// show saves how many messages are checked while a part is being written.
func (w *writer) show(ctx context.Context, checked int) error {
	next := w.Export
	next.Shown = max(next.Shown, checked)
	return w.save(ctx, next)
}

// countOf is what a batch adds to the total of an export.
func countOf(kind export.Kind, b campaign.Batch) int {
	if kind == export.Rejected {
		return b.Rejected
	}
	return b.Accepted
}

func (w *writer) finish(ctx context.Context) error {
	err := noUpload(w.Blobs.FinishUpload(ctx, w.Blob(), w.Upload))
	if errors.Is(err, errNoUpload) {
		err = w.restart(ctx)
	}
	if err != nil || w.Upload == "" {
		return err
	}
	next := w.Export
	next.State, next.ExpiresAt = export.Completed, w.Now().Add(export.Life)
	if err := w.save(ctx, next); err != nil {
		return err
	}
	metrics.Add(ctx, metrics.ExportsCompleted, 1)
	slog.InfoContext(ctx, "export completed",
		"tenant", w.Tenant, "campaign_id", w.CampaignID, "export_id", w.ExportID, "lines", w.Lines, "parts", w.Parts)
	return w.settle(ctx, w.Export)
}

// restart begins an export again whose upload is gone, unless its file is there.
func (w *writer) restart(ctx context.Context) error {
	there, err := w.Blobs.Exists(ctx, w.Blob())
	if err != nil || there && w.Next >= len(w.snapshot) {
		return err
	}
	next := w.Export
	next.Upload, next.Parts, next.Next, next.Checked, next.Shown, next.Lines, next.Rest = "", 0, 0, 0, 0, 0, 0
	if err := w.save(ctx, next); err != nil {
		return err
	}
	return queueTask(ctx, w.Tasks, w.Export, 0)
}
