package privacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/phone/numberset"
)

const (
	campaignsAtOnce = 8   // number of campaigns searched concurrently
	campaignsAPage  = 500 // number of campaigns listed per page
)

type dispatched struct {
	campaign.Campaign
	sets map[int]acceptance.PackedSet // by batch ordinal
}

func (p *person) campaigns(ctx context.Context) ([]campaign.Listed, error) {
	var all []campaign.Listed
	for after := ""; ; {
		page, err := p.Store.Campaigns.ListCampaigns(ctx, p.tenant.ID, after, campaignsAPage)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all, after = append(all, page...), page[len(page)-1].Cursor
	}
}

func (p *person) eachCampaign(ctx context.Context, visit func(ctx context.Context, c dispatched) error) error {
	all, err := p.campaigns(ctx)
	if err != nil {
		return err
	}
	return each(p, "campaigns", campaignsAtOnce, all, func(l campaign.Listed) error {
		c, err := p.read(ctx, l.ID)
		if err == nil {
			err = visit(ctx, c)
		}
		if err != nil {
			return fmt.Errorf("campaign %s: %w", l.CampaignID, err)
		}
		return nil
	})
}

// each visits items concurrently, and reports the progress.
func each[T any](p *person, what string, atOnce int, items []T, visit func(T) error) error {
	var found errorCollector
	var done atomic.Int32
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, item := range items {
		group.Go(func() error {
			found.add(visit(item))
			p.Progress(what, int(done.Add(1)), len(items))
			return nil
		})
	}
	_ = group.Wait()
	return found.err()
}

// read reads a campaign. It reads the batches after the number sets, so each set's
// batch is present unless it has expired.
func (p *person) read(ctx context.Context, id campaign.ID) (dispatched, error) {
	if ctx.Err() != nil {
		return dispatched{}, ctx.Err()
	}
	sets, err := p.Store.Campaigns.PackedSets(ctx, id)
	if err != nil {
		return dispatched{}, err
	}
	c := dispatched{sets: make(map[int]acceptance.PackedSet, len(sets))}
	for _, set := range sets {
		c.sets[set.Ordinal] = set
	}
	c.Campaign, err = p.Store.Campaigns.Dispatched(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) { // the list is eventually consistent
		c.ID, err = id, nil
	}
	return c, err
}

// ended returns the ordinals of expired batches. Their numbers remain until the campaign ends.
func (c dispatched) ended() []int {
	there := map[int]bool{}
	for _, b := range c.Batches {
		there[b.Ordinal] = true
	}
	var ordinals []int
	for ordinal := range c.sets {
		if !there[ordinal] {
			ordinals = append(ordinals, ordinal)
		}
	}
	slices.Sort(ordinals)
	return ordinals
}

// in reports whether a packed set contains a number of the person, and returns the set without it.
func (p *person) in(set acceptance.PackedSet) (without numberset.Set, in bool, err error) {
	if len(set.Packed) == 0 {
		return nil, false, nil
	}
	numbers, err := numberset.Unpack(set.Packed)
	if err != nil {
		return nil, false, fmt.Errorf("read the numbers of batch %d: %w", set.Ordinal, err)
	}
	for _, own := range p.sought.Numbers {
		if at, found := slices.BinarySearch(numbers, uint64(own)); found {
			numbers, in = slices.Delete(numbers, at, at+1), true
		}
	}
	return numbers, in, nil
}
