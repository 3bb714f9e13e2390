package query

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
)

// OptedOutSince returns the opt-outs since a time that people of the campaign asked for themselves, the
// newest first.
func (s *Service) OptedOutSince(
	ctx context.Context, id campaign.ID, since time.Time, recent []campaign.OptChange,
) ([]campaign.OptChange, error) {
	recent = slices.DeleteFunc(slices.Clone(recent), func(c campaign.OptChange) bool {
		return c.At.Before(since) || c.Origin != campaign.OriginMessage
	})
	found, err := ofRecipients(ctx, s.Store, id, recent, func(c campaign.OptChange) string { return c.Phone })
	slices.SortFunc(found, func(a, b campaign.OptChange) int { return b.At.Compare(a.At) })
	return found, err
}

// RepliesOfRecipients returns the replies of numbers in the campaign, in the same order.
func (s *Service) RepliesOfRecipients(ctx context.Context, id campaign.ID, replies []reaction.Reply) ([]reaction.Reply, error) {
	return ofRecipients(ctx, s.Store, id, replies, func(r reaction.Reply) string { return r.Phone })
}

// ofRecipients returns the items whose phone numbers are in the campaign, in the same order. It reads the campaign's
// numbers only if there are items.
func ofRecipients[T any](ctx context.Context, store Store, id campaign.ID, items []T, phoneOf func(T) string) ([]T, error) {
	if len(items) == 0 {
		return nil, nil
	}
	numberOf := func(item T) uint64 { return uint64(e164.FromText(phoneOf(item))) }
	in := map[uint64]bool{} // whether a number is in the campaign
	for _, item := range items {
		in[numberOf(item)] = false
	}
	err := eachSet(ctx, store, id, func(_ int, all numberset.Set) {
		for number, found := range in {
			if !found {
				_, in[number] = slices.BinarySearch(all, number)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var found []T
	for _, item := range items {
		if in[numberOf(item)] {
			found = append(found, item)
		}
	}
	return found, nil
}

// eachSet calls do with the numbers of each batch of a campaign.
func eachSet(ctx context.Context, store Store, id campaign.ID, do func(ordinal int, numbers numberset.Set)) error {
	sets, err := store.PackedSets(ctx, id)
	if err != nil {
		return fmt.Errorf("read number sets: %w", err)
	}
	for _, set := range sets {
		numbers, err := numberset.Unpack(set.Packed)
		if err != nil {
			return fmt.Errorf("read the numbers of batch %d: %w", set.Ordinal, err)
		}
		do(set.Ordinal, numbers)
	}
	return nil
}
