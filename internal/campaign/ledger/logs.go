package ledger

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// TapLogs read the taps and the clicks on the messages of a batch.
type TapLogs interface {
	// TapEntries returns up to limit entries of the log of taps after a sequence, in order.
	TapEntries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]campaign.Change, error)
	// ClickEntries is TapEntries for the log of clicks.
	ClickEntries(ctx context.Context, key campaign.BatchKey, after, limit int) ([]campaign.Change, error)
}

// AllTaps returns the taps and the clicks of a batch. It reads only what the batch counts.
func AllTaps(ctx context.Context, logs TapLogs, b campaign.Batch) (taps, clicks []campaign.Change, err error) {
	mostTaps, mostClicks := 0, 0
	if len(b.TapKey) > 0 {
		mostTaps = campaign.MaxTaps
	}
	if b.CountsClicks {
		mostClicks = campaign.MaxTaps
	}
	return FirstTaps(ctx, logs, b.Key, mostTaps, mostClicks)
}

// FirstTaps returns the first taps and clicks of a batch, up to a number of each.
func FirstTaps(
	ctx context.Context, logs TapLogs, key campaign.BatchKey, mostTaps, mostClicks int,
) (taps, clicks []campaign.Change, err error) {
	if mostTaps > 0 {
		if taps, err = logs.TapEntries(ctx, key, 0, mostTaps); err != nil {
			return nil, nil, fmt.Errorf("read taps: %w", err)
		}
	}
	if mostClicks > 0 {
		if clicks, err = logs.ClickEntries(ctx, key, 0, mostClicks); err != nil {
			return nil, nil, fmt.Errorf("read clicks: %w", err)
		}
	}
	return taps, clicks, nil
}
