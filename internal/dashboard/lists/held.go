package lists

import (
	"context"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach/lists"
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
	lists.List

	Held []heldIn
	Last int // campaigns that were read
}

// showHeld shows the last campaigns in which the list held messages back.
func (s *Pages) showHeld(p *web.Page, l lists.List) error {
	listed, err := s.Campaigns.ListCampaigns(p.R.Context(), p.Session.Tenant, "", lastCampaigns)
	if err != nil {
		return err
	}
	held, err := s.heldIn(p.R.Context(), listed, l.Number)
	if err != nil {
		return err
	}
	v := heldPage{l, held, lastCampaigns}
	return p.RenderOr("lists_held_rows.html", "lists.held", "lists_held.html", v)
}

// heldIn returns the campaigns in which the list of a number held messages back.
func (s *Pages) heldIn(ctx context.Context, listed []campaign.Listed, number int) ([]heldIn, error) {
	held, err := web.ReadEach(ctx, readsAtOnce, listed, func(ctx context.Context, each campaign.Listed) (heldIn, error) {
		c, err := s.Campaigns.Overview(ctx, each.ID)
		each.Name = web.Short(each.Name, nameWeight)
		return heldIn{each, heldBack(c, number)}, campaign.IgnoreNotFound(err)
	})
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
