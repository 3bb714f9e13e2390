package sweep_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/sweep"
)

func (m mortal) RescheduleCampaign(ctx context.Context, c campaign.Campaign, due, next time.Time) (moved []campaign.Batch, ok bool, err error) {
	err = m.w.death.call("RescheduleCampaign", func() error {
		moved, ok, err = m.w.store.RescheduleCampaign(ctx, c, due, next)
		return err
	})
	return moved, ok, err
}

func (m mortal) FinishMove(ctx context.Context, id campaign.ID, next func(time.Time) time.Time) ([]campaign.Batch, error) {
	return call(m, "FinishMove", func() ([]campaign.Batch, error) { return m.w.store.FinishMove(ctx, id, next) })
}

func (mortal) CheckMove(context.Context, campaign.Campaign, time.Time) error {
	return errors.ErrUnsupported
}

// A campaign was rescheduled and the process ended before all rows had the new time, and the
// task is lost. The trigger of the old time sends nothing, sweep finds the rest, and
// everything is sent once, after the new time.
func TestSweep_LostMoveTask(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.provider.answers = false
	old, due := w.clock().Add(time.Hour), w.clock().Add(3*time.Hour)
	var last campaign.Batch
	const batches = campaign.MovedAtOnce + 1
	id := campaign.ID{Tenant: w.tenant, CampaignID: uuid()}
	for ordinal := range batches {
		last = w.accept(1, func(b *campaign.Batch) {
			b.ID, b.Ordinal, b.Scheduled, b.Due, b.NextCheck = id, ordinal+1, true, old, old.Add(2*time.Minute)
		})
	}
	c, err := w.store.Campaign(t.Context(), id)
	w.must(err)
	if _, ok, err := w.store.RescheduleCampaign(t.Context(), c, due, due); err != nil || !ok {
		t.Fatal(ok, err)
	}

	w.advance(time.Hour)
	w.handOff(last)
	for w.step() {
	}
	if now := w.batch(last); now.State != campaign.BatchPending || !now.Unmoved || !now.Due.Equal(due) {
		t.Fatalf("after the old time: %s, unmoved %v, due at %v", now.State, now.Unmoved, now.Due)
	}
	w.advance(3 * time.Minute)
	w.attempt(func(ctx context.Context) { w.must(w.sweeper().Sweep(ctx, sweep.Section{})) })
	for w.step() {
	}
	if now := w.batch(last); now.Unmoved || now.State != campaign.BatchPending {
		t.Fatalf("after sweep: %s, unmoved %v", now.State, now.Unmoved)
	}
	if n := len(w.provider.taken); n > 0 {
		t.Fatalf("%d messages were sent before the new time", n)
	}
	w.run(last, 2*time.Hour)
	for w.clock().Before(due.Add(5 * time.Minute)) {
		w.advance(time.Minute)
		w.attempt(func(ctx context.Context) { w.must(w.sweeper().Sweep(ctx, sweep.Section{})) })
		for w.step() {
		}
	}
	if n := len(w.provider.taken); n != batches {
		t.Errorf("%d messages were sent, want %d", n, batches)
	}
}
