package dispatch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// scheduleTime is the latency of a hand-off to the simulated AWS.
const scheduleTime = 12 * time.Millisecond

// slowReleases takes the time of a hand-off, in a synctest bubble.
type slowReleases struct{}

func (slowReleases) Schedule(context.Context, campaign.Batch) error {
	time.Sleep(scheduleTime)
	return nil
}

// A client's call waits for AWS four times in a row, with a budget, a rate limit and an
// Idempotency-Key too: for its reads, its objects, its transaction and its hand-off. Only
// waiting takes time in the bubble, so any other wait would lengthen the call.
func TestServeDispatch_FourWaits(t *testing.T) {
	t.Parallel()
	for name, room := range map[string]int64{"with a budget": 10, "without a budget": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hotRow{}
				s := hotService(h, room)
				auth := dynamo.NewAuthStore(s.Store.(*dynamotest.Store).Tables())
				s.Releases, s.Tokens = slowReleases{}, holder{claims: accesstoken.Claims{Tenant: "t", ClientID: "c", Scope: account.ScopeDispatch}}
				s.Limiter = &dispatch.Limiter{Limit: acceptance.CallLimit{Rate: 25, Burst: 50}, Calls: auth, Timeout: time.Minute}
				h.rows["CRED#c"] = `{"pk":{"S":"CRED#c"},"tenant":{"S":"t"},"scope":{"S":"` + account.ScopeDispatch + `"}}`
				id := newUUID()
				for batch := range 2 {
					if got, want := h.call(t, s, id, batch), readTime+putTime+transactionTime+scheduleTime; got != want {
						t.Errorf("batch %d took %v, want %v", batch, got, want)
					}
					h.rows["C#t#"+id] = fmt.Sprintf(`{"pk":{"S":"C#t#%s"},"sk":{"S":"META"},"name":{"S":"n"},"batches":{"N":"1"},"createdAt":{"N":"%d"}}`, id, s.Now().UnixMilli())
				}
				if room > 0 && h.used == 0 {
					t.Error("nothing is reserved from the budget")
				}
			})
		})
	}
}

// call dispatches a batch and returns how long it took.
func (h *hotRow) call(t *testing.T, s *dispatch.Service, campaignID string, batch int) time.Duration {
	t.Helper()
	body := encode(t, fields{
		"campaignId": campaignID, "name": "n", "batch": strconv.Itoa(batch), "templateId": hotTemplate, "messages": messages(11987650000+batch, 1),
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/external/campaigns/dispatch", strings.NewReader(body))
	r.Header.Set("Idempotency-Key", strconv.Itoa(batch))
	w, began := httptest.NewRecorder(), time.Now()
	httpapi.HandlerFunc(s.ServeDispatch).ServeHTTP(w, r)
	if w.Code != http.StatusAccepted {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	return time.Since(began)
}
