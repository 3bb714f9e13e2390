package lists

import (
	"context"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/reach/lists"
)

const (
	// lastCampaigns is the number of campaigns that are read to find the messages that a list withheld.
	lastCampaigns = 20
	readsAtOnce   = 8
)

// campaignWithheld is a campaign with the messages that a list withheld.
type campaignWithheld struct {
	campaign.Listed

	N int
}

type withheldPage struct {
	lists.List

	In   []campaignWithheld
	Last int // campaigns that were read
}

// showWithheld shows the last campaigns in which the list withheld messages.
func (s *Pages) showWithheld(p *web.Page, l lists.List) error {
	listed, err := s.Campaigns.ListCampaigns(p.R.Context(), p.Session.Tenant, "", lastCampaigns)
	if err != nil {
		return err
	}
	in, err := s.campaignsWithheld(p.R.Context(), listed, l.Number)
	if err != nil {
		return err
	}
	v := withheldPage{l, in, lastCampaigns}
	return p.RenderOr("lists_withheld_rows.html", "lists.withheld", "lists_withheld.html", v)
}

// campaignsWithheld returns the campaigns in which the list of a number withheld messages.
func (s *Pages) campaignsWithheld(ctx context.Context, listed []campaign.Listed, number int) ([]campaignWithheld, error) {
	in, err := web.ReadEach(ctx, readsAtOnce, listed, func(ctx context.Context, each campaign.Listed) (campaignWithheld, error) {
		c, err := s.Campaigns.Overview(ctx, each.ID)
		each.Name = web.Short(each.Name, nameWeight)
		return campaignWithheld{each, withheldBy(c, number)}, campaign.IgnoreNotFound(err)
	})
	return slices.DeleteFunc(in, func(h campaignWithheld) bool { return h.N == 0 }), err
}

const nameWeight = 300 // bytes of a name in a page

// withheldBy returns how many messages of a campaign the list of a number withheld.
func withheldBy(c campaign.Campaign, number int) (n int) {
	for _, b := range c.Batches {
		for reason, count := range b.Head.Reasons {
			if reason.List == number {
				n += count
			}
		}
	}
	return n
}
