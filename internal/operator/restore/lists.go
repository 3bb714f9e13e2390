package restore

import (
	"context"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/reach/lists"
)

// ListReport compares the lists of a restored table with the current ones. Lists are tenant/name.
type ListReport struct {
	Changed    []string // lists that changed after the point in time
	Unreadable []string // restored lists without one of their segments
}

// CompareLists reports the lists that differ between a restored table and the current one. exists reports whether
// the bucket has the object of a segment.
func CompareLists(
	ctx context.Context, current, restored *dynamo.Stores, exists func(ctx context.Context, key string) (bool, error),
) (r ListReport, err error) {
	tenants, err := restored.Tenants(ctx)
	if err != nil {
		return r, err
	}
	for _, tenant := range tenants {
		now, err := current.Lists(ctx, tenant.ID)
		if err != nil {
			return r, err
		}
		then, err := restored.Lists(ctx, tenant.ID)
		if err != nil {
			return r, err
		}
		for _, l := range now {
			if was, _ := lists.Find(then, l.Name); was.Version != l.Version {
				r.Changed = append(r.Changed, tenant.ID+"/"+l.Name)
			}
		}
		for _, l := range then {
			complete, err := complete(ctx, l, exists)
			if err != nil {
				return r, err
			}
			if !complete {
				r.Unreadable = append(r.Unreadable, tenant.ID+"/"+l.Name)
			}
		}
	}
	return r, nil
}

func complete(ctx context.Context, l lists.List, exists func(ctx context.Context, key string) (bool, error)) (bool, error) {
	for _, s := range l.Segments {
		if found, err := exists(ctx, s.ID); err != nil || !found {
			return false, err
		}
	}
	return true, nil
}
