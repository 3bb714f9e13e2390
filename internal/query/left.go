package query

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
)

// OptedOutSince returns the opt-outs since a time of numbers in the campaign, the newest first.
// It reads the campaign's numbers only if there was an opt-out.
func (s *Service) OptedOutSince(ctx context.Context, id campaign.ID, since time.Time, recent []campaign.OptChange) ([]campaign.OptChange, error) {
	left := map[uint64]campaign.OptChange{}
	for _, c := range recent {
		number, err := strconv.ParseUint(strings.TrimPrefix(c.Phone, "+"), 10, 64)
		if err == nil && !c.At.Before(since) {
			left[number] = c
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	sets, err := s.Store.PackedSets(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read number sets: %w", err)
	}
	var found []campaign.OptChange
	for _, set := range sets {
		numbers, err := numberset.Unpack(set.Packed)
		if err != nil {
			return nil, fmt.Errorf("read the numbers of batch %d: %w", set.Ordinal, err)
		}
		for number, c := range left {
			if _, ok := slices.BinarySearch(numbers, number); ok {
				found = append(found, c)
				delete(left, number)
			}
		}
	}
	slices.SortFunc(found, func(a, b campaign.OptChange) int { return b.At.Compare(a.At) })
	return found, nil
}
