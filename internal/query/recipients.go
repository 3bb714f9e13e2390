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
	found, err := ofRecipients(ctx, s.Store, id, ownSince(since, recent), phoneOfChange)
	slices.SortFunc(found, func(a, b campaign.OptChange) int { return b.At.Compare(a.At) })
	return found, err
}

// ownSince returns the opt-outs since a time that people asked for themselves.
func ownSince(since time.Time, recent []campaign.OptChange) []campaign.OptChange {
	return slices.DeleteFunc(slices.Clone(recent), func(c campaign.OptChange) bool {
		return c.At.Before(since) || c.Origin != campaign.OriginMessage
	})
}

func phoneOfChange(c campaign.OptChange) string { return c.Phone }

func phoneOfReply(r reaction.Reply) string { return r.Phone }

// OptOutsByBatch returns those of OptedOutSince by the ordinal of the batch that the person is in.
func (s *Service) OptOutsByBatch(
	ctx context.Context, id campaign.ID, since time.Time, recent []campaign.OptChange,
) (map[int][]campaign.OptChange, error) {
	return byBatch(ctx, s.Store, id, ownSince(since, recent), phoneOfChange)
}

// RepliesByBatch returns those of RepliesOfRecipients by the ordinal of the batch that the person is in.
func (s *Service) RepliesByBatch(ctx context.Context, id campaign.ID, replies []reaction.Reply) (map[int][]reaction.Reply, error) {
	return byBatch(ctx, s.Store, id, replies, phoneOfReply)
}

// RepliesOfRecipients returns the replies of numbers in the campaign, in the same order.
func (s *Service) RepliesOfRecipients(ctx context.Context, id campaign.ID, replies []reaction.Reply) ([]reaction.Reply, error) {
	return ofRecipients(ctx, s.Store, id, replies, phoneOfReply)
}

// ofRecipients returns the items whose phone numbers are in the campaign, in the same order. It reads the campaign's
// numbers only if there are items.
func ofRecipients[T any](ctx context.Context, store Store, id campaign.ID, items []T, phoneOf func(T) string) ([]T, error) {
	ordinals, err := ordinalsOf(ctx, store, id, items, phoneOf)
	var found []T
	for i, ordinal := range ordinals {
		if ordinal > 0 {
			found = append(found, items[i])
		}
	}
	return found, err
}

// byBatch is ofRecipients by the ordinals of their batches.
func byBatch[T any](ctx context.Context, store Store, id campaign.ID, items []T, phoneOf func(T) string) (map[int][]T, error) {
	ordinals, err := ordinalsOf(ctx, store, id, items, phoneOf)
	found := map[int][]T{}
	for i, ordinal := range ordinals {
		if ordinal > 0 {
			found[ordinal] = append(found[ordinal], items[i])
		}
	}
	return found, err
}

// ordinalsOf returns the ordinal of the batch that the phone number of each item is in, 0 for those that are in none.
func ordinalsOf[T any](ctx context.Context, store Store, id campaign.ID, items []T, phoneOf func(T) string) ([]int, error) {
	if len(items) == 0 {
		return nil, nil
	}
	in := map[uint64]int{}
	for _, item := range items {
		in[numberOf(phoneOf(item))] = 0
	}
	err := eachSet(ctx, store, id, func(ordinal int, all numberset.Set) {
		for number, found := range in {
			if found > 0 {
				continue
			}
			if _, is := slices.BinarySearch(all, number); is {
				in[number] = ordinal
			}
		}
	})
	if err != nil {
		return nil, err
	}
	ordinals := make([]int, len(items))
	for i, item := range items {
		ordinals[i] = in[numberOf(phoneOf(item))]
	}
	return ordinals, nil
}

func numberOf(phone string) uint64 { return uint64(e164.FromText(phone)) }

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
