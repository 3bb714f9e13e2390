package query

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// addTaps adds the taps of the messages. It reads the log of taps of each batch that can
// have some.
func (s *Service) addTaps(ctx context.Context, found []campaign.FoundMessage) error {
	byBatch := map[campaign.BatchKey][]*campaign.FoundMessage{}
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

// addTapsOf adds the taps of messages of one batch.
func (s *Service) addTapsOf(ctx context.Context, b campaign.Batch, messages []*campaign.FoundMessage) error {
	log, err := s.Store.TapEntries(ctx, b.Key, 0, campaign.MaxTaps)
	if err != nil {
		return fmt.Errorf("read taps: %w", err)
	}
	if len(log) == 0 {
		return nil
	}
	template, err := s.template(ctx, b)
	if err != nil {
		return err
	}
	for _, m := range messages {
		for _, t := range log {
			if t.Index == m.Index {
				m.Taps = append(m.Taps, campaign.FoundTap{At: t.At, TappedSuggestion: template.Tapped(t.Suggestion, m.Message)})
			}
		}
	}
	return nil
}
