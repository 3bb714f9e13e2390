package book

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy/suppression"
)

// pair are two segments that can become one in the place of the first.
type pair struct{ low, high int }

// smallestPair returns the two segments with the fewest numbers that can become one. Segments of one kind
// and end can, if no segment of the other kind is between them; so can the oldest segment and numbers
// that were removed from it.
func smallestPair(segments []suppression.Segment) (best pair, found bool) {
	least := 0
	for low, a := range segments {
		for high := low + 1; high < len(segments); high++ {
			b := segments[high]
			numbers := a.Numbers + b.Numbers
			if mergeable(low, a, b) && (!found || numbers < least) {
				best, least, found = pair{low, high}, numbers, true
			}
			if a.Remove != b.Remove {
				break
			}
		}
	}
	return best, found
}

func mergeable(low int, a, b suppression.Segment) bool {
	if a.Remove == b.Remove {
		return a.Until.Equal(b.Until)
	}
	return low == 0 && b.Remove && a.Until.IsZero() && b.Until.IsZero()
}

// merge reduces the segments to MaxSegments, without those that have no effect any more.
func (b *Book) merge(ctx context.Context, tenant string, segments []suppression.Segment, now time.Time) ([]suppression.Segment, error) {
	segments = suppression.Effective(segments, now)
	for len(segments) > suppression.MaxSegments {
		p, found := smallestPair(segments)
		if !found {
			return nil, suppression.ErrManyEnds
		}
		merged, err := b.mergePair(ctx, tenant, segments[p.low], segments[p.high])
		if err != nil {
			return nil, fmt.Errorf("merge segments: %w", err)
		}
		segments[p.low] = merged
		segments = suppression.Effective(slices.Delete(segments, p.high, p.high+1), now)
	}
	return segments, nil
}

func (b *Book) mergePair(ctx context.Context, tenant string, low, high suppression.Segment) (suppression.Segment, error) {
	under, err := b.numbers(ctx, low)
	if err != nil {
		return suppression.Segment{}, err
	}
	over, err := b.numbers(ctx, high)
	if err != nil {
		return suppression.Segment{}, err
	}
	if low.Remove == high.Remove {
		return b.put(ctx, tenant, suppression.Segment{Remove: low.Remove, Until: low.Until}, under.Union(over))
	}
	return b.put(ctx, tenant, suppression.Segment{}, under.Without(over))
}

func (b *Book) numbers(ctx context.Context, s suppression.Segment) (numberset.Set, error) {
	packed, err := b.Blobs.Get(ctx, s.ID)
	if err != nil {
		return nil, fmt.Errorf("read a segment: %w", err)
	}
	set, err := numberset.Unpack(packed)
	if err == nil && len(set) != s.Numbers {
		err = errDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("read segment %s: %w", s.ID, err)
	}
	return set, nil
}

// Numbers returns the numbers that are on the list.
func (b *Book) Numbers(ctx context.Context, l suppression.List) (numberset.Set, error) {
	var on numberset.Set
	for _, s := range suppression.Effective(l.Segments, b.Now()) {
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
