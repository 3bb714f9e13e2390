package query

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// addTaps adds the taps and the clicks of the messages. It reads the logs of each batch that
// can have some.
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

// addTapsOf adds the taps and the clicks of messages of one batch.
func (s *Service) addTapsOf(ctx context.Context, b campaign.Batch, messages []*campaign.FoundMessage) error {
	log, err := s.Store.TapEntries(ctx, b.Key, 0, campaign.MaxTaps)
	if err == nil && b.CountsClicks {
		var clicks []campaign.Change
		clicks, err = s.Store.ClickEntries(ctx, b.Key, 0, campaign.MaxTaps)
		log = append(log, clicks...)
	}
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
	byIndex := map[int][]campaign.Change{}
	for _, c := range log {
		byIndex[c.Index] = append(byIndex[c.Index], c)
	}
	for _, m := range messages {
		addTapsTo(m, byIndex[m.Index], template)
	}
	return nil
}

// addTapsTo adds taps and clicks to their message.
func addTapsTo(m *campaign.FoundMessage, log []campaign.Change, template campaign.Template) {
	for _, c := range log {
		tap := campaign.FoundTap{At: c.At, TappedSuggestion: template.Tapped(c.Suggestion, m.Message)}
		if c.Outcome == campaign.OutcomeTapped {
			m.Taps = append(m.Taps, tap)
		} else {
			m.Clicks = append(m.Clicks, tap)
		}
	}
}
