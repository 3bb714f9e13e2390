package campaignupload

import (
	"context"
	"errors"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/phone"
)

// outlook is what to expect of a campaign besides the findings.
type outlook struct {
	OptedOut int // people who opted out and get nothing
	Minutes  int // of sending at the agent's rate, 0 without a limit
}

// outlook returns what to expect of the messages that are accepted.
func (s *Pages) outlook(p *web.Page, pl plan, accepted int) (o outlook, err error) {
	ctx, tenant := p.R.Context(), p.Session.Tenant
	optedOut, err := s.OptOuts.Of(ctx, tenant)
	if err != nil {
		return o, err
	}
	for _, part := range pl.parts {
		for _, r := range part.rows {
			number, rejection := phone.Parse([]byte(r.Cell(pl.table.Phone)))
			if rejection == nil && optedOut(strconv.FormatUint(uint64(number), 10)) {
				o.OptedOut++
			}
		}
	}
	rate, err := s.rate(ctx, tenant)
	if err == nil && rate > 0 {
		const minute = 60
		o.Minutes = (accepted + rate*minute - 1) / (rate * minute)
	}
	return o, err
}

// rate returns the messages per second that the tenant's agent may send, 0 for no limit.
func (s *Pages) rate(ctx context.Context, tenant string) (int, error) {
	t, err := s.Store.Tenant(ctx, tenant)
	if errors.Is(err, campaign.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	a, err := s.Store.Agent(ctx, t.AgentID)
	if errors.Is(err, campaign.ErrNotFound) {
		return 0, nil
	}
	return a.Rate, err
}

// Hours returns the time of sending in hours, 0 for less than two.
func (o outlook) Hours() int {
	const hour = 60
	if o.Minutes < 2*hour {
		return 0
	}
	return (o.Minutes + hour - 1) / hour
}

// People returns the number of people who get a message.
func (r review) People() int { return max(0, r.Accepted-r.OptedOut) }
