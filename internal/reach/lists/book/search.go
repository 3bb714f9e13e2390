package book

import (
	"context"
	"fmt"
	"slices"

	"campaign-dispatch/internal/reach/lists"
)

// ListsOf returns the names of the tenant's lists that a number is on, whether they apply to it or not.
func (b *Book) ListsOf(ctx context.Context, tenant string, number uint64) ([]string, error) {
	all, err := b.Store.Lists(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("search lists: %w", err)
	}
	names := []string{}
	for _, l := range lists.Live(all) {
		if l.Over(b.Now()) {
			continue
		}
		on, err := b.Has(ctx, l, number)
		if err != nil {
			return nil, fmt.Errorf("search list %s: %w", l.Name, err)
		}
		if on {
			names = append(names, l.Name)
		}
	}
	return names, nil
}

// Has reports whether a number is on the list, whether the list applies to it or not.
func (b *Book) Has(ctx context.Context, l lists.List, number uint64) (bool, error) {
	for _, s := range slices.Backward(lists.Effective(l.Segments, b.Now())) {
		set, err := b.numbers(ctx, s)
		if err != nil {
			return false, err
		}
		if _, found := slices.BinarySearch(set, number); found {
			return !s.Remove, nil
		}
	}
	return false, nil
}

// Lists returns the tenant's lists, deleted ones included.
func (b *Book) Lists(ctx context.Context, tenant string) ([]lists.List, error) {
	all, err := b.Store.Lists(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("read lists: %w", err)
	}
	return all, nil
}
