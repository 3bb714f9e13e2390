package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Lists reads the lists of numbers that get no messages.
type Lists interface {
	// Of returns a function that returns the number of the list that keeps a message of a purpose from
	// an E.164 number, 0 for none, as of since or later.
	Of(ctx context.Context, tenant string, traffic campaign.Traffic, since time.Time) (func(phone string) (list int), error)
	// Names returns the names of a tenant's lists by number.
	Names(ctx context.Context, tenant string) (map[int]string, error)
}

// suppressed returns how many of the accepted messages each list would keep from their numbers, by name. t is the
// template of the call, or nil.
func (s *Service) suppressed(ctx context.Context, c *call, t *campaign.Template) ([]suppressed, error) {
	found := []suppressed{}
	if t == nil || t.Tenant != c.tenant {
		return found, nil
	}
	listOf, err := s.Lists.Of(ctx, c.tenant, t.Traffic, c.now)
	if err != nil {
		return nil, fmt.Errorf("dry run: %w", err)
	}
	messages := map[int]int{}
	for i := range c.req.messages {
		m := &c.req.messages[i]
		if m.rejection != nil {
			continue
		}
		if list := listOf(m.number.String()); list != 0 {
			messages[list]++
		}
	}
	if len(messages) == 0 {
		return found, nil
	}
	names, err := s.Lists.Names(ctx, c.tenant)
	if err != nil {
		return nil, fmt.Errorf("dry run: %w", err)
	}
	for list := range maps.Keys(messages) {
		found = append(found, suppressed{names[list], messages[list]})
	}
	slices.SortFunc(found, func(a, b suppressed) int { return cmp.Compare(a.List, b.List) })
	return found, nil
}
