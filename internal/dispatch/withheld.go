package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
)

// withheld returns the accepted messages that would not be sent, as of since or later. t is the template of the call; a
// call without a template of the tenant sends nothing.
func (s *Service) withheld(ctx context.Context, c *call, t *campaign.Template, since time.Time) (all []Withheld, err error) {
	if t == nil || t.Tenant != c.tenant {
		return nil, nil
	}
	of, err := s.Reach.Withheld(ctx, c.tenant, t.Traffic, since)
	if err != nil {
		return nil, err
	}
	accepted := 0
	for i := range c.req.accepted {
		if why := of(c.req.messages[i].number); !why.None() {
			all = append(all, Withheld{i, why, c.bill.classes.At(accepted)})
		}
		accepted++
	}
	return all, nil
}

// addWithheld adds the messages that would not be sent to the answer of a dry run, opt-outs first.
func (s *Service) addWithheld(ctx context.Context, c *call, t *campaign.Template, a *dryAnswer) error {
	all, err := s.withheld(ctx, c, t, c.now)
	if err != nil || len(all) == 0 {
		return err
	}
	names, err := s.listNames(ctx, c.tenant, all)
	if err != nil {
		return fmt.Errorf("dry run: %w", err)
	}
	for why, messages := range countWithheld(all) {
		price := c.bill.prices.Cost(messages)
		w := withheld{Code: why.Code, List: names[why.List], Messages: messages.Basic + messages.Single}
		if a.Price != nil {
			w.Price = &price
			a.Price.Expected -= price
		}
		a.Withheld = append(a.Withheld, w)
		if why.Code == campaign.CodeSuppressed {
			a.Suppressed = append(a.Suppressed, suppressed{w.List, w.Messages})
		}
	}
	slices.SortFunc(a.Withheld, func(a, b withheld) int { return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.List, b.List)) })
	slices.SortFunc(a.Suppressed, func(a, b suppressed) int { return cmp.Compare(a.List, b.List) })
	return nil
}

// listNames returns the names of a tenant's lists by number. It reads nothing if no list withholds a message.
func (s *Service) listNames(ctx context.Context, tenant string, all []Withheld) (map[int]string, error) {
	if !slices.ContainsFunc(all, func(w Withheld) bool { return w.List != 0 }) {
		return nil, nil
	}
	return s.ListNames(ctx, tenant)
}

// countWithheld returns the messages by the reason for which they are withheld.
func countWithheld(all []Withheld) map[reach.Why]campaign.ClassCounts {
	messages := map[reach.Why]campaign.ClassCounts{}
	for _, w := range all {
		n := messages[w.Why]
		n.Add(w.Class)
		messages[w.Why] = n
	}
	return messages
}
