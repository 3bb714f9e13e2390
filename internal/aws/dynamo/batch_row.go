package dynamo

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

// Batch reads a batch consistently. The error wraps campaign.ErrNotFound if it does not
// exist. Only an unreleased batch above campaign.MovedAtOnce also reads its campaign.
func (s *BatchStore) Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error) {
	row, err := s.get(ctx, "read batch "+ref.BatchID, batchKey(ref))
	if err != nil {
		return campaign.Batch{}, err
	}
	b, err := readBatch(ref, row)
	if err != nil || b.State != campaign.BatchPending || b.Ordinal <= campaign.MovedAtOnce {
		return b, err
	}
	meta, err := s.find(ctx, "read the campaign of batch "+ref.BatchID, metaKey(ref.ID))
	if err != nil {
		return b, err
	}
	return readMove(meta).Applied(b), nil
}

// Identity returns the batch with the key. The error wraps campaign.ErrNotFound if there is
// none, and campaign.ErrDamaged if the row is incomplete.
func (s *BatchStore) Identity(ctx context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
	doing := fmt.Sprintf("find batch %s", key)
	row, err := s.get(ctx, doing, identityKey(key))
	if err != nil {
		return campaign.BatchRef{}, err
	}
	ref := campaign.BatchRef{
		ID:      campaign.ID{Tenant: getText(row, "tenant"), CampaignID: getText(row, "campaignId")},
		BatchID: getText(row, "batchId"),
	}
	if ref.Tenant == "" || ref.CampaignID == "" || ref.BatchID == "" {
		return ref, fmt.Errorf("%s: %w", doing, campaign.ErrDamaged)
	}
	return ref, nil
}

// FindBatch reads the batch with the key. The error wraps campaign.ErrNotFound if there is
// none.
func (s *BatchStore) FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	ref, err := s.Identity(ctx, key)
	if err != nil {
		return campaign.Batch{}, err
	}
	return s.Batch(ctx, ref)
}

func batchFields(b *campaign.Batch) fields {
	return fields{
		"name": &b.Name, "ordinal": &b.Ordinal, "templateId": &b.TemplateID, "templateVersion": &b.TemplateVersion,
		"payload": &b.Payload, "accepted": &b.Accepted, "rejected": &b.Rejected, "acceptedAt": &b.AcceptedAt, "dueAt": &b.Due,
		"notAfter": &b.NotAfter, "scheduled": &b.Scheduled, "state": (*string)(&b.State), "errorFile?": &b.ErrorFile,
		"cancelledAt?": &b.CancelledAt, "revoke?": &b.Revoke, "failedAt?": &b.FailingTime.At, "agentId?": &b.AgentID,
		"tapKey?": &b.TapKey, "countsClicks?": &b.CountsClicks, "test?": &b.Test, "part?": &b.Part,
		"inOtherBatches?": &b.InOtherBatches,
		"basics?":         &b.Classes.Basic, "classes?": &b.Classes.Bits,
	}
}

func (s *CampaignStore) batchRow(b campaign.Batch) Item {
	row := with(batchKey(b.BatchRef), batchFields(&b).item())
	with(row, Item{"key": text(b.Key.String()), "offsets": packOffsets(b.Offsets)})
	with(row, some(Item{
		"failingMillis": number(b.FailingTime.For.Milliseconds()), "sendWindow": packWeek(b.SendWindow), "zones": packZones(b.Zones),
	}))
	with(row, some(waitsOf(b)))
	if b.Prices.Set() {
		row["basicPrice"], row["singlePrice"] = number(b.Prices.Basic), number(b.Prices.Single)
	}
	if b.Reserved > 0 {
		row["reserved"], row["reservedOn"] = number(b.Reserved), text(b.ReservedOn)
	}
	if !b.NextCheck.IsZero() {
		row["due"], row["nextCheck"] = text(s.dueShard(b.BatchRef)), millis(b.NextCheck)
	}
	setEnd(row, b.ExpiresAt())
	return row
}

func readBatch(ref campaign.BatchRef, row Item) (campaign.Batch, error) {
	key, err := campaign.ParseBatchKey(getText(row, "key"))
	if err != nil {
		return campaign.Batch{}, fmt.Errorf("read batch %s: %w", ref.BatchID, err)
	}
	b := campaign.Batch{
		BatchRef: ref, Key: key, FormerPayload: getText(row, "formerPayload"), Offsets: unpackOffsets(getBinary(row, "offsets")),
		Moves: getInt(row, "moves"), NextCheck: getMillis(row, "nextCheck"), ClosedAt: getMillis(row, "closedAt"), Waits: readWaits(row),
		SendWindow: unpackWeek(getBinary(row, "sendWindow")), Zones: unpackZones(getBinary(row, "zones")),
		NeverOpen: campaign.NeverOpen{
			Zones: window.Set(getNumber(row, "neverZones")), //nolint:gosec // written by this service
			Since: getMillis(row, "neverSince"),
		},
		FailingTime: campaign.FailingTime{For: time.Duration(getNumber(row, "failingMillis")) * time.Millisecond},
		Prices:      readPrices(row), Reserved: getMoney(row, "reserved"), ReservedOn: getText(row, "reservedOn"),
	}
	return fill(b, batchFields, row), nil
}

// waitsOf returns the attributes of what a batch waits for. One has both a pause and the parts of a file: a completed
// batch has no messages that a pause could hold.
func waitsOf(b campaign.Batch) Item {
	return with(Item{"waiting": boolean(b.Waits.Paused || b.Waits.Parts)}, closedItem(b))
}

func readWaits(row Item) campaign.Waits {
	waits, completed := getBool(row, "waiting"), getText(row, "state") == string(campaign.BatchCompleted)
	return campaign.Waits{
		Paused: waits && !completed, Parts: waits && completed,
		Zones: window.Set(getNumber(row, "waitingZones")), //nolint:gosec // written by this service
	}
}

func (t *table) dueShard(ref campaign.BatchRef) string {
	return t.dueKey(ref.Tenant, rowOfBatch(ref))
}

// DueShard returns the shard of DueIndex that has a batch. All of a tenant's are in one section.
func (*BatchStore) DueShard(ref campaign.BatchRef) int {
	return dueNumber(ref.Tenant, rowOfBatch(ref))
}

func rowOfBatch(ref campaign.BatchRef) string { return ref.Tenant + ref.CampaignID + ref.BatchID }

// dueKey returns the DueIndex partition key of a tenant's row.
func (t *table) dueKey(tenant, row string) string { return strconv.Itoa(dueNumber(tenant, row)) }

func dueNumber(tenant, row string) int {
	return int(hashOf(row)%(DueShards/DueSections)*DueSections + hashOf(tenant)%DueSections)
}

func hashOf(name string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return uint64(h.Sum32())
}

func packOffsets(offsets []int) attribute {
	b := make([]byte, 0, 3*len(offsets))
	for _, o := range offsets {
		b = binary.AppendUvarint(b, uint64(o)) //nolint:gosec // offsets are never negative
	}
	return bytesOf(b)
}

func unpackOffsets(b []byte) []int {
	var offsets []int
	for len(b) > 0 {
		o, n := binary.Uvarint(b)
		if n <= 0 {
			return nil
		}
		offsets, b = append(offsets, int(o)), b[n:] //nolint:gosec // written by packOffsets
	}
	return offsets
}

// packWeek packs the hours of each day. No week has no bytes.
func packWeek(week *window.Week) attribute {
	var b []byte
	if week != nil {
		for _, h := range week {
			b = binary.BigEndian.AppendUint16(b, uint16(h.From))  //nolint:gosec // minutes of a day
			b = binary.BigEndian.AppendUint16(b, uint16(h.Until)) //nolint:gosec // minutes of a day
		}
	}
	return bytesOf(b)
}

func unpackWeek(b []byte) *window.Week {
	var week window.Week
	if len(b) != 4*len(week) {
		return nil
	}
	for day := range week {
		at := b[4*day:]
		week[day] = window.Hours{From: int(binary.BigEndian.Uint16(at)), Until: int(binary.BigEndian.Uint16(at[2:]))}
	}
	return &week
}

// packZones packs each zone and its number of messages.
func packZones(zones []window.Count) attribute {
	var b []byte
	for _, z := range zones {
		b = append(b, byte(z.Zone))
		b = binary.AppendUvarint(b, uint64(z.Messages)) //nolint:gosec // a number of messages
	}
	return bytesOf(b)
}

func unpackZones(b []byte) (zones []window.Count) {
	for len(b) > 0 {
		messages, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return nil
		}
		zones = append(zones, window.Count{Zone: window.Zone(b[0]), Messages: int(messages)}) //nolint:gosec // written by packZones
		b = b[1+n:]
	}
	return zones
}
