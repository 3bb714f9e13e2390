// Package control cancels, pauses and resumes campaigns, and reschedules batches.
package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Store reads and changes campaigns.
type Store interface {
	// Campaign returns a campaign with its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Batch returns a batch. The error wraps campaign.ErrNotFound if there is none.
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	// CancelCampaign keeps the first time. The error wraps campaign.ErrNotFound if there is no campaign, or it is being deleted.
	CancelCampaign(ctx context.Context, id campaign.ID, at time.Time, revoke bool) error
	// PauseCampaign returns an error that wraps campaign.ErrLostRace if the campaign is cancelled,
	// campaign.ErrNotFound if it is missing or being deleted, campaign.ErrCompleted, or campaign.ErrTooManyPaused.
	PauseCampaign(ctx context.Context, id campaign.ID, at time.Time) (since time.Time, err error)
	// ResumeCampaign returns an error that wraps campaign.ErrLostRace if the pause since then is over.
	ResumeCampaign(ctx context.Context, id campaign.ID, since time.Time) error
	// CreateCancelled returns an error that wraps campaign.ErrLostRace if the campaign exists.
	CreateCancelled(ctx context.Context, c campaign.Campaign) error
	// Submission returns an error that wraps campaign.ErrNotFound if there is none.
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	// CancelBatch cancels a batch, and keeps the first time. An ended batch is unchanged, which is not an error.
	CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, revoke bool, nextCheck time.Time) error
	// RescheduleBatch changes the due time of a batch that has not changed, and reports whether it did: perhaps false after a
	// lost answer. The error is a *campaign.BudgetError if the budget of the new day has no room.
	RescheduleBatch(ctx context.Context, b campaign.Batch, due, nextCheck time.Time) (bool, error)
	// CheckReservation returns the *campaign.BudgetError of RescheduleBatch and changes nothing.
	CheckReservation(ctx context.Context, b campaign.Batch, due time.Time) error
	// RescheduleCampaign returns the batches that it moved, and whether the campaign was unchanged. The error is a
	// *campaign.BudgetError if the budget of the new day has no room.
	RescheduleCampaign(ctx context.Context, c campaign.Campaign, due, nextCheck time.Time) (moved []campaign.Batch, ok bool, err error)
	// FinishMove returns the batches that an open move had left. The error wraps campaign.ErrNotFound for no campaign.
	FinishMove(ctx context.Context, id campaign.ID, nextCheck func(due time.Time) time.Time) ([]campaign.Batch, error)
	// CheckMove returns the *campaign.BudgetError of RescheduleCampaign and changes nothing.
	CheckMove(ctx context.Context, c campaign.Campaign, due time.Time) error
}

// Service serves the requests that cancel, pause or resume a campaign, or reschedule a batch.
type Service struct {
	Tokens   accesstoken.Authorizer
	Store    Store
	Revokes  port.Queue
	Events   port.Queue // of the outcomes function, which posts the webhooks of pauses
	Releases port.Releases
	Now      func() time.Time
	BaseURL  string        // configured base URL, or ""
	Lead     time.Duration // minimum time from now to a schedule
	// SweepDelay is the delay after which sweep handles a batch that was not released when
	// due, or whose cancellation was not completed.
	SweepDelay time.Duration
}

// Register adds the service's routes to the mux.
func (s *Service) Register(mux *http.ServeMux) {
	const path = "POST /api/v1/external/campaigns/{campaignId}"
	mux.Handle(path+"/cancel", httpapi.HandlerFunc(s.ServeCancel))
	mux.Handle(path+"/pause", httpapi.HandlerFunc(s.ServePause))
	mux.Handle(path+"/resume", httpapi.HandlerFunc(s.ServeResume))
	mux.Handle(path+"/reschedule", httpapi.HandlerFunc(s.ServeReschedule))
}

// open returns the campaign of a request, and whether its sent messages are to be revoked.
func (s *Service) open(r *http.Request) (id campaign.ID, revoke bool, err error) {
	door := accesstoken.Door{Tokens: s.Tokens, BaseURL: s.BaseURL, Scope: account.ScopeDispatch}
	claims, query, err := door.Open(r, switches, httpapi.NoDryRun)
	if err != nil {
		return id, false, err
	}
	revoke, err = query.Switch("revoke")
	return campaign.ID{Tenant: claims.Tenant, CampaignID: r.PathValue("campaignId")}, revoke, err
}

// find reads a campaign, also one that is unsent. The ID's case does not matter.
func (s *Service) find(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	canonical, ok := campaign.ParseUUID(id.CampaignID)
	if !ok {
		return campaign.Campaign{}, httpapi.NoCampaign()
	}
	id.CampaignID = canonical
	c, err := s.Store.Campaign(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return s.Unsent(ctx, id)
	}
	return c, refusal(err)
}

type cancelAnswer struct {
	CampaignID  string `json:"campaignId"`
	Status      string `json:"status"`
	Revoke      bool   `json:"revoke"`
	Sent        int    `json:"sent"`
	Unsent      int    `json:"unsent"`
	NotAccepted int    `json:"notAccepted,omitempty"`
}

// Cancelled is what a cancellation has found.
type Cancelled struct {
	campaign.Cancellation

	Revokes bool // sent messages are revoked too, as this call or an earlier one requested
}

// ServeCancel cancels a campaign; the Canceller completes the cancellation.
func (s *Service) ServeCancel(w http.ResponseWriter, r *http.Request) error {
	id, revoke, err := s.open(r)
	if err != nil {
		return err
	}
	done, err := s.Cancel(r.Context(), id, revoke)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusAccepted, cancelAnswer{id.CampaignID, "cancelling", done.Revokes, done.Sent, done.Unsent(), done.NotAccepted})
	return nil
}

// Cancel cancels a campaign. When Cancel returns, no scheduled batch will be sent; a Canceller
// does the rest. The messages that it stops can include some that are on their way to the
// provider. A refused call returns a *httpapi.Problem.
func (s *Service) Cancel(ctx context.Context, id campaign.ID, revoke bool) (done Cancelled, err error) {
	c, err := s.find(ctx, id)
	if err != nil {
		return done, err
	}
	if err := s.MayCancel(c); err != nil {
		return done, err
	}
	if done.Cancellation, err = s.cancel(ctx, c, revoke); err != nil {
		return done, err
	}
	done.Revokes = revoke || c.Revoke
	slog.InfoContext(ctx, "campaign cancelled", "tenant", c.Tenant, "campaign_id", c.CampaignID,
		"revoke", done.Revokes, "sent", done.Sent, "unsent", done.Unsent())
	return done, nil
}

// MayCancel returns the *httpapi.Problem with which Cancel would refuse the campaign,
// or nil. It changes nothing.
func (*Service) MayCancel(c campaign.Campaign) error {
	if c.Status() == campaign.StatusCompleted {
		return httpapi.Conflict("campaign_completed", "The campaign is completed. There is nothing to cancel.")
	}
	return nil
}

// switches are the query parameters of both calls. dryRun is known only to refuse it.
var switches = httpapi.Parameters{"revoke": "invalid_revoke", "dryRun": "invalid_dry_run"}

// cancel marks the campaign first: no batch is added after that. It returns when the
// task is queued and every batch is marked, so that sweep finds the unreleased batches
// even if the task is lost. After a crash, the task or the client's retry completes the
// steps.
func (s *Service) cancel(ctx context.Context, c campaign.Campaign, revoke bool) (found campaign.Cancellation, err error) {
	if err := s.mark(ctx, c, revoke); err != nil {
		return found, fmt.Errorf("control: %w", err)
	}
	if err := s.queue(ctx, c.ID, 0); err != nil {
		return found, err
	}
	if c, err = s.Store.Campaign(ctx, c.ID); err != nil {
		return found, fmt.Errorf("control: %w", err)
	}
	return c.Cancellation(), cancelBatches(ctx, s.Store.CancelBatch, c, s.Now().Add(s.SweepDelay))
}

// queue queues the task that completes what is open of a campaign.
func (s *Service) queue(ctx context.Context, id campaign.ID, delay time.Duration) error {
	task := campaign.RevokeTask{BatchRef: campaign.BatchRef{ID: id}}
	if err := port.Send(ctx, s.Revokes, id.Tenant, task, delay); err != nil {
		return fmt.Errorf("queue the task of campaign %s: %w", id.CampaignID, err)
	}
	return nil
}

// refusal returns a *httpapi.Problem for an exceeded budget and a lost race.
func refusal(err error) error {
	full, exceeded := errors.AsType[*campaign.BudgetError](err)
	switch {
	case err == nil:
		return nil
	case exceeded:
		return budgetExceeded(full.Budget)
	case errors.Is(err, campaign.ErrLostRace):
		return httpapi.TryAgain()
	}
	return fmt.Errorf("control: %w", err)
}

// Unsent returns the campaign of a file that is to be sent, before its first part is accepted. A
// missing one returns a *httpapi.Problem.
func (s *Service) Unsent(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	sub, err := s.Store.Submission(ctx, id)
	if err == nil && !sub.Begun() {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return campaign.Campaign{}, httpapi.Missing("control", err, httpapi.NoCampaign())
	}
	return campaign.Campaign{ID: id, Name: sub.Name, AskedBy: sub.Approval.Asker(), Submission: sub.Totals()}, nil
}

// accepted refuses a new time for a campaign before its first part is accepted.
func accepted(c campaign.Campaign) error {
	if !c.Unsent() {
		return nil
	}
	problem := httpapi.Refuse(http.StatusConflict, "/campaignId", "campaign_not_accepted",
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
