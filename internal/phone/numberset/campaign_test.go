package numberset_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/phone/numberset"
)

// TestMergedOfACampaign builds a campaign of full calls and of small ones, some
// of them repeating earlier numbers, and asks after each for numbers that are
// there and numbers that are not.
func TestMergedOfACampaign(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	var merged numberset.Merged
	model := map[uint64]bool{}
	var last numberset.Set
	for call := range 120 {
		fresh := mobiles(r, []int{1, 30, 2000}[call%3])
		batch := numberset.New(append(last[:len(last)/2:len(last)/2], fresh...))
		query := numberset.New(append(mobiles(r, 500), batch...))
		if diff := cmp.Diff(present(model, query), merged.Intersect(query)); diff != "" {
			t.Fatalf("before call %d (-want +got):\n%s", call, diff)
		}
		if err := merged.Add(batch.Pack()); err != nil {
			t.Fatal(err)
		}
		remember(model, batch)
		last = fresh
		if diff := cmp.Diff(batch, merged.Intersect(query)); call == 0 && diff != "" {
			t.Fatalf("after the first call (-want +got):\n%s", diff)
		}
	}
	everything := numberset.New(keys(model))
	if diff := cmp.Diff(everything, merged.Intersect(everything)); diff != "" {
		t.Errorf("everything (-want +got):\n%s", diff)
	}
}

// present returns the numbers of the query that the model has.
func present(model map[uint64]bool, query numberset.Set) (found numberset.Set) {
	for _, n := range query {
		if model[n] {
			found = append(found, n)
		}
	}
	return found
}

func keys(model map[uint64]bool) []uint64 {
	all := make([]uint64, 0, len(model))
	for n := range model {
		all = append(all, n)
	}
	return all
}
