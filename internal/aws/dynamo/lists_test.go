package dynamo_test

import (
	"testing"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/reach/lists"
)

// Of the calls that add a list, new or deleted before, one succeeds after each reading.
func TestAddList(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), randomID()
	add := func(l lists.List, additions int) bool {
		t.Helper()
		l.Tenant = tenant
		saved, err := s.AddList(t.Context(), l, additions, account.AuditEntry{Tenant: tenant, At: later})
		must(t, err)
		return saved
	}
	wantAdditions := func(want int) {
		t.Helper()
		got, err := s.ListAdditions(t.Context(), tenant)
		must(t, err)
		if got != want {
			t.Errorf("%d additions, want %d", got, want)
		}
	}
	wantAdditions(0)
	if !add(lists.List{Name: "a", Number: 1}, 0) || add(lists.List{Name: "b", Number: 2}, 0) {
		t.Error("the first list is not added, or a second one after the same reading")
	}
	if add(lists.List{Name: "b", Number: 1}, 1) || !add(lists.List{Name: "b", Number: 2}, 1) {
		t.Error("two lists have the same number, or the next list is not added")
	}
	if !add(lists.List{Name: "a", Number: 1, Version: 1}, 2) || add(lists.List{Name: "b", Number: 2, Version: 1}, 2) {
		t.Error("two lists are added again after the same reading, or none")
	}
	wantAdditions(3)
	saved, err := s.SaveList(t.Context(), lists.List{Tenant: tenant, Name: "b", Number: 2, Version: 1}, account.AuditEntry{Tenant: tenant, At: later})
	must(t, err)
	all, err := s.Lists(t.Context(), tenant)
	must(t, err)
	if !saved || len(all) != 2 {
		t.Errorf("saved: %v, %d lists", saved, len(all))
	}
	wantAdditions(3)
}
