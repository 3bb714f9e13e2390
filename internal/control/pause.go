package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/httpapi"
)

type pauseAnswer struct {
	CampaignID string          `json:"campaignId"`
	Status     campaign.Status `json:"status"`
	PausedAt   time.Time       `json:"pausedAt,omitzero"`
}

// ServePause pauses a campaign.
func (s *Service) ServePause(w http.ResponseWriter, r *http.Request) error {
	return s.servePause(w, r, s.Pause)
}

// ServeResume ends the pause of a campaign.
func (s *Service) ServeResume(w http.ResponseWriter, r *http.Request) error {
	return s.servePause(w, r, s.Resume)
}

func (s *Service) servePause(
	w http.ResponseWriter, r *http.Request, change func(context.Context, campaign.ID) (campaign.Campaign, error),
) error {
	id, _, err := s.open(r)
	if err != nil {
		return err
	}
	c, err := change(r.Context(), id)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, pauseAnswer{id.CampaignID, c.Status(), c.PausedSince()})
	return nil
}

// announce queues the webhook of a pause or its end. A repeated call queues the same event.
func (s *Service) announce(ctx context.Context, c campaign.Campaign, kind reaction.EventKind, at time.Time) error {
	id := campaign.Digest(strings.Join([]string{c.Tenant, c.CampaignID, string(kind), strconv.FormatInt(c.PausedAt.UnixMilli(), 10)}, "#"))
	if err := port.Send(ctx, s.Events, "", reaction.EventTask{Kind: kind, EventID: id, At: at.UTC(), Campaign: c.ID}, 0); err != nil {
		return fmt.Errorf("queue the event of campaign %s: %w", c.CampaignID, err)
	}
	return nil
}

// Pause pauses a campaign, and returns it. Its messages are not sent until Resume, and end when their
// notAfter passes. Its completion and its cancellation end the pause. Parts of its file and other batches
// are still accepted. A refused call returns a *httpapi.Problem.
func (s *Service) Pause(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	c, err := s.find(ctx, id)
	if err == nil {
		err = s.MayPause(c)
	}
	if err == nil && c.PausedAt.IsZero() {
		c, err = s.pause(ctx, c)
	}
	if err != nil {
		return c, err
	}
	return c, s.announce(ctx, c, reaction.EventPaused, c.PausedAt)
}

func (s *Service) pause(ctx context.Context, c campaign.Campaign) (campaign.Campaign, error) {
	since, err := s.Store.PauseCampaign(ctx, c.ID, s.Now().Truncate(time.Millisecond))
	if errors.Is(err, campaign.ErrTooManyPaused) {
		return c, httpapi.Conflict("too_many_paused", fmt.Sprintf("The company has %d paused campaigns. Resume or cancel some.", campaign.MaxPaused))
	}
	if errors.Is(err, campaign.ErrCompleted) { // since it was read
		return c, nothingToPause()
	}
	if errors.Is(err, campaign.ErrNotFound) { // its retention has ended since it was read
		return c, httpapi.NoCampaign()
	}
	if err != nil {
		return c, refusal(err)
	}
	slog.InfoContext(ctx, "campaign paused", "tenant", c.Tenant, "campaign_id", c.CampaignID)
	c.PausedAt = since
	return c, nil
}

// MayPause returns the *httpapi.Problem with which Pause would refuse the campaign, or nil. It changes nothing.
func (*Service) MayPause(c campaign.Campaign) error {
	switch {
	case !c.CancelledAt.IsZero():
		return cancelled()
	case c.Unsent():
		return accepted(c)
	case c.Status() == campaign.StatusCompleted:
		return nothingToPause()
	}
	return nil
}

func nothingToPause() error {
	return httpapi.Conflict("campaign_completed", "The campaign is completed. There is nothing to pause.")
}

// Resume ends the pause of a campaign, and returns it. Sweep queues its messages within two minutes. A campaign
// that is not paused stays as it is. The webhook is queued first, because a repeated call finds no pause.
func (s *Service) Resume(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	c, err := s.find(ctx, id)
	if err != nil || c.PausedAt.IsZero() {
		return c, err
	}
	if err := s.announce(ctx, c, reaction.EventResumed, s.Now()); err != nil {
		return c, err
	}
	err = s.Store.ResumeCampaign(ctx, c.ID, c.PausedAt)
	if errors.Is(err, campaign.ErrLostRace) { // a concurrent call resumed it, and a newer pause stays
		return s.find(ctx, c.ID)
	}
	if err != nil {
		return c, refusal(err)
	}
	c.PausedAt = time.Time{}
	slog.InfoContext(ctx, "campaign resumed", "tenant", c.Tenant, "campaign_id", c.CampaignID)
	return c, nil
}
