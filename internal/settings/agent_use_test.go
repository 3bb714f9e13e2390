package settings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
)

// history has the campaigns of one tenant, of one batch each, newest first.
type history struct {
	settings.TenantStore
	batches []campaign.Batch
	gone    []int // campaigns that were deleted after they were listed
	err     error
}

func (h history) ListCampaigns(_ context.Context, tenant, after string, limit int32) ([]campaign.Listed, error) {
	first := 0
	if after != "" {
		first, _ = strconv.Atoi(after)
	}
	var page []campaign.Listed
	for i := first; i < min(first+int(limit), len(h.batches)); i++ {
		page = append(page, campaign.Listed{ID: campaign.ID{Tenant: tenant, CampaignID: strconv.Itoa(i)}, Cursor: strconv.Itoa(i + 1)})
	}
	return page, nil
}

func (h history) BatchAgents(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	i, _ := strconv.Atoi(id.CampaignID)
	if slices.Contains(h.gone, i) {
		return campaign.Campaign{}, fmt.Errorf("campaign %d: %w", i, campaign.ErrNotFound)
	}
	return campaign.Campaign{ID: id, Batches: []campaign.BatchProgress{{Batch: h.batches[i]}}}, h.err
}

func (h history) use(t *testing.T, agent string) (account.Use, error) {
	t.Helper()
	return (&settings.Service{Store: settings.Store{Tenants: h}}).AgentUse(t.Context(), "acme", agent)
}

// The use of an agent counts the batches on all pages of campaigns.
func TestAgentUse(t *testing.T) {
	t.Parallel()
	h := history{batches: make([]campaign.Batch, 250)} // three pages
	for i := range h.batches {
		h.batches[i] = campaign.Batch{AgentID: "another"}
	}
	last := time.Unix(2, 0)
	h.batches[0] = campaign.Batch{AgentID: "a", ClosedAt: time.Unix(1, 0)}
	h.batches[120] = campaign.Batch{AgentID: "a", ClosedAt: last}
	h.batches[130], h.batches[249] = campaign.Batch{AgentID: "a"}, campaign.Batch{AgentID: "a"}
	h.batches[3] = campaign.Batch{AgentID: "a"}
	h.gone = []int{3}
	for agent, want := range map[string]account.Use{
		"a": {Open: 2, ClosedAt: last}, "another": {Open: 245}, "unused": {},
	} {
		if use, err := h.use(t, agent); use != want || err != nil {
			t.Errorf("use of %s: %+v, error %v; want %+v", agent, use, err, want)
		}
	}
}

// An agent whose use cannot be read is not free.
func TestAgentUse_ReadFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	h := history{batches: make([]campaign.Batch, 3), err: broken}
	if use, err := h.use(t, "a"); !errors.Is(err, broken) {
		t.Errorf("use %+v, error %v; want the error of the read", use, err)
	}
}
