// Package recent reads the last campaigns of a tenant.
package recent

import (
	"context"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
)

// Store reads campaigns, the newest first, and the stored results of at most 50 campaigns.
type Store interface {
	// ListCampaigns returns up to limit campaigns after a cursor, "" for the beginning, those that go last first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// Results returns the stored results of campaigns by ID, without those that have none.
	Results(ctx context.Context, tenant string, campaignIDs []string) (map[string]insight.Results, error)
}

// Sent is a campaign that was sent, with its results.
type Sent struct {
	campaign.ID
	insight.Results
}

const (
	chunk = 50 // campaigns listed at once
	parts = 3  // of the list that are read at most
)

// Before returns the last campaigns that went before one, which went at first: at most
// insight.MostCompared that are comparable. It reads stored results only.
func Before(ctx context.Context, s Store, id campaign.ID, first time.Time) (found []Sent, err error) {
	after := campaign.CursorAt(first)
	for range parts {
		listed, err := s.ListCampaigns(ctx, id.Tenant, after, chunk)
		if err != nil {
			return nil, err
		}
		stored, err := s.Results(ctx, id.Tenant, campaign.IDsOf(listed))
		if err != nil {
			return nil, err
		}
		for _, c := range listed {
			r := stored[c.CampaignID]
			if c.Test || c.ID == id || !r.First.Before(first) || !r.Comparable() {
				continue
			}
			if found = append(found, Sent{c.ID, r}); len(found) == insight.MostCompared {
				return found, nil
			}
		}
		if len(listed) < chunk {
			break
		}
		after = listed[len(listed)-1].Cursor
	}
	return found, nil
}
