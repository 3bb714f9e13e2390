package lists_test

import (
	"testing"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
)

// The lists of a number are looked up for each purpose. Their rows are read once: a tenant can have many.
func TestOnLists_ReadsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	add := lists.Change{Settings: &settings, Add: set(5511900000001)}
	if _, err := w.book.Change(t.Context(), tenant, "procon", add, account.AuditEntry{}); err != nil {
		t.Fatal(err)
	}
	w.listReads = 0
	kept, err := reach.Lookup{Lists: w.lookup}.OnLists(t.Context(), tenant, 5511900000001, lists.Traffics, w.now)
	if err != nil || len(kept) != 1 {
		t.Fatalf("on %v: %v, want one list", kept, err)
	}
	if w.listReads != 1 {
		t.Errorf("the rows of lists were read %d times, want once", w.listReads)
	}
}
