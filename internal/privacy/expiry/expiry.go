// Package expiry deletes campaigns 460 days after their last batch was accepted.
// DynamoDB expires the rows of a batch. The number sets, the campaign's name and its
// first row have no TTL: while the campaign is used, they prevent a second message to a
// number.
package expiry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
)

// Store reads and deletes campaigns.
type Store interface {
	// Lifetime returns the lifetime of a campaign. The error wraps campaign.ErrNotFound if there is none.
	Lifetime(ctx context.Context, id campaign.ID) (campaign.Lifetime, error)
	// PostponeExpiry sets the next check. A campaign that has changed is unchanged, which is not an error.
	PostponeExpiry(ctx context.Context, l campaign.Lifetime, next time.Time) error
	// StartExpiry marks a campaign that has not changed as being deleted until lease, and reports whether it did.
	StartExpiry(ctx context.Context, l campaign.Lifetime, lease time.Time) (bool, error)
	// ExpireRows deletes some rows of a campaign, and reports whether none but its last two are left.
	ExpireRows(ctx context.Context, id campaign.ID) (done bool, err error)
	// EndExpiry deletes the last rows, so that the name and the ID can be used again.
	EndExpiry(ctx context.Context, l campaign.Lifetime) error
}

// Expirer deletes ended campaigns. Several expirers may work on one campaign, and each may crash at any step.
type Expirer struct {
	Store Store
	Now   func() time.Time
}

const (
	// lease is how long one expirer owns a campaign's rows. It exceeds a function's
	// timeout, so that no expirer deletes rows of a new campaign with the same id.
	lease          = 10 * time.Minute
	shutdownMargin = 5 * time.Second // time reserved for steps that have begun
)

// ExpireIfDue deletes a campaign that has ended, and reports whether it is deleted.
// It reschedules the check of a campaign that has not ended. If the time does not
// suffice, a later call continues after the lease.
func (e *Expirer) ExpireIfDue(ctx context.Context, id campaign.ID) (deleted bool, err error) {
	l, err := e.Store.Lifetime(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return true, nil
	}
	now := e.Now()
	if err != nil || l.Check.After(now) { // the index is eventually consistent
		return false, err
	}
	if !l.Expiring && l.ExpiresAt().After(now) {
		return false, e.Store.PostponeExpiry(ctx, l, l.ExpiresAt())
	}
	// A batch may have been added since, or another expirer may own the campaign.
	mine, err := e.Store.StartExpiry(ctx, l, now.Add(lease))
	if err != nil || !mine {
		return false, err
	}
	return e.expire(ctx, l)
}

func (e *Expirer) expire(ctx context.Context, l campaign.Lifetime) (bool, error) {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for done := false; !done; {
		if starting.Err() != nil {
			return false, nil
		}
		var err error
		if done, err = e.Store.ExpireRows(ctx, l.ID); err != nil {
			return false, fmt.Errorf("expire campaign %s: %w", l.CampaignID, err)
		}
	}
	if err := e.Store.EndExpiry(ctx, l); err != nil {
		return false, err
	}
	slog.InfoContext(ctx, "campaign deleted", "tenant", l.Tenant, "campaign_id", l.CampaignID, "batches", l.Batches)
	return true, nil
}
