package privacy

import (
	"context"
	"errors"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// eraseFirstLines deletes the person's lines from the first lines of large files, which people
// see when they choose the columns.
func (e *erasure) eraseFirstLines(ctx context.Context) error {
	for {
		all, err := e.Store.Submissions.Submissions(ctx, e.tenant.ID)
		if err != nil {
			return err
		}
		err = e.eraseFirst(ctx, all)
		if !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
}

func (e *erasure) eraseFirst(ctx context.Context, all []submission.Submission) error {
	for _, sub := range all {
		left := slices.DeleteFunc(slices.Clone(sub.Columns.First), func(line []string) bool { return slices.ContainsFunc(line, e.wrote) })
		if len(left) == len(sub.Columns.First) {
			continue
		}
		sub.Columns.First = left
		if _, err := e.Store.Submissions.SaveSubmission(ctx, sub); err != nil {
			return err
		}
	}
	return nil
}
