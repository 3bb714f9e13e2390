package datasubject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/numberset"
)

const (
	// campaignsAtOnce is how many campaigns are looked through side by side.
	campaignsAtOnce = 8
	// campaignsAPage is how many campaigns are listed at once.
	campaignsAPage = 500
)

// dispatched is a campaign and the numbers of its batches.
type dispatched struct {
	campaign.Campaign
	sets map[int]campaign.PackedSet // by the ordinals of their batches
}

func (p *person) campaigns(ctx context.Context) ([]campaign.Listed, error) {
	var all []campaign.Listed
	for after := ""; ; {
		page, err := p.Store.ListCampaigns(ctx, p.tenant.ID, after, campaignsAPage)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all, after = append(all, page...), page[len(page)-1].Cursor
	}
}

// eachCampaign visits all campaigns of the tenant, some side by side.
func (p *person) eachCampaign(ctx context.Context, visit func(ctx context.Context, c dispatched) error) error {
	all, err := p.campaigns(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(campaignsAtOnce)
	for _, listed := range all {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c, err := p.read(ctx, listed.ID)
			if err == nil {
				err = visit(ctx, c)
			}
			if err != nil {
				return fmt.Errorf("campaign %s: %w", listed.CampaignID, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			p.Progress("campaigns", done, len(all))
			return nil
		})
	}
	return group.Wait()
}

// read reads a campaign. Its batches are read after its numbers: each batch that they
// name is there.
func (p *person) read(ctx context.Context, id campaign.ID) (dispatched, error) {
	sets, err := p.Store.PackedSets(ctx, id)
	if err != nil {
		return dispatched{}, err
	}
	c := dispatched{sets: make(map[int]campaign.PackedSet, len(sets))}
	for _, set := range sets {
		c.sets[set.Ordinal] = set
	}
	c.Campaign, err = p.Store.Dispatched(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) { // its list may be late
		return c, nil
	}
	return c, err
}

// in tells whether the person's number is in a packed set, and returns the set
// without it.
func (p *person) in(set campaign.PackedSet) (without numberset.Set, in bool, err error) {
	if len(set.Packed) == 0 {
		return nil, false, nil
	}
	numbers, err := numberset.Unpack(set.Packed)
	if err != nil {
		return nil, false, fmt.Errorf("read the numbers of batch %d: %w", set.Ordinal, err)
	}
	at, in := slices.BinarySearch(numbers, uint64(p.number))
	if in {
		numbers = slices.Delete(numbers, at, at+1)
	}
	return numbers, in, nil
}
