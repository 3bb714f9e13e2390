package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// Unsent returns the campaign of a file that is to be sent, before its first part is accepted. A
// missing one returns a *httpapi.Problem.
func (s *Service) Unsent(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	sub, err := s.Store.Submission(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && sub.State != submission.StateSending && sub.State != submission.StateInterrupted {
		return campaign.Campaign{}, noCampaign()
	}
	if err != nil {
		return campaign.Campaign{}, fmt.Errorf("control: %w", err)
	}
	return campaign.Campaign{ID: id, Name: sub.Name, AskedBy: sub.Approval.Asker(), Submission: sub.Totals()}, nil
}

// accepted refuses a new time for a campaign before its first part is accepted.
func accepted(c campaign.Campaign) error {
	if !c.Unsent() {
		return nil
	}
	problem := refuse(http.StatusConflict, "/campaignId", "campaign_not_accepted",
		"the campaign's file is not accepted yet: try again in a minute")
	problem.Header = http.Header{"Retry-After": {"60"}}
	return problem
}

// mark marks a campaign as cancelled, and creates it if its file was not sent. If the first part is
// accepted at the same time, the campaign is there.
func (s *Service) mark(ctx context.Context, c campaign.Campaign, revoke bool) error {
	at := s.Now()
	if c.Unsent() {
		c.CancelledAt, c.Revoke = at, revoke
		if err := s.Store.CreateCancelled(ctx, c); !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
	return s.Store.CancelCampaign(ctx, c.ID, at, revoke)
}
