package control

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
)

const (
	// moveMargin is the minimum time to the old due time of batches whose rows change after
	// the campaign's. A release that reads the old time then finds it in the future.
	moveMargin = time.Minute
	// moveDelay is the delay of the task that finishes a move if the call does not.
	moveDelay = 30 * time.Second
)

// MayRescheduleCampaign returns the time to which RescheduleCampaign would reschedule the
// campaign, and changes nothing. A call that it would refuse returns its *httpapi.Problem.
func (s *Service) MayRescheduleCampaign(ctx context.Context, c campaign.Campaign, schedule, plan string) (time.Time, error) {
	due, err := s.parseSchedule(schedule)
	if err == nil {
		err = s.checkMove(c, due, plan)
	}
	if err == nil {
		err = refusal(s.Store.CheckMove(ctx, c, due))
	}
	return due, err
}

// RescheduleCampaign reschedules all unreleased batches of a campaign, or none. plan is the
// campaign.Plan that the caller has seen. schedule has the format of a dispatch call. A refused
// call returns a *httpapi.Problem.
func (s *Service) RescheduleCampaign(ctx context.Context, id campaign.ID, schedule, plan string) (time.Time, error) {
	due, err := s.parseSchedule(schedule)
	if err != nil {
		return due, err
	}
	c, err := s.findMoved(ctx, id)
	if err != nil {
		return due, err
	}
	if err := s.checkMove(c, due, plan); err != nil || c.WaitsFor(due) {
		return due, err
	}
	if len(c.Unreleased()) > campaign.MovedAtOnce { // a task finishes the move if this call does not
		if err := s.queue(ctx, c.ID, moveDelay); err != nil {
			return due, err
		}
	}
	moved, ok, err := s.Store.RescheduleCampaign(ctx, c, due, due.Add(s.SweepDelay))
	if err != nil {
		return due, refusal(err)
	}
	if !ok {
		return due, s.whyUnmoved(ctx, id, due, plan)
	}
	slog.InfoContext(ctx, "campaign rescheduled", "tenant", c.Tenant, "campaign_id", c.CampaignID, "batches", len(c.Unreleased()))
	s.finishMove(ctx, c, moved)
	return due, nil
}

// findMoved reads a campaign that may get a new time, after it has finished an open move.
func (s *Service) findMoved(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	c, err := s.find(ctx, id)
	if err == nil {
		err = accepted(c)
	}
	if err != nil || !c.Move.Open {
		return c, err
	}
	moved, err := s.Store.FinishMove(ctx, c.ID, s.checkAfter)
	if err != nil {
		return c, fmt.Errorf("control: %w", err)
	}
	s.scheduleAll(ctx, moved)
	return s.find(ctx, id)
}

// checkAfter returns when sweep checks a batch with a schedule.
func (s *Service) checkAfter(due time.Time) time.Time { return due.Add(s.SweepDelay) }

// checkMove returns the *httpapi.Problem of a campaign that cannot be rescheduled to due.
func (s *Service) checkMove(c campaign.Campaign, due time.Time, plan string) error {
	unreleased := c.Unreleased()
	switch {
	case !c.CancelledAt.IsZero():
		return cancelled()
	case c.Started(), len(unreleased) == 0:
		return httpapi.Refuse(http.StatusConflict, "/campaignId", "campaign_started", "the campaign is already being sent")
	case plan != c.Plan() && !c.WaitsFor(due): // a repeated call changes nothing
		return httpapi.Refuse(http.StatusConflict, "/campaignId", "campaign_changed", "the campaign was changed in between")
	}
	for i, b := range unreleased {
		if err := checkDue(b, due); err != nil {
			return err
		}
		if i >= campaign.MovedAtOnce && b.Due.Before(s.Now().Add(moveMargin)) {
			return httpapi.Refuse(http.StatusConflict, "/campaignId", "campaign_starting", "the campaign starts within a minute")
		}
	}
	return nil
}

// finishMove changes the rows of the other batches, then schedules all. The campaign has its new
// time already: after an error, a Canceller and sweep do the rest.
func (s *Service) finishMove(ctx context.Context, c campaign.Campaign, moved []campaign.Batch) {
	if len(moved) < len(c.Unreleased()) {
		rest, err := s.Store.FinishMove(ctx, c.ID, s.checkAfter)
		if err != nil {
			slog.WarnContext(ctx, "moving the rest of a campaign failed, will retry", "campaign_id", c.CampaignID, "error", err)
		}
		moved = append(moved, rest...)
	}
	s.scheduleAll(ctx, moved)
}

func (s *Service) scheduleAll(ctx context.Context, batches []campaign.Batch) {
	var group errgroup.Group
	group.SetLimit(batchesAtOnce)
	for _, b := range batches {
		group.Go(func() error {
			s.schedule(ctx, b)
			return nil
		})
	}
	_ = group.Wait()
}

// schedule schedules the release of a batch. If that fails, sweep releases the batch.
func (s *Service) schedule(ctx context.Context, b campaign.Batch) {
	if err := s.Releases.Schedule(ctx, b); err != nil {
		slog.WarnContext(ctx, "scheduling the release failed; sweep will release the batch", "batch_id", b.BatchID, "error", err)
	}
}

// whyUnmoved returns the reason why a campaign that changed concurrently was not moved.
func (s *Service) whyUnmoved(ctx context.Context, id campaign.ID, due time.Time, plan string) error {
	c, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	if err := s.checkMove(c, due, plan); err != nil || c.WaitsFor(due) {
		return err
	}
	return httpapi.TryAgain()
}
