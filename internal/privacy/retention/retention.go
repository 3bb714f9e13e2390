// Package retention forgets campaigns that have ended: 460 days after the last of
// their batches was accepted. DynamoDB deletes by itself what hangs on a batch. The
// numbers of the batches, the campaign's name and its first row have no end of
// their own: as long as it grows they keep the promise that no number gets two
// messages of it.
package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/retry"
)

// Store keeps campaigns.
type Store interface {
	Lifetime(ctx context.Context, id campaign.ID) (campaign.Lifetime, error)
	MoveLifetime(ctx context.Context, l campaign.Lifetime, next time.Time) error
	StartForgetting(ctx context.Context, l campaign.Lifetime, lease time.Time) (bool, error)
	ForgetSome(ctx context.Context, id campaign.ID) (done bool, err error)
	EndForgetting(ctx context.Context, l campaign.Lifetime) error
}

// Purger forgets campaigns. Several may look at one at once, and each may die at
// any step.
type Purger struct {
	Store Store
	Now   func() time.Time
}

const (
	// lease is how long a campaign's rows are one keeper's to delete, longer than a
	// function may run: nobody deletes a row of the next campaign of the same id.
	lease = 10 * time.Minute
	// shutdownMargin is what is kept of a call's time for what was begun.
	shutdownMargin = 5 * time.Second
)

// PurgeIfExpired forgets a campaign that has ended, and reports whether it is forgotten. One
// that has not is looked at again when it may have. One with more rows than there
// is time for is gone on with after the lease.
func (k *Purger) PurgeIfExpired(ctx context.Context, id campaign.ID) (forgotten bool, err error) {
	l, err := k.Store.Lifetime(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return true, nil
	}
	now := k.Now()
	if err != nil || l.Check.After(now) { // the index is late
		return false, err
	}
	if !l.Forgetting && l.Ends().After(now) {
		return false, k.Store.MoveLifetime(ctx, l, l.Ends())
	}
	// A batch may have been added since, or another keeper have begun.
	mine, err := k.Store.StartForgetting(ctx, l, now.Add(lease))
	if err != nil || !mine {
		return false, err
	}
	return k.forget(ctx, l)
}

func (k *Purger) forget(ctx context.Context, l campaign.Lifetime) (bool, error) {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for done := false; !done; {
		if starting.Err() != nil {
			return false, nil
		}
		var err error
		if done, err = k.Store.ForgetSome(ctx, l.ID); err != nil {
			return false, fmt.Errorf("forget campaign %s: %w", l.CampaignID, err)
		}
	}
	if err := k.Store.EndForgetting(ctx, l); err != nil {
		return false, err
	}
	slog.InfoContext(ctx, "a campaign was forgotten", "tenant", l.Tenant, "campaign_id", l.CampaignID, "batches", l.Batches)
	return true, nil
}
