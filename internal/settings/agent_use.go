package settings

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

const (
	// campaignsAPage is the number of campaigns per page.
	campaignsAPage = 100
	// campaignsAtOnce is the number of campaigns read concurrently.
	campaignsAtOnce = 8
)

// AgentUse summarizes the batches that a tenant sent with an agent. It reads all campaigns of
// the tenant.
func (d *Service) AgentUse(ctx context.Context, tenant, agentID string) (account.Use, error) {
	var use account.Use
	for after := ""; ; {
		page, err := d.Store.Tenants.ListCampaigns(ctx, tenant, after, campaignsAPage)
		if err != nil || len(page) == 0 {
			return use, err
		}
		of, err := d.useBy(ctx, page, agentID)
		if err != nil {
			return use, err
		}
		use, after = use.Add(of), page[len(page)-1].Cursor
	}
}

// useBy summarizes the batches of some campaigns.
func (d *Service) useBy(ctx context.Context, campaigns []campaign.Listed, agentID string) (use account.Use, err error) {
	uses := make([]account.Use, len(campaigns))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(campaignsAtOnce)
	for i, listed := range campaigns {
		group.Go(func() error {
			c, err := d.Store.Tenants.BatchAgents(groupCtx, listed.ID)
			if errors.Is(err, campaign.ErrNotFound) {
				return nil // deleted concurrently
			}
			uses[i] = account.UseOf(c.Batches, agentID)
			return err
		})
	}
	err = group.Wait()
	for _, u := range uses {
		use = use.Add(u)
	}
	return use, err
}
