package dynamo

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
	"campaign-dispatch/internal/exports/export"
)

// slotLife is how long an unfinished export uses one of its tenant's slots.
const slotLife = time.Hour

func exportKey(id string) Item { return Item{"pk": text("EXPORT#" + id), "sk": text("EXPORT")} }

func snapshotKey(id string) Item { return Item{"pk": text("EXPORT#" + id), "sk": text("SNAPSHOT")} }

func exportEntryKey(e export.Export) Item {
	return Item{"pk": text("EXPORTS#" + e.Tenant), "sk": text(e.CampaignID + "#" + e.ExportID)}
}

func exportSlotKey(tenant string, slot int) Item {
	return Item{"pk": text("EXPORTS#" + tenant), "sk": text("SLOT#" + strconv.Itoa(slot))}
}

// CreateExport writes a new export with its snapshot, in a free slot of the tenant. If the
// export exists, it returns the existing one. full reports that all slots are in use.
func (s *ExportStore) CreateExport(ctx context.Context, e export.Export, snapshot []export.Batch) (first export.Export, full bool, err error) {
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

func (s *ExportStore) createExportIn(ctx context.Context, e export.Export, snapshot []export.Batch) error {
	batches := snapshotKey(e.ExportID)
	batches["batches"] = bytesOf(packSnapshot(snapshot))
	setEnd(batches, e.ExpiresAt.Add(export.Life)) // a completed export lives longer
	entry := exportEntryKey(e)
	setEnd(entry, e.ExpiresAt.Add(export.Life))
	slot := exportSlotKey(e.Tenant, e.Slot)
	slot["exportId"] = text(e.ExportID)
	setEnd(slot, s.Now().Add(slotLife))
	return s.writeAll(ctx, "create export "+e.ExportID, s.putNew(exportRow(e)), s.put(batches), s.put(entry), s.putIfAbsentOrExpired(slot))
}

// Export reads an export. The error wraps campaign.ErrNotFound if it does not exist.
func (s *ExportStore) Export(ctx context.Context, id string) (export.Export, error) {
	row, err := s.get(ctx, exportKey(id))
	if err != nil {
		return export.Export{}, fmt.Errorf("read export %s: %w", id, err)
	}
	return readExport(row), nil
}

// ExportSnapshot reads the snapshot of an export, by ordinal.
func (s *ExportStore) ExportSnapshot(ctx context.Context, id string) ([]export.Batch, error) {
	row, err := s.get(ctx, snapshotKey(id))
	if err != nil {
		return nil, fmt.Errorf("read the snapshot of export %s: %w", id, err)
	}
	batches, err := unpackSnapshot(getBinary(row, "batches"))
	if err != nil {
		return nil, fmt.Errorf("read the snapshot of export %s: %w", id, err)
	}
	return batches, nil
}

// Exports returns the exports of a campaign, in no particular order.
func (s *ExportStore) Exports(ctx context.Context, id campaign.ID) ([]export.Export, error) {
	entries, err := s.query(ctx, "pk = :pk AND begins_with(sk, :prefix)", Item{
		":pk": text("EXPORTS#" + id.Tenant), ":prefix": text(id.CampaignID + "#"),
	})
	if err != nil {
		return nil, fmt.Errorf("list the exports of campaign %s: %w", id.CampaignID, err)
	}
	var all []export.Export
	for _, entry := range entries {
		_, exportID, _ := strings.Cut(getText(entry, "sk"), "#")
		e, err := s.Export(ctx, exportID)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// SaveExport replaces an export if it is unchanged since it was read. The error wraps
// campaign.ErrLostRace if it changed.
func (s *ExportStore) SaveExport(ctx context.Context, e export.Export) (export.Export, error) {
	was := e.Version
	e.Version, e.UpdatedAt = was+1, s.Now()
	_, err := s.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.Campaigns, Item: exportRow(e), ConditionExpression: aws.String("version = :was"),
		ExpressionAttributeValues:           Item{":was": number(was)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		err = campaign.ErrLostRace
		if there := readExport(failed.Item); failed.Item != nil && sameWrite(there, e) { // by a repeated call of the SDK
			return there, nil
		}
	}
	if err != nil {
		return e, fmt.Errorf("save export %s: %w", e.ExportID, err)
	}
	return e, nil
}

// sameWrite reports whether a write has been made already.
func sameWrite(a, b export.Export) bool {
	return a.Version == b.Version && a.State == b.State && a.Upload == b.Upload && a.Parts == b.Parts
}

// FreeExportSlot frees the slot of an export for the tenant's next one. It can be repeated.
func (s *ExportStore) FreeExportSlot(ctx context.Context, e export.Export) error {
	_, err := s.Client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.Campaigns, Key: exportSlotKey(e.Tenant, e.Slot),
		UpdateExpression: aws.String("SET " + TTL + " = :now"), ConditionExpression: aws.String("exportId = :id"),
		ExpressionAttributeValues: Item{":now": number(s.Now().Unix()), ":id": text(e.ExportID)},
	})
	_, err = conditionHeld(err, "free the slot of export "+e.ExportID)
	return err
}

func exportRow(e export.Export) Item {
	row := exportKey(e.ExportID)
	for name, value := range map[string]string{
		"tenant": e.Tenant, "campaignId": e.CampaignID, "secret": e.Secret, "kind": string(e.Kind), "format": string(e.Format),
		"language": e.Language, "statuses": strings.Join(e.Statuses, " "), "state": string(e.State), "upload": e.Upload,
		"audience": string(e.Audience),
	} {
		row[name] = text(value)
	}
	for name, value := range map[string]int{
		"slot": e.Slot, "total": e.Total, "checked": e.Checked, "shown": e.Shown, "lines": e.Lines, "parts": e.Parts, "next": e.Next, "rest": e.Rest, "version": e.Version,
	} {
		row[name] = number(value)
	}
	row["createdAt"], row["updatedAt"] = millis(e.CreatedAt), millis(e.UpdatedAt)
	setEnd(row, e.ExpiresAt)
	return row
}

func readExport(row Item) export.Export {
	count := func(name string) int { return int(getNumber(row, name)) }
	return export.Export{
		ID:       campaign.ID{Tenant: getText(row, "tenant"), CampaignID: getText(row, "campaignId")},
		ExportID: strings.TrimPrefix(getText(row, "pk"), "EXPORT#"), Secret: getText(row, "secret"),
		Kind: export.Kind(getText(row, "kind")), Format: export.Format(getText(row, "format")),
		Language: getText(row, "language"), Statuses: strings.Fields(getText(row, "statuses")),
		Audience: export.Audience(getText(row, "audience")), State: export.State(getText(row, "state")), Upload: getText(row, "upload"),
		CreatedAt: getMillis(row, "createdAt"), UpdatedAt: getMillis(row, "updatedAt"), ExpiresAt: getEnd(row),
		Slot: count("slot"), Total: count("total"), Checked: count("checked"), Shown: count("shown"), Lines: count("lines"),
		Parts: count("parts"), Next: count("next"), Rest: count("rest"), Version: count("version"),
	}
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
