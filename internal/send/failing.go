package send

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
)

// codeNotSentInTime is the code of what the provider did not take within
// campaign.MaxFailing of attempts.
const codeNotSentInTime = "not_sent_in_time"

// attemptGap is the longest time between two attempts of a batch that nothing
// holds back: what a failed attempt may be delayed by, and the time after which
// sweep queues what has no task any more. Longer gaps are pauses, turns of the
// agent's rate that are far away, or a backlog of the queue.
func (s *Sender) attemptGap() time.Duration { return maxDelay + s.SweepAfter }

// countFailures keeps on the batch for how long its attempts have failed, and ends
// the run's messages once that is too long. Any answer for good begins anew: a
// message that was taken, or one that was refused for its own sake.
//
// It comes before recording: a run that dies in between is repeated, and its success
// is not lost.
func (s *Sender) countFailures(ctx context.Context, r *run) error {
	failed, failing := r.untaken(), r.batch.Failing
	answered := int(r.answered.Load())
	switch {
	case answered == 0 || !r.batch.NotAfter.IsZero() || !r.cancelledAt.IsZero():
		return nil
	case failed < answered:
		return s.clearFailing(ctx, r)
	case failing.TooLong():
		return s.giveUp(ctx, r)
	}
	s.addFailure(ctx, r)
	return nil
}

// untaken returns how many messages the provider was asked to take in vain.
func (r *run) untaken() (n int) {
	for _, j := range r.jobs() {
		if j.code != "" {
			n++
		}
	}
	return n
}

// clearFailing forgets the failed attempts before the run's first success. It does
// not wait for the end of the run: another one could give up by then.
func (s *Sender) clearFailing(ctx context.Context, r *run) error {
	r.clearing.Do(func() {
		if r.batch.Failing != (campaign.Failing{}) {
			_, r.clearErr = s.Batches.SetFailing(ctx, r.batch, campaign.Failing{})
		}
	})
	return r.clearErr
}

// addFailure writes seldom. To lose a write costs no more than the time until the
// next one, so it is no failure of the run.
func (s *Sender) addFailure(ctx context.Context, r *run) {
	now, failing := s.Now(), r.batch.Failing
	if now.Sub(failing.At) < s.SweepAfter/2 {
		return
	}
	if _, err := s.Batches.SetFailing(ctx, r.batch, failing.After(now, s.attemptGap())); err != nil {
		slog.WarnContext(ctx, "failed attempts of a batch were not counted", "batch_id", r.batch.BatchID, "error", err)
	}
}

// giveUp ends all messages of the run's parts that have not ended, unless another
// run has had a success meanwhile.
func (s *Sender) giveUp(ctx context.Context, r *run) error {
	b, err := s.Batches.Batch(ctx, r.batch.BatchRef)
	if err != nil {
		return fmt.Errorf("end a batch that fails for too long: %w", err)
	}
	if !b.Failing.TooLong() {
		return nil
	}
	for _, p := range r.parts {
		p.now, p.later = append(p.now, p.later...), nil
	}
	r.settleAll(campaign.OutcomeFailed, codeNotSentInTime, s.Now())
	slog.WarnContext(ctx, "batch gave up after 72 hours of failed attempts, messages of this run end as failed",
		"tenant", r.batch.Tenant, "campaign_id", r.batch.CampaignID, "batch_id", r.batch.BatchID)
	return nil
}
