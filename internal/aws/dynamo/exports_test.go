package dynamo_test

import (
	"crypto/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
)

// A campaign's exports are read with few calls, also more than one call of BatchGetItem takes.
func TestExports_Calls(t *testing.T) {
	t.Parallel()
	s, id := newStore(t), campaign.ID{Tenant: "t-" + rand.Text(), CampaignID: newKey().MessageID(0)}
	var want []string
	for range 101 {
		e := export.Export{ID: id, ExportID: newKey().MessageID(0), Kind: export.Outcomes, CreatedAt: later, ExpiresAt: later.Add(export.Life)}
		created, full, err := s.CreateExport(t.Context(), e, nil)
		must(t, err)
		if full {
			t.Fatal("no slot is free")
		}
		must(t, s.FreeExportSlot(t.Context(), created))
		want = append(want, e.ExportID)
	}
	var used rowsRead
	all, err := with(t, s, used.attach).Exports(t.Context(), id)
	must(t, err)
	var got []string
	for _, e := range all {
		got = append(got, e.ExportID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || used.calls != 3 {
		t.Errorf("%d calls (-want +got):\n%s", used.calls, diff)
	}
}
