package outcome

import (
	"context"
	"errors"
	"fmt"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/ledger"
)

// Ledgers stores the outcomes of batches. The error of AppendLedger wraps
// campaign.ErrLostRace if the head was changed concurrently.
type Ledgers interface {
	LedgerHead(ctx context.Context, key campaign.BatchKey) (ledger.Head, error)
	AppendLedger(ctx context.Context, b campaign.Batch, head ledger.Head, news []campaign.Change) (ledger.Head, error)
}

// Appended is the result of AppendLedger.
type Appended struct {
	Before, After ledger.Head
	Tries         int
}

// AppendLedger appends the effective changes, in order, and ignores the others. Repeated
// calls are harmless, also after an error. After a concurrent update, it reads the ledger
// and tries again.
func AppendLedger(ctx context.Context, store Ledgers, b campaign.Batch, changes []campaign.Change) (e Appended, err error) {
	for ; e.Tries < tries; e.Tries++ {
		if err := retry.Wait(ctx, e.Tries); err != nil {
			return e, fmt.Errorf("record outcomes of batch %s: %w", b.BatchID, err)
		}
		if e.Before, err = store.LedgerHead(ctx, b.Key); err != nil {
			return e, fmt.Errorf("record outcomes: %w", err)
		}
		e.After = e.Before
		news := e.Before.NewChanges(changes)
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
