package privacy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
)

// A saved number for tests is exported and erased; those of others stay.
func TestErase_TestNumbers(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	others := account.TestNumber{Name: "Bruno", Phone: written(bruno)}
	w.must(w.store.SaveTestNumbers(t.Context(), w.tenant.ID, account.TestNumbers{All: []account.TestNumber{{Name: "Ana", Phone: written(ana)}, others}}))
	if diff := cmp.Diff([]string{"Ana"}, w.export(ana).TestNumbers); diff != "" {
		t.Errorf("exported (-want +got):\n%s", diff)
	}
	if done := w.erase(ana); done.TestNumbers != 1 || done.Nothing() {
		t.Errorf("erased %+v", done)
	}
	left, err := w.store.TestNumbers(t.Context(), w.tenant.ID)
	if diff := cmp.Diff([]account.TestNumber{others}, left.All); diff != "" || err != nil {
		t.Errorf("%v, left (-want +got):\n%s", err, diff)
	}
}
