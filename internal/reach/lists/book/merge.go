package book

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
)

// pair are two segments that can become one in the place of the later one.
type pair struct{ low, high int }

// smallestPair returns the two segments with the fewest numbers that can become one.
func smallestPair(segments []lists.Segment) (best pair, found bool) {
	least := 0
	for low, a := range segments {
		for high := low + 1; high < len(segments); high++ {
			numbers := a.Numbers + segments[high].Numbers
			if mergeable(segments[low:high+1], low == 0) && (!found || numbers < least) {
				best, least, found = pair{low, high}, numbers, true
			}
		}
	}
	return best, found
}

// mergeable reports whether the first and the last of successive segments can become one. Segments of one
// kind and end can, if those of the other kind between them do not end earlier: the first one's numbers in
// them never had an effect. So can the oldest segment of a list and numbers that were removed after it.
func mergeable(s []lists.Segment, oldest bool) bool {
	a, b := s[0], s[len(s)-1]
	if a.Remove != b.Remove {
		return oldest && len(s) == 2 && a.Until.IsZero() && b.Until.IsZero()
	}
	return a.Until.Equal(b.Until) && !slices.ContainsFunc(s, func(between lists.Segment) bool {
		return between.Remove != a.Remove && endsBefore(between, a)
	})
}

func endsBefore(a, b lists.Segment) bool {
	return !a.Until.IsZero() && (b.Until.IsZero() || a.Until.Before(b.Until))
}

// merge reduces the segments to MaxSegments, without those that have no effect any more.
func (b *Book) merge(ctx context.Context, tenant string, segments []lists.Segment, now time.Time) ([]lists.Segment, error) {
	segments = lists.Effective(segments, now)
	for len(segments) > lists.MaxSegments {
		p, found := smallestPair(segments)
		if !found {
			return nil, lists.ErrManyEnds
		}
		merged, err := b.mergePair(ctx, tenant, segments[p.low:p.high+1])
		if err != nil {
			return nil, fmt.Errorf("merge segments: %w", err)
		}
		segments[p.high] = merged
		segments = lists.Effective(slices.Delete(segments, p.low, p.low+1), now)
	}
	return segments, nil
}

// mergePair writes a segment that stands for the first and the last of successive segments.
func (b *Book) mergePair(ctx context.Context, tenant string, s []lists.Segment) (lists.Segment, error) {
	first, last := s[0], s[len(s)-1]
	merged, err := b.numbers(ctx, first)
	for _, later := range s[1:] {
		var numbers numberset.Set
		if err == nil && later.Remove != first.Remove {
			numbers, err = b.numbers(ctx, later)
			merged = merged.Without(numbers)
		}
	}
	if err == nil && last.Remove == first.Remove {
		var numbers numberset.Set
		numbers, err = b.numbers(ctx, last)
		merged = merged.Union(numbers)
	}
	if err != nil {
		return lists.Segment{}, err
	}
	return b.put(ctx, tenant, lists.Segment{Remove: first.Remove, Until: first.Until}, merged)
}

func (b *Book) numbers(ctx context.Context, s lists.Segment) (numberset.Set, error) {
	packed, err := b.Blobs.Get(ctx, s.ID)
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	set, err := numberset.Unpack(packed)
	if err == nil && len(set) != s.Numbers {
		err = campaign.ErrDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("read segment %s: %w", s.ID, err)
	}
	return set, nil
}

// Numbers returns the numbers that are on the list.
func (b *Book) Numbers(ctx context.Context, l lists.List) (numberset.Set, error) {
	var on numberset.Set
	for _, s := range lists.Effective(l.Segments, b.Now()) {
		set, err := b.numbers(ctx, s)
		if err != nil {
			return nil, err
		}
		if s.Remove {
			on = on.Without(set)
		} else {
			on = on.Union(set)
		}
	}
	return on, nil
}
