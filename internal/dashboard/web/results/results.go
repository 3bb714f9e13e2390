// Package results reads the results of campaigns for pages that show many campaigns.
package results

import (
	"context"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Store reads campaigns and stores results.
type Store interface {
	// Overview reads a campaign with its outcomes.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// KeepResults stores results, unless newer ones are stored.
	KeepResults(ctx context.Context, id campaign.ID, r campaign.Results) error
}

// Reader reads results, and stores them for the next page.
type Reader struct {
	Store Store
	Now   func() time.Time
}

// Read returns the results of a campaign. The error wraps campaign.ErrNotFound if it does not
// exist.
func (r Reader) Read(ctx context.Context, id campaign.ID) (campaign.Results, error) {
	now := r.Now()
	c, err := r.Store.Overview(ctx, id)
	if err != nil {
		return campaign.Results{}, err
	}
	found := c.Results(now)
	r.Keep(ctx, id, found)
	return found, nil
}

// Keep stores results. A failure costs only another reading.
func (r Reader) Keep(ctx context.Context, id campaign.ID, found campaign.Results) {
	if err := r.Store.KeepResults(ctx, id, found); err != nil {
		slog.WarnContext(ctx, "storing a campaign's results failed", "campaign_id", id.CampaignID, "error", err)
	}
}
