package numberset_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/phone/numberset"
)

// TestMerged_IsUnion compares a Merged with a map after any operations.
func TestMerged_IsUnion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var merged numberset.Merged
		model := map[uint64]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"Insert": func(t *rapid.T) {
				s := sets().Draw(t, "set")
				merged.Insert(s)
				remember(model, s)
			},
			"Add": func(t *rapid.T) {
				many := rapid.SliceOfN(sets(), 0, 4).Draw(t, "sets")
				add(t, &merged, many)
				remember(model, many...)
			},
			"": func(t *rapid.T) { compare(t, &merged, model, sets().Draw(t, "query")) },
		})
	})
}

func add(t *rapid.T, merged *numberset.Merged, many []numberset.Set) {
	var packed [][]byte
	for _, s := range many {
		packed = append(packed, s.Pack())
	}
	if err := merged.Add(packed...); err != nil {
		t.Fatalf("add %v: %v", many, err)
	}
}

func remember(model map[uint64]bool, many ...numberset.Set) {
	for _, s := range many {
		for _, n := range s {
			model[n] = true
		}
	}
}

// compare compares the results of a query, and all numbers.
func compare(t *rapid.T, merged *numberset.Merged, model map[uint64]bool, query numberset.Set) {
	var want numberset.Set
	for _, n := range query {
		if model[n] {
			want = append(want, n)
		}
	}
	if diff := cmp.Diff(want, merged.Intersect(query)); diff != "" {
		t.Fatalf("common with the query (-want +got):\n%s", diff)
	}
	all := numberset.New(slices.Collect(maps.Keys(model)))
	if diff := cmp.Diff(all, merged.Intersect(all)); diff != "" && len(all) > 0 {
		t.Fatalf("everything (-want +got):\n%s", diff)
	}
	if merged.Bytes() < 8*len(model) {
		t.Fatalf("%d numbers in %d bytes", len(model), merged.Bytes())
	}
}

func TestAdd_CorruptSet(t *testing.T) {
	t.Parallel()
	var merged numberset.Merged
	good := numberset.Set{1, 2, 3}
	if err := merged.Add(good.Pack(), []byte("bad")); err == nil {
		t.Error("adding a corrupt set is no error")
	}
	if got := merged.Intersect(good); got != nil {
		t.Errorf("%v was taken from sets of which one is corrupt", got)
	}
}

func TestMerged_Size(t *testing.T) {
	t.Parallel()
	const batches, perBatch = 100, 2000
	var merged numberset.Merged
	r := rand.New(rand.NewPCG(3, 3))
	for range batches {
		merged.Insert(mobiles(r, perBatch))
	}
	if got, most := merged.Bytes(), batches*perBatch*11; got > most {
		t.Errorf("%d bytes for %d numbers, want %d at most", got, batches*perBatch, most)
	}
}
