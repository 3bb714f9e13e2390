package dispatch_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/privacy/expiry"
)

func (b *bench) at(now time.Time) {
	b.now, b.Now = now, func() time.Time { return now }
	b.store.Set(func(tables *dynamo.Tables) { tables.Now = b.Now })
}

// A campaign's numbers outlive its batches until the campaign ends. A new campaign with
// the same id starts empty, also in a process that has cached the old numbers.
func TestServeDispatch_LongLivedCampaign(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	begun := b.now
	call := fields{"campaignId": newUUID(), "name": "natal", "batch": "1", "messages": messages(11987654321, 2)}
	b.post(b.body(call)).accepted(t)
	next := merge(call, fields{"batch": "2", "messages": messages(21987654321, 1)})
	b.at(begun.Add(campaign.Retention - time.Hour))
	b.post(b.body(next)).accepted(t)

	b.at(begun.Add(campaign.Retention))
	b.post(b.body(merge(call, fields{"batch": "3"}))).want(t, http.StatusConflict, "number_already_dispatched")
	b.post(b.body(merge(call, fields{"messages": messages(31987654321, 1)}))).accepted(t) // batch 1 has expired
	b.post(b.body(merge(next, fields{"messages": messages(41987654321, 1)}))).want(t, http.StatusConflict, "batch_already_used")

	b.at(begun.Add(2 * campaign.Retention))
	id := campaign.ID{Tenant: b.tenant, CampaignID: call["campaignId"].(string)}
	expirer := &expiry.Expirer{Store: b.store, Now: b.store.Tables().Now}
	if deleted, err := expirer.ExpireIfDue(t.Context(), id); err != nil || !deleted {
		t.Fatalf("deleted: %v, %v", deleted, err)
	}
	b.post(b.body(merge(call, fields{"name": "another"}))).accepted(t)
	b.post(b.body(merge(next, fields{"name": "another"}))).accepted(t)
	b.post(b.body(merge(next, fields{"name": "another", "batch": "3"}))).want(t, http.StatusConflict, "number_already_dispatched")
	b.post(b.body(fields{"name": "natal"})).accepted(t)
}

// A campaign that is being deleted accepts no batch, and its ID and name are not free
// yet.
func TestServeDispatch_CampaignBeingDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := fields{"campaignId": newUUID(), "name": "natal", "batch": "1"}
	b.post(b.body(call)).accepted(t)
	id := campaign.ID{Tenant: b.tenant, CampaignID: call["campaignId"].(string)}
	b.at(b.now.Add(campaign.Retention))
	l, err := b.store.Lifetime(t.Context(), id)
	b.must(err)
	_, err = b.store.StartExpiry(t.Context(), l, b.now)
	b.must(err)
	waiting, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(waiting, http.MethodPost, "/", strings.NewReader(b.body(call)))
	httpapi.HandlerFunc(b.ServeDispatch).ServeHTTP(answer, r)
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
		t.Errorf("answered %d %s, want 503 with Retry-After", answer.Code, answer.Body)
	}
	if deleted, err := (&expiry.Expirer{Store: b.store, Now: b.store.Tables().Now}).ExpireIfDue(t.Context(), id); err != nil || !deleted {
		t.Fatalf("deleted: %v, %v", deleted, err)
	}
	b.post(b.body(call)).accepted(t)
}
