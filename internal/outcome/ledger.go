package outcome

import (
	"context"
	"errors"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/ledger"
	"campaign-dispatch/internal/retry"
)

// Ledgers keeps the outcomes of batches. AppendLedger's error wraps
// campaign.ErrLostRace where the head is no longer as it was read.
type Ledgers interface {
	LedgerHead(ctx context.Context, key campaign.BatchKey) (ledger.Head, error)
	AppendLedger(ctx context.Context, b campaign.Batch, head ledger.Head, news []campaign.Change) (ledger.Head, error)
}

// Appended is what one call has entered into a ledger.
type Appended struct {
	Before, After ledger.Head
	Tries         int
}

// AppendLedger enters those of a batch's changes that are news, in their order, and
// drops the others: the same change may be entered any number of times. After an
// error they may have been entered; to enter them again is harmless. Whoever loses a
// race reads the ledger and judges the changes again.
func AppendLedger(ctx context.Context, store Ledgers, b campaign.Batch, changes []campaign.Change) (e Appended, err error) {
	for ; e.Tries < tries; e.Tries++ {
		if err := retry.Wait(ctx, e.Tries); err != nil {
			return e, fmt.Errorf("record outcomes of batch %s: %w", b.BatchID, err)
		}
		if e.Before, err = store.LedgerHead(ctx, b.Key); err != nil {
			return e, fmt.Errorf("record outcomes: %w", err)
		}
		e.After = e.Before
		news := e.Before.News(changes)
		if len(news) == 0 {
			return e, nil
		}
		e.After, err = store.AppendLedger(ctx, b, e.Before, news)
		if !errors.Is(err, campaign.ErrLostRace) {
			return e, err
		}
	}
	return e, fmt.Errorf("record outcomes of batch %s, try %d: %w", b.BatchID, e.Tries, campaign.ErrLostRace)
}
