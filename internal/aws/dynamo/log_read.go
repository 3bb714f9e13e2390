package dynamo

import (
	"context"

	"campaign-dispatch/internal/campaign"
)

const headSK = "HEAD"

// identityRow returns the row that identifies the batch of a message ID.
func identityRow(b campaign.Batch) Item {
	row := identityKey(b.Key)
	row["tenant"] = text(b.Tenant)
	row["campaignId"] = text(b.CampaignID)
	row["batchId"] = text(b.BatchID)
	row["accepted"] = number(b.Accepted)
	setEnd(row, b.ExpiresAt())
	return row
}

// Changes returns up to limit changes of a batch's log after a sequence, in order.
func (s *LedgerStore) Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error) {
	entries, err := s.Entries(ctx, b.Key, after, limit)
	return changesIn(entries), err
}

// Latest returns the last change of each message by index. It is the zero Change for
// messages without an outcome.
func (s *LedgerStore) Latest(ctx context.Context, b campaign.Batch) ([]campaign.Change, error) {
	latest := make([]campaign.Change, b.Accepted)
	entries, err := s.Entries(ctx, b.Key, 0, campaign.MaxChanges)
	for _, e := range entries {
		if e.Index < len(latest) {
			latest[e.Index] = e.Change
		}
	}
	return latest, err
}
