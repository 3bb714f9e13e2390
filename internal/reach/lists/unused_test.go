package lists_test

import (
	"errors"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/lookup"
)

const day = 24 * time.Hour

// clean deletes unused segments at the time, and returns how many.
func (w *world) clean(t *testing.T, at time.Time) int {
	t.Helper()
	w.now = at
	deleted, err := w.cleaner.Clean(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return deleted
}

// A segment in use stays, however old it is. A segment that was replaced stays as long as a table can be
// restored to the row that named it.
func TestClean_ReplacedSegments(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.change(t, "a", lists.Change{Settings: &settings, Add: set(1, 2)})
	kept := w.change(t, "b", lists.Change{Settings: &settings, Add: set(3)})
	replaced := start.Add(100 * day)
	w.now = replaced
	before := w.rows["a"]
	w.change(t, "a", lists.Change{Replace: true, Add: set(2)})
	if n := w.clean(t, replaced.Add(book.UnusedLife-day)); n != 0 {
		t.Fatalf("%d segments were deleted that a restored table may name", n)
	}
	now := w.rows["a"]
	w.rows["a"] = before // restored
	if w.lookup = (&lookup.Cache{Store: w, Blobs: w, Now: w.book.Now}); w.of(t)("+1") == 0 {
		t.Error("the restored list does not hold its number back")
	}
	w.rows["a"] = now
	if n := w.clean(t, replaced.Add(book.UnusedLife)); n != 1 || len(w.objects) != 2 {
		t.Errorf("%d segments were deleted, %d stay", n, len(w.objects))
	}
	if err := w.book.Delete(t.Context(), tenant, "b", account.AuditEntry{}); err != nil {
		t.Fatal(err)
	}
	if n := w.clean(t, w.now.Add(book.UnusedLife)); n != 1 || w.objects[kept.Segments[0].ID] != nil {
		t.Errorf("%d segments of the deleted list were deleted", n)
	}
	if w.of(t)("+2") == 0 {
		t.Error("the segment in use was deleted")
	}
}

// A segment whose row was not written is deleted.
func TestClean_SegmentWithoutRow(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.full = true
	_, err := w.book.Change(t.Context(), tenant, "a", lists.Change{Settings: &settings, Add: set(1)}, account.AuditEntry{})
	if !errors.Is(err, errFull) || len(w.objects) != 1 {
		t.Fatalf("%d objects, %v", len(w.objects), err)
	}
	if n := w.clean(t, start.Add(book.UnusedLife)); n != 1 || len(w.objects) != 0 {
		t.Errorf("%d segments were deleted, %d stay", n, len(w.objects))
	}
}

// The list of a missing segment can be replaced.
func TestChange_MissingSegment(t *testing.T) {
	t.Parallel()
	w := newWorld()
	l := w.change(t, "a", lists.Change{Settings: &settings, Add: set(1)})
	delete(w.objects, l.Segments[0].ID)
	if _, err := w.lookup.KeptBy(t.Context(), tenant, "", w.now); err == nil {
		t.Fatal("the missing segment is no error")
	}
	w.change(t, "a", lists.Change{Replace: true, Add: set(2)})
	if w.of(t)("+2") == 0 {
		t.Error("the number of the replaced list is not held back")
	}
}
