package query

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// addTaps adds the taps of the found messages to their answers. It reads the log of taps of
// each batch that has some.
func (s *Service) addTaps(ctx context.Context, c campaign.Campaign, found []campaign.FoundMessage, answers []messageAnswer) error {
	taps := map[campaign.BatchKey]map[int][]tap{}
	for _, b := range c.Batches {
		messages := map[int]campaign.Message{}
		for _, m := range found {
			if m.Batch.Key == b.Key && b.Head.Taps > 0 {
				messages[m.Index] = m.Message
			}
		}
		if len(messages) == 0 {
			continue
		}
		of, err := s.tapsOf(ctx, b, messages)
		if err != nil {
			return err
		}
		taps[b.Key] = of
	}
	for i, m := range found {
		answers[i].Taps = taps[m.Batch.Key][m.Index]
	}
	return nil
}

// tapsOf returns the taps on messages of a batch, by index.
func (s *Service) tapsOf(ctx context.Context, b campaign.Progress, messages map[int]campaign.Message) (map[int][]tap, error) {
	log, err := s.Store.TapEntries(ctx, b.Key, 0, b.Head.Taps)
	if err != nil {
		return nil, fmt.Errorf("read taps: %w", err)
	}
	template, err := s.template(ctx, b.Batch)
	if err != nil {
		return nil, err
	}
	taps := map[int][]tap{}
	for _, t := range log {
		if m, wanted := messages[t.Index]; wanted {
			taps[t.Index] = append(taps[t.Index], tap{t.At, template.Tapped(t.Suggestion, m)})
		}
	}
	return taps, nil
}
