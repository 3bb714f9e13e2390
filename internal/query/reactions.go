package query

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/query/search"
)

// matcher returns the latest change of each message of a batch, and whether a message has the
// searched status and reaction.
func (s *Service) matcher(ctx context.Context, q scanRequest, b campaign.Batch) ([]campaign.Change, func(index int) bool, error) {
	latest, err := s.Store.Latest(ctx, b)
	if err != nil {
		return nil, nil, fmt.Errorf("read outcomes: %w", err)
	}
	tapped := map[int]bool{}
	if q.reaction == search.ReactionTapped {
		taps, clicks, err := ledger.AllTaps(ctx, s.Store, b)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range append(taps, clicks...) {
			tapped[c.Index] = true
		}
	}
	return latest, func(index int) bool {
		if q.status != "" && q.status != latest[index].Status() {
			return false
		}
		switch q.reaction {
		case search.ReactionTapped:
			return tapped[index]
		case search.ReactionOptedOut:
			return latest[index].OptedOut()
		case search.ReactionSuppressed:
			return latest[index].Suppressed()
		}
		return true
	}, nil
}

func (q scanRequest) mayReact(b campaign.BatchProgress) bool {
	switch q.reaction {
	case search.ReactionTapped:
		return b.Head.Tapped+b.Head.Clicked > 0
	case search.ReactionOptedOut:
		return b.Head.OptedOut() > 0
	case search.ReactionSuppressed:
		return b.Head.Suppressed() > 0
	}
	return true
}

// addTaps adds the taps and the clicks of the messages. It reads the logs of each batch that
// can have some.
func (s *Service) addTaps(ctx context.Context, found []search.Message) error {
	byBatch := map[campaign.BatchKey][]*search.Message{}
	for i := range found {
		if m := &found[i]; len(m.Batch.TapKey) > 0 {
			byBatch[m.Batch.Key] = append(byBatch[m.Batch.Key], m)
		}
	}
	for _, messages := range byBatch {
		if err := s.addTapsOf(ctx, messages[0].Batch, messages); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) addTapsOf(ctx context.Context, b campaign.Batch, messages []*search.Message) error {
	taps, clicks, err := ledger.AllTaps(ctx, s.Store, b)
	if err != nil || len(taps)+len(clicks) == 0 {
		return err
	}
	template, err := s.template(ctx, b)
	if err != nil {
		return err
	}
	for _, m := range messages {
		m.Taps = search.TapsOf(template, m.Message, m.Index, taps)
		m.Clicks = search.TapsOf(template, m.Message, m.Index, clicks)
	}
	return nil
}
