package optout

import (
	"context"
	"fmt"
	"time"

	"campaign-dispatch/internal/campaign"
)

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
		if at := time.UnixMilli(ms).UTC(); s.has(number) && now.Sub(at) < RecentFor {
			out = append(out, campaign.OptChange{Phone: fmt.Sprintf("+%d", number), Out: true, At: at, Origin: s.origin(number)})
		}
	}
	return out
}
