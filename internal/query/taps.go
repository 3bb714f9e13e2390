package query

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/query/search"
)

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

// addTapsOf adds the taps and the clicks of messages of one batch.
func (s *Service) addTapsOf(ctx context.Context, b campaign.Batch, messages []*search.Message) error {
	taps, err := s.Store.TapEntries(ctx, b.Key, 0, campaign.MaxTaps)
	if err != nil {
		return fmt.Errorf("read taps: %w", err)
	}
	var clicks []campaign.Change
	if b.CountsClicks {
		if clicks, err = s.Store.ClickEntries(ctx, b.Key, 0, campaign.MaxTaps); err != nil {
			return fmt.Errorf("read clicks: %w", err)
		}
	}
	if len(taps)+len(clicks) == 0 {
		return nil
	}
	template, err := s.template(ctx, b)
	if err != nil {
		return err
	}
	for _, m := range messages {
		m.Taps, m.Clicks = tapsOf(template, m, taps), tapsOf(template, m, clicks)
	}
	return nil
}

// tapsOf returns the entries of a message.
func tapsOf(t campaign.Template, m *search.Message, log []campaign.Change) (all []search.Tap) {
	for _, c := range log {
		if c.Index == m.Index {
			all = append(all, search.Tap{At: c.At, TappedSuggestion: t.Tapped(c.Suggestion, m.Message)})
		}
	}
	return all
}
