package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

func (r *shardSweep) processSubmission(ctx context.Context, id campaign.ID) {
	result, err := r.sweeper.sweepSubmission(ctx, id)
	if err != nil {
		slog.ErrorContext(ctx, "processing due submission failed", "tenant", id.Tenant, "campaign_id", id.CampaignID, "error", err)
		result = failed
	}
	r.actions[result]++
}

// sweepSubmission queues the lost task of a submission again, and discards a submission that has
// expired. The row is saved first, so that its worker, if it still runs, stops instead of the one of
// the new task.
func (s *Sweeper) sweepSubmission(ctx context.Context, id campaign.ID) (action, error) {
	sub, err := s.Store.Submission(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return over, nil
	}
	if err != nil {
		return failed, err
	}
	if check := sub.NextCheck(sub.UpdatedAt); check.IsZero() || check.After(s.Now()) { // the index is outdated
		return postponed, nil
	}
	result := continued
	if sub.Repairs++; !sub.Closed() && !s.Now().Before(sub.FilesUntil()) {
		sub, result = sub.Close(submission.StateDiscarded), expired
		slog.InfoContext(ctx, "submission expired", "tenant", id.Tenant, "campaign_id", id.CampaignID)
	}
	if _, err := s.Store.SaveSubmission(ctx, sub); errors.Is(err, campaign.ErrLostRace) {
		return postponed, nil
	} else if err != nil {
		return failed, err
	}
	bodies, err := campaign.Bodies([]submission.Task{{Tenant: id.Tenant, CampaignID: id.CampaignID}})
	if err != nil {
		return failed, err
	}
	if err := s.Intake.SendAll(ctx, id.Tenant, bodies); err != nil {
		return failed, fmt.Errorf("queue the task of submission %s: %w", id.CampaignID, err)
	}
	return result, nil
}
