package lists

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach/suppression"
)

const (
	// lastCampaigns is the number of campaigns that are read to find the messages that a list held back.
	lastCampaigns = 20
	readsAtOnce   = 8
)

// heldIn is a campaign with the messages that a list held back.
type heldIn struct {
	campaign.Listed

	N int
}

type heldPage struct {
	suppression.List

	Held []heldIn
	Last int // campaigns that were read
}

// showHeld shows the last campaigns in which the list held messages back.
func (s *Pages) showHeld(p *web.Page, l suppression.List) error {
	listed, err := s.Campaigns.ListCampaigns(p.R.Context(), p.Session.Tenant, "", lastCampaigns)
	if err != nil {
		return err
	}
	held, err := s.heldIn(p.R.Context(), listed, l.Number)
	if err != nil {
		return err
	}
	v := heldPage{l, held, lastCampaigns}
	if p.Partial() {
		return p.Fragment("lists_held_rows.html", v)
	}
	return p.Render("lists.held", "lists_held.html", v)
}

// heldIn returns the campaigns in which the list of a number held messages back.
func (s *Pages) heldIn(ctx context.Context, listed []campaign.Listed, number int) ([]heldIn, error) {
	held := make([]heldIn, len(listed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, each := range listed {
		group.Go(func() error {
			c, err := s.Campaigns.Overview(ctx, each.ID)
			each.Name = web.Short(each.Name, nameWeight)
			held[i] = heldIn{each, heldBack(c, number)}
			return campaign.IgnoreNotFound(err)
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(held, func(h heldIn) bool { return h.N == 0 }), err
}

const nameWeight = 300 // bytes of a name in a page

// heldBack returns how many messages of a campaign the list of a number held back.
func heldBack(c campaign.Campaign, number int) (n int) {
	for _, b := range c.Batches {
		for reason, count := range b.Head.Reasons {
			if reason.List == number {
				n += count
			}
		}
	}
	return n
}
