package query

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// tapReader reads a log of taps or of clicks. last returns the sequence of a batch's last
// entry.
type tapReader struct {
	last func(b campaign.Progress) int
	read func(ctx context.Context, key campaign.BatchKey, after, limit int) ([]campaign.Change, error)
}

// addTaps adds the taps and the clicks of the found messages to their answers. It reads the
// logs of each batch that has some.
func (s *Service) addTaps(ctx context.Context, c campaign.Campaign, found []campaign.FoundMessage, answers []messageAnswer) error {
	taps, err := s.tapsOf(ctx, c, found, tapReader{func(b campaign.Progress) int { return b.Head.Taps }, s.Store.TapEntries})
	if err != nil {
		return err
	}
	clicks, err := s.tapsOf(ctx, c, found, tapReader{func(b campaign.Progress) int { return b.Head.Clicks }, s.Store.ClickEntries})
	if err != nil {
		return err
	}
	for i, m := range found {
		answers[i].Taps, answers[i].Clicks = taps[m.Batch.Key][m.Index], clicks[m.Batch.Key][m.Index]
	}
	return nil
}

// tapsOf returns the entries of the found messages, by batch and index.
func (s *Service) tapsOf(ctx context.Context, c campaign.Campaign, found []campaign.FoundMessage, log tapReader) (map[campaign.BatchKey]map[int][]tap, error) {
	taps := map[campaign.BatchKey]map[int][]tap{}
	for _, b := range c.Batches {
		messages := map[int]campaign.Message{}
		for _, m := range found {
			if m.Batch.Key == b.Key && log.last(b) > 0 {
				messages[m.Index] = m.Message
			}
		}
		if len(messages) == 0 {
			continue
		}
		of, err := s.tapsOfBatch(ctx, b, messages, log)
		if err != nil {
			return nil, err
		}
		taps[b.Key] = of
	}
	return taps, nil
}

// tapsOfBatch returns the entries of messages of a batch, by index.
func (s *Service) tapsOfBatch(ctx context.Context, b campaign.Progress, messages map[int]campaign.Message, log tapReader) (map[int][]tap, error) {
	entries, err := log.read(ctx, b.Key, 0, log.last(b))
	if err != nil {
		return nil, fmt.Errorf("read taps: %w", err)
	}
	template, err := s.template(ctx, b.Batch)
	if err != nil {
		return nil, err
	}
	taps := map[int][]tap{}
	for _, t := range entries {
		if m, wanted := messages[t.Index]; wanted {
			taps[t.Index] = append(taps[t.Index], tap{t.At, template.Tapped(t.Suggestion, m)})
		}
	}
	return taps, nil
}
