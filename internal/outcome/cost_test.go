package outcome_test

import (
	"context"
	crand "crypto/rand"
	"testing"
	"time"

	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
)

type discard struct{}

func (discard) SendAll(context.Context, string, [][]byte) error   { return nil }
func (discard) Put(context.Context, string, []byte, string) error { return nil }
func (discard) Get(context.Context, string) ([]byte, error)       { return nil, campaign.ErrNotFound }

func accept(t *testing.T, store *dynamotest.Store, tenant string, batches int) (accepted []campaign.Batch) {
	t.Helper()
	for range batches {
		b := campaign.Batch{
			BatchRef: campaign.BatchRef{
				ID:      campaign.ID{Tenant: tenant, CampaignID: "0198d3a0-0000-4000-8000-000000000000"[:24] + crand.Text()[:12]},
				BatchID: campaign.BatchID(crand.Text()),
			},
			Accepted: campaign.MaxMessages, AcceptedAt: time.Now(), State: campaign.BatchSending, AgentID: "agent", NextCheck: time.Now().Add(1000 * time.Hour),
			TapKey: []byte("sixteen bytes..."),
		}
		_, _ = crand.Read(b.Key[:])
		err := store.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: crand.Text(), Ordinal: 1, Packed: []byte{0}}, crand.Text())
		if err != nil {
			t.Fatal(err)
		}
		accepted = append(accepted, b)
	}
	return accepted
}
