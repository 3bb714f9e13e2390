package privacy_test

import (
	"testing"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/exports/export"
)

// startExport writes an export of the campaign with its file.
func (w *tenantFixture) startExport(state export.State) export.Export {
	w.t.Helper()
	e := export.Export{
		ID: w.id, ExportID: random.UUID(), Secret: "s", Kind: export.Outcomes, State: state,
		CreatedAt: w.now, UpdatedAt: w.now, ExpiresAt: w.now.Add(time.Hour),
	}
	_, full, err := w.store.CreateExport(w.t.Context(), e, nil)
	w.must(err)
	if full {
		w.t.Fatal("too many exports")
	}
	w.put(e.Blob(), []byte("numbers"))
	w.put(e.Blob()+".7", []byte("numbers"))
	return e
}

func (w *tenantFixture) exportFiles() (keys []string) {
	w.t.Helper()
	for o, err := range w.blobs.List(w.t.Context(), export.Prefix+w.tenant.ID+"/") {
		w.must(err)
		keys = append(keys, o.Key)
	}
	return keys
}

// An erasure deletes the exports of the campaigns with the number, and ends those that are
// being written.
func TestErase_Exports(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, ana, bruno)
	done, running := w.startExport(export.Completed), w.startExport(export.Running)
	if got := w.erase(caio); got.Exports != 0 || len(w.exportFiles()) != 4 {
		t.Errorf("the erasure of a number of no campaign: %d exports deleted, %d files left", got.Exports, len(w.exportFiles()))
	}
	if got := w.erase(ana); got.Exports != 2 {
		t.Errorf("%d exports deleted, want 2", got.Exports)
	}
	if left := w.exportFiles(); len(left) != 0 {
		t.Errorf("files are left: %q", left)
	}
	for _, e := range []export.Export{done, running} {
		if e, err := w.store.Export(t.Context(), e.ExportID); err != nil || e.State != export.Deleted {
			t.Errorf("the export is %s, error %v", e.State, err)
		}
	}
}
