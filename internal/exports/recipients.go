package exports

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/e164"
)

// variables are the columns of a file of recipients besides phone and uid: the variables of
// all templates of the campaign. positions has the position of each column's value in the
// messages of a template, or -1.
type variables struct {
	names     []string
	positions map[campaign.VersionKey][]int
}

func (m *Maker) variables(ctx context.Context, c campaign.Campaign) (variables, error) {
	v, of := variables{positions: map[campaign.VersionKey][]int{}}, map[campaign.VersionKey][]string{}
	for _, b := range c.Batches {
		key := b.VersionKey()
		if of[key] != nil {
			continue
		}
		t, err := m.Store.TemplateVersion(ctx, key.ID, key.Version)
		if err != nil && !errors.Is(err, campaign.ErrNotFound) {
			return v, fmt.Errorf("read the variables of a template: %w", err)
		}
		of[key] = append([]string{}, t.Variables()...)
		v.addNames(of[key])
	}
	for key, names := range of {
		for _, name := range v.names {
			v.positions[key] = append(v.positions[key], slices.Index(names, name))
		}
	}
	return v, nil
}

// addNames adds columns. Variables named like the columns phone and uid take their values.
func (v *variables) addNames(names []string) {
	for _, name := range names {
		if !strings.EqualFold(name, "phone") && !strings.EqualFold(name, "uid") && !slices.Contains(v.names, name) {
			v.names = append(v.names, name)
		}
	}
}

// cells returns the cells of a message's variables.
func (v *variables) cells(b campaign.Batch, m campaign.Message) []string {
	cells := make([]string, len(v.names))
	for i, position := range v.positions[b.VersionKey()] {
		if position >= 0 && position < len(m.Values) {
			cells[i] = m.Values[position]
		}
	}
	return cells
}

// addRaw adds a line with the cells as they are. Programs read the file, no spreadsheets.
func (t *table) addRaw(cells []string) {
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(cells) // a strings.Builder does not fail
	w.Flush()
	t.file = append(t.file, line.String()...)
}

// addRecipients adds the audience's recipients of a batch as of its snapshot. Recipients that
// were erased, or whose messages have expired, are left out.
func (m *Maker) addRecipients(ctx context.Context, t *table, b campaign.Batch, at export.Batch) error {
	r, err := m.read(ctx, b, at)
	if err != nil {
		return err
	}
	for i, message := range r.messages[:len(r.histories)] {
		touched := len(r.taps.tapped[i])+len(r.taps.clicked[i]) > 0
		if !message.Erased() && t.Audience.Has(r.histories[i].latest, touched) {
			t.addRaw(append([]string{message.Phone.String(), message.UID}, t.columns.cells(b, message)...))
			t.lines++
		}
	}
	return nil
}

// partNotAccepted reads a part of the campaign's file that is not accepted any more, and the number of people
// that it had when it was checked. An expired part is empty.
func (w *writer) partNotAccepted(ctx context.Context, part int) ([]submission.Message, int, error) {
	file, err := w.Blobs.Get(ctx, submission.NotAcceptedKey(w.ID, w.totals, part))
	if errors.Is(err, campaign.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read a part that is not accepted: %w", err)
	}
	return submission.DecodePart(file)
}

// addNotAccepted adds the people of a part that is not accepted any more. Invalid numbers, which count as
// such, and people who were erased are left out.
func (w *writer) addNotAccepted(ctx context.Context, t *table, part int) (people int, err error) {
	messages, people, err := w.partNotAccepted(ctx, part)
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		number := e164.Number(m.Number)
		switch {
		case number == 0:
		case t.Kind == export.Recipients:
			t.addRaw(append([]string{number.String(), m.UID}, t.columns.cellsNotAccepted(m)...))
			t.lines++
		default:
			wave := w.totals.Cells.WaveOf(part)
			t.addOutcome(wave, t.phone(number.String()), m.UID, t.status(statusNotAccepted), "", "", "", "", "", "", "")
		}
	}
	return people, nil
}

// cellsNotAccepted returns the cells of the variables of a message that is not accepted any more.
func (v *variables) cellsNotAccepted(m submission.Message) []string {
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
		messages, _, err := w.partNotAccepted(ctx, at.Part)
		if err != nil || len(messages) > 0 {
			if len(messages) > 0 {
				w.columns.addNames(slices.Sorted(maps.Keys(messages[0].Vars)))
			}
			return err
		}
	}
	return nil
}
