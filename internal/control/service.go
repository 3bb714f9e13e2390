// Package control cancels campaigns and gives batches another time.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Tokens tells whose a request's access token is.
type Tokens interface {
	Authorize(r *http.Request, issuer, scope string) (accesstoken.Claims, error)
}

// Store keeps campaigns.
type Store interface {
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	CancelCampaign(ctx context.Context, id campaign.ID, at time.Time, revoke bool) error
	CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, takeBack bool, nextCheck time.Time) error
	Reschedule(ctx context.Context, b campaign.Batch, due, nextCheck time.Time) (bool, error)
}

// Queue takes the tasks of cancelling and revoking.
type Queue interface {
	Send(ctx context.Context, group string, body []byte, delay time.Duration) error
}

// Releases passes a batch on to be released when it is due.
type Releases interface {
	Schedule(ctx context.Context, b campaign.Batch) error
}

// Service answers the requests that control a campaign.
type Service struct {
	Tokens   Tokens
	Store    Store
	Queue    Queue
	Releases Releases
	Now      func() time.Time
	BaseURL  string        // configured address of the service, or ""
	Lead     time.Duration // a schedule is at least this far ahead
	// Grace is how long after its due time an unreleased batch is left to the
	// hand-off, and one that was cancelled to its task, before sweep takes care of
	// it.
	Grace time.Duration
}

// Register adds the service's routes to the mux.
func (s *Service) Register(mux *http.ServeMux) {
	const path = "POST /api/v1/external/campaigns/{campaignId}"
	mux.Handle(path+"/cancel", httpapi.HandlerFunc(s.ServeCancel))
	mux.Handle(path+"/reschedule", httpapi.HandlerFunc(s.ServeReschedule))
}

// tenant authorizes a request.
func (s *Service) tenant(r *http.Request) (string, error) {
	claims, err := s.Tokens.Authorize(r, httpapi.BaseURL(r, s.BaseURL), campaign.ScopeDispatch)
	return claims.Tenant, err
}

// find reads the campaign of that id, in whatever case a client writes it.
func (s *Service) find(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	canonical, ok := campaign.ParseCampaignID(id.CampaignID)
	if !ok {
		return campaign.Campaign{}, noCampaign()
	}
	c, err := s.Store.Campaign(ctx, campaign.ID{Tenant: id.Tenant, CampaignID: canonical})
	if errors.Is(err, campaign.ErrNotFound) {
		return campaign.Campaign{}, noCampaign()
	}
	if err != nil {
		return campaign.Campaign{}, fmt.Errorf("control: %w", err)
	}
	return c, nil
}

func noCampaign() *httpapi.Problem {
	return &httpapi.Problem{Status: http.StatusNotFound, Code: "campaign_not_found", Detail: "There is no campaign of this id."}
}

type cancelAnswer struct {
	CampaignID string `json:"campaignId"`
	Status     string `json:"status"`
	Revoke     bool   `json:"revoke"`
}

// ServeCancel begins the cancelling of a campaign.
func (s *Service) ServeCancel(w http.ResponseWriter, r *http.Request) error {
	tenant, err := s.tenant(r)
	if err != nil {
		return err
	}
	revoke, err := readSwitches(r)
	if err != nil {
		return err
	}
	id := r.PathValue("campaignId")
	if revoke, err = s.Cancel(r.Context(), campaign.ID{Tenant: tenant, CampaignID: id}, revoke); err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusAccepted, cancelAnswer{id, "cancelling", revoke})
	return nil
}

// Cancel begins the cancelling of a campaign, and reports whether what the provider
// has is taken back, too, as this call asks or one before did. From its answer on
// no batch that had to wait for its time is sent; a Canceller does the rest. The
// error of a refused call is a *httpapi.Problem.
func (s *Service) Cancel(ctx context.Context, id campaign.ID, revoke bool) (revokes bool, err error) {
	c, err := s.find(ctx, id)
	if err != nil {
		return false, err
	}
	if err := s.MayCancel(c); err != nil {
		return false, err
	}
	if err := s.cancel(ctx, c.ID, revoke); err != nil {
		return false, err
	}
	revokes = revoke || c.Revoke
	slog.InfoContext(ctx, "campaign cancelled", "tenant", c.Tenant, "campaign_id", c.CampaignID, "revoke", revokes)
	return revokes, nil
}

// MayCancel tells by a *httpapi.Problem why Cancel would refuse a campaign, and
// changes nothing.
func (*Service) MayCancel(c campaign.Campaign) error {
	if c.Status() == campaign.StatusCompleted {
		return &httpapi.Problem{
			Status: http.StatusConflict, Code: "campaign_completed",
			Detail: "The campaign is completed: there is nothing left to cancel.",
		}
	}
	return nil
}

// switches of the calls that change a campaign. None of them has a dry run: they
// know its name to refuse it.
var switches = httpapi.Parameters{"revoke": "invalid_revoke", "dryRun": "invalid_dry_run"}

func readSwitches(r *http.Request) (revoke bool, err error) {
	query, err := switches.Read(r)
	if err != nil {
		return false, err
	}
	dryRun, err := query.Switch("dryRun")
	if err != nil {
		return false, err
	}
	if dryRun {
		return false, &httpapi.Problem{
			Status: http.StatusBadRequest, Code: "invalid_dry_run", Detail: "This call has no dry run. Nothing was changed.",
		}
	}
	return query.Switch("revoke")
}

// cancel closes the campaign first: the batches that are read after that are all
// it will ever have. The task does again what is done here, and all the rest,
// should this call die. It returns only when the task is queued and every batch is
// marked: a client that got no answer before has to repeat its call, and for one
// that got it sweep finds by its mark each batch that was never released, even if
// the task is lost.
func (s *Service) cancel(ctx context.Context, id campaign.ID, revoke bool) error {
	at := s.Now()
	if err := s.Store.CancelCampaign(ctx, id, at, revoke); err != nil {
		return fmt.Errorf("control: %w", err)
	}
	body, err := json.Marshal(campaign.RevokeTask{BatchRef: campaign.BatchRef{ID: id}})
	if err != nil {
		return fmt.Errorf("write a task: %w", err)
	}
	if err := s.Queue.Send(ctx, id.Tenant, body, 0); err != nil {
		return fmt.Errorf("queue the cancelling of campaign %s: %w", id.CampaignID, err)
	}
	c, err := s.Store.Campaign(ctx, id)
	if err != nil {
		return fmt.Errorf("control: %w", err)
	}
	return cancelBatches(ctx, s.Store, c, s.Now().Add(s.Grace))
}
