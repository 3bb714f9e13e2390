package dynamo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
	"campaign-dispatch/internal/exports/export"
)

// slotLife is how long an unfinished export uses one of its tenant's slots.
const slotLife = time.Hour

// CreateExport writes a new export with its snapshot, in a free slot of the tenant. If the
// export exists, it returns the existing one. full reports that all slots are in use.
func (s *FileStore) CreateExport(
	ctx context.Context, e export.Export, snapshot []export.Batch,
) (first export.Export, full bool, err error) {
	there, err := s.Export(ctx, e.ExportID)
	if !errors.Is(err, campaign.ErrNotFound) {
		return there, false, err
	}
	for e.Slot = range export.MaxOpen {
		switch err := s.createExportIn(ctx, e, snapshot); {
		case err == nil:
			return e, false, nil
		case !errors.Is(err, campaign.ErrLostRace):
			return e, false, err
		}
	}
	there, err = s.Export(ctx, e.ExportID) // a concurrent call may have written it
	if errors.Is(err, campaign.ErrNotFound) {
		return e, true, nil
	}
	return there, false, err
}

func (s *FileStore) createExportIn(ctx context.Context, e export.Export, snapshot []export.Batch) error {
	batches := with(snapshotKey(e.ExportID), Item{"batches": bytesOf(packSnapshot(snapshot))})
	entry := exportEntryKey(e)
	setEnd(batches, e.ExpiresAt.Add(export.Life)) // a completed export lives longer
	setEnd(entry, e.ExpiresAt.Add(export.Life))
	slot := with(exportSlotKey(e.Tenant, e.Slot), Item{"exportId": text(e.ExportID)})
	setEnd(slot, s.Now().Add(slotLife))
	return s.writeAll(ctx, "create export "+e.ExportID, s.putNew(exportRow(e)), s.put(batches), s.put(entry), s.putIfAbsentOrExpired(slot))
}

// Export reads an export. The error wraps campaign.ErrNotFound if it does not exist.
func (s *FileStore) Export(ctx context.Context, id string) (export.Export, error) {
	row, err := s.get(ctx, "read export "+id, exportKey(id))
	return readExport(row), err
}

// ExportSnapshot reads the snapshot of an export, by ordinal.
func (s *FileStore) ExportSnapshot(ctx context.Context, id string) ([]export.Batch, error) {
	doing := "read the snapshot of export " + id
	row, err := s.get(ctx, doing, snapshotKey(id))
	if err != nil {
		return nil, err
	}
	batches, err := unpackSnapshot(getBinary(row, "batches"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return batches, nil
}

// Exports returns the exports of a campaign, in no particular order.
func (s *FileStore) Exports(ctx context.Context, id campaign.ID) ([]export.Export, error) {
	entries, err := s.under(ctx, exportsPrefix+id.Tenant, id.CampaignID+"#")
	if err != nil {
		return nil, err
	}
	ids := readAll(entries, func(entry Item) string { return strings.TrimPrefix(getText(entry, "sk"), id.CampaignID+"#") })
	rows, err := s.rowsOf(ctx, "read the exports of campaign "+id.CampaignID, s.Campaigns, ids, exportKey)
	return readAll(slices.Collect(maps.Values(rows)), readExport), err
}

// SaveExport replaces an export if it is unchanged since it was read. The error wraps
// campaign.ErrLostRace if it changed.
func (s *FileStore) SaveExport(ctx context.Context, e export.Export) (export.Export, error) {
	was := e.Version
	e.Version, e.UpdatedAt = was+1, s.Now()
	there, held, err := s.writeOrRead(ctx, "save export "+e.ExportID, s.putIf(exportRow(e), "version = :was", Item{":was": number(was)}))
	switch {
	case held || err != nil:
		return e, err
	case there != nil && sameWrite(readExport(there), e): // by a repeated call of the SDK
		return readExport(there), nil
	}
	return e, fmt.Errorf("save export %s: %w", e.ExportID, campaign.ErrLostRace)
}

func sameWrite(a, b export.Export) bool {
	return a.Version == b.Version && a.State == b.State && a.Upload == b.Upload && a.Parts == b.Parts
}

// FreeExportSlot frees the slot of an export for the tenant's next one. It can be repeated.
func (s *FileStore) FreeExportSlot(ctx context.Context, e export.Export) error {
	w := s.update(exportSlotKey(e.Tenant, e.Slot), "SET "+TTL+" = :now", "exportId = :id",
		Item{":now": number(s.Now().Unix()), ":id": text(e.ExportID)})
	return s.tryWrite(ctx, "free the slot of export "+e.ExportID, w)
}

func exportFields(e *export.Export) fields {
	return fields{
		"tenant": &e.Tenant, "campaignId": &e.CampaignID, "secret": &e.Secret, "kind": (*string)(&e.Kind), "format": (*string)(&e.Format),
		"language": &e.Language, "state": (*string)(&e.State), "upload": &e.Upload, "audience": (*string)(&e.Audience),
		"createdAt": &e.CreatedAt, "updatedAt": &e.UpdatedAt, "slot": &e.Slot, "total": &e.Total, "checked": &e.Checked,
		"shown": &e.Shown, "lines": &e.Lines, "parts": &e.Parts, "next": &e.Next, "rest": &e.Rest, "version": &e.Version,
	}
}

func exportRow(e export.Export) Item {
	row := with(with(exportKey(e.ExportID), exportFields(&e).item()), Item{"statuses": text(strings.Join(e.Statuses, " "))})
	setEnd(row, e.ExpiresAt)
	return row
}

func readExport(row Item) export.Export {
	return fill(export.Export{
		ExportID: strings.TrimPrefix(getText(row, "pk"), exportPrefix), Statuses: strings.Fields(getText(row, "statuses")), ExpiresAt: getEnd(row),
	}, exportFields, row)
}

// packSnapshot encodes a snapshot: for each batch the difference of its ordinal from the
// previous one, its sequences, and the number of the part if it is one.
func packSnapshot(batches []export.Batch) []byte {
	var b []byte
	last := 0
	for _, e := range batches {
		for _, n := range []int{e.Ordinal - last, e.Sequence, e.Taps, e.Clicks, e.Part} {
			b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // ordinals ascend, sequences are not negative
		}
		last = e.Ordinal
	}
	return b
}

func unpackSnapshot(value []byte) (batches []export.Batch, err error) {
	r := packed.Reader{Rest: value}
	next := func() int { return int(min(r.Uvarint(), 1<<32)) }
	for last := 0; r.More(); {
		e := export.Batch{Ordinal: last + next(), Sequence: next(), Taps: next(), Clicks: next(), Part: next()}
		batches, last = append(batches, e), e.Ordinal
	}
	return batches, r.Err
}
