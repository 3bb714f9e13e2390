package optout

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
)

// List returns up to limit opted-out numbers of a tenant from a cursor, "" for the first,
// and the cursor of the next ones, "" at the end. The cursor contains a number. The error
// wraps campaign.ErrNotFound if the cursor is invalid.
func (b *Book) List(ctx context.Context, tenant, cursor string, limit int) (found []campaign.OptedOut, next string, err error) {
	number := uint64(0)
	if cursor != "" {
		if number, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return nil, "", campaign.ErrNotFound
		}
	}
	for more := true; more; {
		p, err := b.find(ctx, tenant, number)
		if err != nil {
			return nil, "", fmt.Errorf("list opt-outs: %w", err)
		}
		start, _ := slices.BinarySearch(p.out, number)
		for _, n := range p.out[start:] {
			if len(found) == limit {
				return found, strconv.FormatUint(n, 10), nil
			}
			found = append(found, p.optedOut(n))
		}
		number, more = p.following(number)
	}
	return found, "", nil
}

// ListShard returns up to limit opted-out numbers of one shard.
func (b *Book) ListShard(ctx context.Context, tenant string, shard, limit int) (found []campaign.OptedOut, err error) {
	for number := uint64(shard); len(found) < limit; { //nolint:gosec // a shard is not negative
		p, err := b.find(ctx, tenant, number)
		if err != nil {
			return nil, fmt.Errorf("list opt-outs: %w", err)
		}
		for _, n := range p.out[:min(len(p.out), limit-len(found))] {
			found = append(found, p.optedOut(n))
		}
		if p.until == math.MaxUint64 {
			break
		}
		number = p.until
	}
	return found, nil
}

// following returns the first number of the next part, or of the next shard.
func (p place) following(number uint64) (next uint64, more bool) {
	if p.until != math.MaxUint64 {
		return p.until, true
	}
	next = number%Shards + 1
	return next, next < Shards
}

func (p place) optedOut(number uint64) campaign.OptedOut {
	l := campaign.OptedOut{Phone: e164.Number(number).String(), Origin: p.origin(number)}
	if at, lately := p.recent[number]; lately {
		l.Since = time.UnixMilli(at).UTC()
	}
	return l
}

// Count returns how many numbers of a tenant opted out. exact is false if shards are
// divided into parts: their numbers are not counted.
func (b *Book) Count(ctx context.Context, tenant string) (numbers int, exact bool, err error) {
	rows, err := b.Store.OptOuts(ctx, tenant)
	if err != nil {
		return 0, false, fmt.Errorf("count opt-outs: %w", err)
	}
	exact = true
	for _, row := range rows {
		if len(row.Parts) > 0 {
			exact = false
			continue
		}
		set, err := numberset.Unpack(row.Packed)
		if err != nil {
			return 0, false, fmt.Errorf("count opt-outs of tenant %s: %w", tenant, err)
		}
		numbers += len(set)
	}
	return numbers, exact, nil
}

// RecentFor is how long the time of an opt-out is kept.
const RecentFor = repeatedFor

// Recent returns the numbers that opted out of a tenant's messages in the last RecentFor and
// are still opted out, in any order. known is false for a tenant with a shard in parts, whose
// opt-outs take long to read.
func (b *Book) Recent(ctx context.Context, tenant string) (recent []campaign.OptChange, known bool, err error) {
	rows, err := b.Store.OptOuts(ctx, tenant)
	if err != nil {
		return nil, false, fmt.Errorf("read recent opt-outs: %w", err)
	}
	for _, row := range rows {
		if len(row.Parts) > 0 {
			return nil, false, nil
		}
		s, err := unpack(row.Packed, row.Recent, row.Origins)
		if err != nil {
			return nil, false, fmt.Errorf("shard %d of the opt-outs of tenant %s: %w", row.Shard, tenant, err)
		}
		recent = append(recent, s.recentlyOut(b.Now())...)
	}
	return recent, true, nil
}

func (s *shard) recentlyOut(now time.Time) (out []campaign.OptChange) {
	for number, ms := range s.recent {
		if at := time.UnixMilli(ms).UTC(); s.contains(number) && now.Sub(at) < RecentFor {
			out = append(out, campaign.OptChange{Phone: fmt.Sprintf("+%d", number), Out: true, At: at, Origin: s.origin(number)})
		}
	}
	return out
}
