package dynamo

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
)

// batchRow returns the BATCH row of a batch.
func (s *AcceptanceStore) batchRow(b campaign.Batch) Item {
	row := batchKey(b.BatchRef)
	row["name"] = text(b.Name)
	row["ordinal"] = number(b.Ordinal)
	row["key"] = text(b.Key.String())
	row["templateId"] = text(b.TemplateID)
	row["templateVersion"] = number(b.TemplateVersion)
	row["payload"] = text(b.Payload)
	row["offsets"] = packOffsets(b.Offsets)
	if b.ErrorFile != "" {
		row["errorFile"] = text(b.ErrorFile)
	}
	row["accepted"] = number(b.Accepted)
	row["rejected"] = number(b.Rejected)
	row["acceptedAt"] = millis(b.AcceptedAt)
	row["dueAt"] = millis(b.Due)
	row["notAfter"] = millis(b.NotAfter)
	row["scheduled"] = boolean(b.Scheduled)
	row["state"] = text(string(b.State))
	if b.Cancelled() {
		row["cancelledAt"] = millis(b.CancelledAt)
	}
	if b.Revoke {
		row["revoke"] = boolean(true)
	}
	if !b.Failing.At.IsZero() {
		row["failingMillis"] = number(b.Failing.For.Milliseconds())
		row["failedAt"] = millis(b.Failing.At)
	}
	if b.AgentID != "" {
		row["agentId"] = text(b.AgentID)
	}
	if len(b.TapKey) > 0 {
		row["tapKey"] = bytesOf(b.TapKey)
	}
	if b.CountsClicks {
		row["countsClicks"] = boolean(true)
	}
	setOrigin(row, b)
	setBilling(row, b)
	setEnd(row, b.ExpiresAt())
	if !b.NextCheck.IsZero() {
		row["due"] = text(s.dueShard(b.BatchRef))
		row["nextCheck"] = millis(b.NextCheck)
	}
	return row
}

// readBatch decodes a BATCH row.
func readBatch(ref campaign.BatchRef, row Item) (campaign.Batch, error) {
	key, err := campaign.ParseBatchKey(getText(row, "key"))
	if err != nil {
		return campaign.Batch{}, fmt.Errorf("read batch %s: %w", ref.BatchID, err)
	}
	return campaign.Batch{
		BatchRef:        ref,
		Name:            getText(row, "name"),
		Ordinal:         int(getNumber(row, "ordinal")),
		Key:             key,
		TemplateID:      getText(row, "templateId"),
		TemplateVersion: int(getNumber(row, "templateVersion")),
		Payload:         getText(row, "payload"),
		FormerPayload:   getText(row, "formerPayload"),
		ErrorFile:       getText(row, "errorFile"),
		Offsets:         unpackOffsets(getBinary(row, "offsets")),
		Accepted:        int(getNumber(row, "accepted")),
		Rejected:        int(getNumber(row, "rejected")),
		AcceptedAt:      getMillis(row, "acceptedAt"),
		Due:             getMillis(row, "dueAt"),
		NotAfter:        getMillis(row, "notAfter"),
		Scheduled:       getBool(row, "scheduled"),
		Moves:           int(getNumber(row, "moves")),
		State:           campaign.BatchState(getText(row, "state")),
		NextCheck:       getMillis(row, "nextCheck"),
		CancelledAt:     getMillis(row, "cancelledAt"),
		Revoke:          getBool(row, "revoke"),
		Failing: campaign.Failing{
			For: time.Duration(getNumber(row, "failingMillis")) * time.Millisecond,
			At:  getMillis(row, "failedAt"),
		},
		AgentID:  getText(row, "agentId"),
		TapKey:   getBinary(row, "tapKey"),
		ClosedAt: getMillis(row, "closedAt"),
		Classes:  campaign.Classes{Basic: int(getNumber(row, "basics")), Bits: getBinary(row, "classes")},
		Prices:   readPrices(row),
		Reserved: getMoney(row, "reserved"), ReservedOn: getText(row, "reservedOn"),
		CountsClicks: getBool(row, "countsClicks"), Test: getBool(row, "test"), Part: getText(row, "part"),
	}, nil
}

// setOrigin sets what some batches have because of where they come from.
func setOrigin(row Item, b campaign.Batch) {
	if b.Test {
		row["test"] = boolean(true)
	}
	if b.Part != "" {
		row["part"] = text(b.Part)
	}
}

// setBilling sets the billing classes of a batch, its prices and its reservation.
func setBilling(row Item, b campaign.Batch) {
	if b.Classes.Basic > 0 {
		row["basics"] = number(b.Classes.Basic)
	}
	if b.Classes.Mixed() {
		row["classes"] = bytesOf(b.Classes.Bits)
	}
	if b.Prices.Set() {
		row["basicPrice"], row["singlePrice"] = number(b.Prices.Basic), number(b.Prices.Single)
	}
	if b.Reserved > 0 {
		row["reserved"], row["reservedOn"] = number(b.Reserved), text(b.ReservedOn)
	}
}

func (t *table) dueShard(ref campaign.BatchRef) string {
	return t.dueKey(ref.Tenant, ref.Tenant+ref.CampaignID+ref.BatchID)
}

// dueKey returns the DueIndex partition key of a tenant's row.
func (t *table) dueKey(tenant, row string) string {
	return strconv.FormatUint(hashOf(row)%(DueShards/DueParts)*DueParts+hashOf(tenant)%DueParts, 10)
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
