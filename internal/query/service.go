// Package query serves the progress of a campaign, the status of each message, the
// events of each batch, and the error files of dispatch calls.
package query

import (
	"context"
	"net/http"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
)

// Store reads campaigns and their ledger.
type Store interface {
	ledger.TapLogs
	port.SentBatches

	// Campaign returns a campaign with its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Standings returns the summaries of at most 50 campaigns.
	Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error)
	// BatchProgress returns the first existing batch of the IDs. The error wraps campaign.ErrNotFound if there is no campaign.
	BatchProgress(ctx context.Context, id campaign.ID, batchIDs ...string) (p campaign.BatchProgress, found bool, err error)
	// PackedSets returns the numbers of each batch of a campaign.
	PackedSets(ctx context.Context, id campaign.ID) ([]acceptance.PackedSet, error)
	// Latest returns the last change of each message of a batch, by index. A message
	// without changes has the zero Change.
	Latest(ctx context.Context, b campaign.Batch) ([]campaign.Change, error)
	// Changes returns up to limit changes after a sequence. The error wraps campaign.ErrExpired if the batch has expired.
	Changes(ctx context.Context, b campaign.Batch, after, limit int) ([]campaign.Change, error)
	// TenantHours returns the hours of a tenant, zero for none. The error wraps campaign.ErrDamaged if they cannot be read.
	TenantHours(ctx context.Context, tenant string) (reach.TenantHours, error)
	// Lists returns the lists of a tenant, deleted ones included, ordered by name.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
}

// Service serves the requests that read a campaign.
type Service struct {
	Tokens  accesstoken.Authorizer
	Store   Store
	Blobs   payload.Blobs
	BaseURL string // configured base URL, or ""
	Now     func() time.Time

	answers answers
}

// Register adds the service's routes to the mux.
func (s *Service) Register(mux *http.ServeMux) {
	const path = "GET /api/v1/external/campaigns/{campaignId}"
	mux.Handle(path, httpapi.HandlerFunc(s.ServeCampaign))
	mux.Handle(path+"/messages", httpapi.HandlerFunc(s.ServeMessages))
	mux.Handle(path+"/batches/{batch}/events", httpapi.HandlerFunc(s.ServeEvents))
}

func (s *Service) open(r *http.Request, known httpapi.Parameters) (campaign.Campaign, httpapi.Query, error) {
	id, query, err := s.authorize(r, known)
	if err != nil {
		return campaign.Campaign{}, query, err
	}
	c, err := s.Store.Campaign(r.Context(), id)
	return c, query, httpapi.Missing("read campaign", err, httpapi.NoCampaign())
}

func (s *Service) authorize(r *http.Request, known httpapi.Parameters) (campaign.ID, httpapi.Query, error) {
	door := accesstoken.Door{Tokens: s.Tokens, BaseURL: s.BaseURL, Scope: account.ScopeDispatch}
	claims, query, err := door.Open(r, known, httpapi.NoDryRun)
	if err != nil {
		return campaign.ID{}, query, err
	}
	id, ok := campaign.ParseUUID(r.PathValue("campaignId"))
	if !ok {
		return campaign.ID{}, query, httpapi.NoCampaign()
	}
	return campaign.ID{Tenant: claims.Tenant, CampaignID: id}, query, nil
}

func (s *Service) openBatch(r *http.Request, known httpapi.Parameters) (campaign.BatchProgress, httpapi.Query, error) {
	id, query, err := s.authorize(r, known)
	if err != nil {
		return campaign.BatchProgress{}, query, err
	}
	b, found, err := s.Store.BatchProgress(r.Context(), id, campaign.BatchIDs(r.PathValue("batch"))...)
	if err == nil && !found {
		return b, query, httpapi.NoBatch()
	}
	return b, query, httpapi.Missing("read batch", err, httpapi.NoCampaign())
}
