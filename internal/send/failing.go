package send

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
)

// attemptGap is the maximum time between two attempts of an active batch: the longest retry
// delay, plus the time until sweep requeues lost frames. Longer gaps are pauses, rate
// limiting or queue backlogs.
func (s *Sender) attemptGap() time.Duration { return maxDelay + s.SweepAfter }

// countFailures updates how long the batch has been failing, and ends the run's messages
// after campaign.MaxFailingTime. A sent or permanently refused message resets the count.
//
// Call it before recording outcomes: after a crash between the two, the messages have no
// outcome yet, so the task runs again and resets the failing time.
func (s *Sender) countFailures(ctx context.Context, r *run) error {
	failed, failing := r.notAccepted(), r.batch.FailingTime
	answered := int(r.answered.Load())
	switch {
	case answered == 0 || !r.batch.NotAfter.IsZero() || !r.cancelledAt.IsZero():
		return nil
	case failed < answered:
		return s.clearFailingTime(ctx, r)
	case failing.TooLong():
		return s.giveUp(ctx, r)
	}
	s.addFailure(ctx, r)
	return nil
}

func (r *run) notAccepted() (n int) {
	for _, j := range r.jobs() {
		if j.code != "" {
			n++
		}
	}
	return n
}

// clearFailingTime resets the batch's failing time on the run's first success. It does not wait
// for the end of the run, because a concurrent run could end the batch.
func (s *Sender) clearFailingTime(ctx context.Context, r *run) error {
	r.clearing.Do(func() {
		if r.batch.FailingTime != (campaign.FailingTime{}) {
			_, r.clearErr = s.Store.SetFailingTime(ctx, r.batch, campaign.FailingTime{})
		}
	})
	return r.clearErr
}

// addFailure updates the failing time at most once per SweepAfter/2. A lost update only
// delays the count, so errors are logged.
func (s *Sender) addFailure(ctx context.Context, r *run) {
	now, failing := s.Now(), r.batch.FailingTime
	if now.Sub(failing.At) < s.SweepAfter/2 {
		return
	}
	if _, err := s.Store.SetFailingTime(ctx, r.batch, failing.After(now, s.attemptGap())); err != nil {
		slog.WarnContext(ctx, "updating failing time of batch failed", "batch_id", r.batch.BatchID, "error", err)
	}
}

// giveUp ends all messages of the run as failed, unless a concurrent run had a success.
func (s *Sender) giveUp(ctx context.Context, r *run) error {
	b, err := s.Store.Batch(ctx, r.batch.BatchRef)
	if err != nil {
		return fmt.Errorf("end failing batch: %w", err)
	}
	if !b.FailingTime.TooLong() {
		return nil
	}
	for _, f := range r.frameRuns {
		f.current, f.postponed = append(f.current, f.postponed...), nil
	}
	r.setOutcomes(campaign.OutcomeFailed, campaign.CodeNotSentInTime, s.Now())
	slog.WarnContext(ctx, "batch failing for 72 hours; messages of this run end as failed",
		"tenant", r.batch.Tenant, "campaign_id", r.batch.CampaignID, "batch_id", r.batch.BatchID)
	return nil
}
