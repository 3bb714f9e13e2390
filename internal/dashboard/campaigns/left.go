package campaigns

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

const (
	// leftUntil is how long after its first message the opt-outs of a campaign's recipients
	// are shown. The times of opt-outs are kept as long.
	leftUntil = 8 * 24 * time.Hour
	// leftShown is the maximum number of opt-outs on the page.
	leftShown = 100
)

// leftPage lists the recipients of a campaign who opted out since it was sent.
type leftPage struct {
	campaign.Campaign
	Known bool // they can be counted
	N     int
	Left  []campaign.OptChange // the newest
}

// countsLeft reports whether opt-outs since the campaign was sent can be known.
func countsLeft(c campaign.Campaign, now time.Time) bool {
	first := c.Results(now).First
	return !first.IsZero() && !first.After(now) && now.Sub(first) < leftUntil
}

func (s *Pages) left(p *web.Page) error {
	c, err := of(p, s.overview)
	if err != nil {
		return err
	}
	l := leftPage{Campaign: c}
	if countsLeft(c, s.Now()) {
		if err := s.addLeft(p, &l); err != nil {
			return err
		}
	}
	if p.Partial() {
		return p.Fragment("campaigns_left_count.html", l)
	}
	return p.Render("campaigns.left", "campaigns_left.html", l)
}

func (s *Pages) addLeft(p *web.Page, l *leftPage) (err error) {
	var recent, left []campaign.OptChange
	recent, l.Known, err = s.OptOuts.Recent(p.R.Context(), l.Tenant)
	if err != nil || !l.Known {
		return err
	}
	left, err = s.Messages.OptedOutSince(p.R.Context(), l.ID, l.Results(s.Now()).First, recent)
	l.N, l.Left = len(left), left[:min(len(left), leftShown)]
	return err
}
