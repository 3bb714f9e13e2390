package outcome

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/ledger"
	"campaign-dispatch/internal/outcome/reaction"
)

// recordClicks records the clicks on links of one batch, given by position, and sets their
// errors. A click does not change the status of a message: whoever has a link can open it.
func (a *Applier) recordClicks(ctx context.Context, key campaign.BatchKey, tasks []reaction.EventTask, at []int, errs []error) {
	b, err := a.findBatch(ctx, key)
	if errors.Is(err, campaign.ErrNotFound) {
		a.retryOrDropUnknown(ctx, tasks, at, errs)
		return
	}
	if err == nil {
		err = a.appendClicks(ctx, b, tasks, dropForeign(ctx, b, tasks, at))
	}
	if err != nil {
		err = fmt.Errorf("record clicks: %w", err)
	}
	for _, i := range at {
		errs[i] = err
	}
}

func (a *Applier) appendClicks(ctx context.Context, b campaign.Batch, tasks []reaction.EventTask, at []int) error {
	var clicks []campaign.Change
	for _, i := range at {
		if _, index, _ := campaign.ParseMessageID(tasks[i].MessageID); index < b.Accepted {
			clicks = append(clicks, campaign.Change{Index: index, Outcome: campaign.OutcomeClicked, Suggestion: tasks[i].Suggestion, At: tasks[i].At})
		}
	}
	slices.SortStableFunc(clicks, func(x, y campaign.Change) int { return x.At.Compare(y.At) })
	for some := range slices.Chunk(clicks, ledger.TapPage) {
		if err := a.appendNewClicks(ctx, b, some); err != nil {
			return fmt.Errorf("batch %s: %w", b.BatchID, err)
		}
	}
	metrics.Add(ctx, metrics.EventsApplied, len(clicks))
	return nil
}

// appendNewClicks appends the clicks that are not recorded yet.
func (a *Applier) appendNewClicks(ctx context.Context, b campaign.Batch, clicks []campaign.Change) error {
	for try := range tries {
		if err := retry.Wait(ctx, try); err != nil {
			return err
		}
		before, err := a.Store.Clicks(ctx, b.Key)
		if err != nil {
			return err
		}
		news := before.NewTaps(clicks)
		if len(news) == 0 {
			return nil
		}
		if _, err = a.Store.AppendTaps(ctx, b, before, news); !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
	return campaign.ErrLostRace
}
