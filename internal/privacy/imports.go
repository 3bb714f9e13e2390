package privacy

import (
	"context"
	"errors"
	"slices"

	"campaign-dispatch/internal/campaign"
)

// eraseFirstLines deletes the person's lines from the first lines of large files, which people
// see when they choose the columns.
func (e *erasure) eraseFirstLines(ctx context.Context) error {
	for {
		all, err := e.Store.Imports.Imports(ctx, e.tenant.ID)
		if err != nil {
			return err
		}
		err = e.eraseFirst(ctx, all)
		if !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
}

func (e *erasure) eraseFirst(ctx context.Context, all []campaign.Import) error {
	for _, i := range all {
		left := slices.DeleteFunc(slices.Clone(i.First), func(line []string) bool { return slices.ContainsFunc(line, e.wrote) })
		if len(left) == len(i.First) {
			continue
		}
		i.First = left
		if _, err := e.Store.Imports.SaveImport(ctx, i); err != nil {
			return err
		}
	}
	return nil
}
