package privacy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
)

// An export names the lists that the number is on. An erasure leaves it on them, so that it gets no messages.
func TestErase_NumberStaysOnLists(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	listBook := &book.Book{Store: w.store, Blobs: w.blobs, Now: w.store.Tables().Now}
	for name, numbers := range map[string]numberset.Set{"both": numberset.New([]uint64{ana, bruno}), "only-bruno": numberset.New([]uint64{bruno})} {
		change := lists.Change{Settings: &lists.Settings{Reason: "r"}, Add: numbers}
		_, err := listBook.Change(t.Context(), w.tenant.ID, name, change, account.AuditEntry{At: w.now})
		w.must(err)
	}
	of := func(number uint64) string { return strings.Join(w.export(number).Lists, " ") }
	if diff := cmp.Diff([]string{"both", "both only-bruno"}, []string{of(ana), of(bruno)}); diff != "" {
		t.Errorf("lists of the export (-want +got):\n%s", diff)
	}
	w.erase(bruno)
	if got := of(bruno); got != "both only-bruno" {
		t.Errorf("after the erasure the number is on %q", got)
	}
}
