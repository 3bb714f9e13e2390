package query

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/query/search"
)

// matcher returns whether a message of the batch, with its latest change, has the searched
// status and reaction.
func (s *Service) matcher(ctx context.Context, q scanRequest, b campaign.Batch) (func(index int, latest campaign.Change) bool, error) {
	tapped := map[int]bool{}
	if q.reaction == search.ReactionTapped {
		var err error
		if tapped, err = s.tapped(ctx, b); err != nil {
			return nil, err
		}
	}
	return func(index int, latest campaign.Change) bool {
		if q.status != "" && q.status != statusOf(latest) {
			return false
		}
		switch q.reaction {
		case search.ReactionTapped:
			return tapped[index]
		case search.ReactionOptedOut:
			return latest.OptedOut()
		}
		return true
	}, nil
}

// tapped returns the messages of a batch with a tapped suggestion or a clicked link.
func (s *Service) tapped(ctx context.Context, b campaign.Batch) (map[int]bool, error) {
	found := map[int]bool{}
	if len(b.TapKey) == 0 {
		return found, nil
	}
	taps, err := s.Store.TapEntries(ctx, b.Key, 0, campaign.MaxTaps)
	if err != nil {
		return nil, fmt.Errorf("read taps: %w", err)
	}
	if b.CountsClicks {
		clicks, err := s.Store.ClickEntries(ctx, b.Key, 0, campaign.MaxTaps)
		if err != nil {
			return nil, fmt.Errorf("read clicks: %w", err)
		}
		taps = append(taps, clicks...)
	}
	for _, c := range taps {
		found[c.Index] = true
	}
	return found, nil
}

// mayReact reports whether a batch may contain a message with the searched reaction.
func (q scanRequest) mayReact(b campaign.Progress) bool {
	switch q.reaction {
	case search.ReactionTapped:
		return b.Head.Tapped+b.Head.Clicked > 0
	case search.ReactionOptedOut:
		return b.Head.OptedOut() > 0
	}
	return true
}
