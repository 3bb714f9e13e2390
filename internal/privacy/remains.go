package privacy

import (
	"context"
	"errors"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

// backups is the period for which a table can be restored. A restored table may refer
// to a payload that no batch refers to now.
const backups = 35 * 24 * time.Hour

// payloads returns the key prefix of the tenant's payloads.
func (p *person) payloads() string { return "payloads/" + p.tenant.ID + "/" }

// deleteOrphanedPayloads deletes the tenant's payloads that no batch refers to. They
// may contain anybody's data.
func (e *erasure) deleteOrphanedPayloads(ctx context.Context) error {
	var found errorCollector
	for o, err := range e.Blobs.List(ctx, e.payloads()) {
		if err != nil {
			return err
		}
		if e.live[o.Key] || payload.IsPointer(o.Key) || o.At.After(e.began) {
			continue
		}
		found.add(e.eraseRemain(ctx, o))
	}
	return found.err()
}

func (e *erasure) eraseRemain(ctx context.Context, o campaign.Blob) error {
	live, err := e.isLive(ctx, o.Key)
	if err != nil || live {
		return err
	}
	if until := o.At.Add(backups); until.After(e.began) {
		e.done.Young++
		if until.After(e.done.YoungUntil) {
			e.done.YoungUntil = until
		}
		return nil
	}
	err = e.Blobs.Delete(ctx, o.Key)
	if err == nil {
		e.done.Remains++
	}
	return err
}

// isLive reports whether a batch refers to a payload, by a consistent read.
func (e *erasure) isLive(ctx context.Context, key string) (bool, error) {
	campaignID, _, _ := strings.Cut(strings.TrimPrefix(key, e.payloads()), "/")
	c, err := e.Store.Campaigns.Dispatched(ctx, campaign.ID{Tenant: e.tenant.ID, CampaignID: campaignID})
	if errors.Is(err, campaign.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, b := range c.Batches {
		if live, err := payload.Leads(ctx, e.Blobs, b.Batch, key); err != nil || live {
			return live, err
		}
	}
	return false, nil
}
