package exports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/e164"
)

// left reads a part of the campaign's file that is not accepted any more, and the number of people
// that it had when it was checked. An expired part is empty.
func (w *writer) left(ctx context.Context, part int) ([]submission.Message, int, error) {
	file, err := w.Blobs.Get(ctx, submission.LeftKey(w.ID, w.totals, part))
	if errors.Is(err, campaign.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read a part that is not accepted: %w", err)
	}
	return submission.DecodePart(file)
}

// addLeft adds the people of a part that is not accepted any more. Invalid numbers, which count as
// such, and people who were erased are left out.
func (w *writer) addLeft(ctx context.Context, t *table, part int) (people int, err error) {
	messages, people, err := w.left(ctx, part)
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		number := e164.Number(m.Number)
		switch {
		case number == 0:
		case t.Kind == export.Recipients:
			t.addRaw(append([]string{number.String(), m.UID}, t.columns.ofLeft(m)...))
			t.lines++
		default:
			t.add(number.String(), m.UID, t.translate(texts().Statuses, statusNotAccepted, statusNotAccepted), "", "", "", "", "", "", "")
		}
	}
	return people, nil
}

// ofLeft returns the cells of the variables of a message that is not accepted any more.
func (v *variables) ofLeft(m submission.Message) []string {
	cells := make([]string, len(v.names))
	for i, name := range v.names {
		cells[i] = m.Vars[name]
	}
	return cells
}

// readColumns reads the columns of a list of recipients: the variables of the campaign's templates. A
// campaign that was cancelled before its first batch has those of its parts.
func (w *writer) readColumns(ctx context.Context, c campaign.Campaign) (err error) {
	if w.columns, err = w.variables(ctx, c); err != nil || len(c.Batches) > 0 {
		return err
	}
	for _, at := range w.snapshot {
		messages, _, err := w.left(ctx, at.Part)
		if err != nil || len(messages) > 0 {
			if len(messages) > 0 {
				w.columns.addNames(slices.Sorted(maps.Keys(messages[0].Vars)))
			}
			return err
		}
	}
	return nil
}
