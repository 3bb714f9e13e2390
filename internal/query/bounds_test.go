package query

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/oauth/accesstoken"
)

type anybody struct{ n int }

func (a *anybody) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	a.n++
	return accesstoken.Claims{Tenant: strconv.Itoa(a.n)}, nil
}

// The buckets and the answers in memory are bounded, however many tenants read.
func TestBounds(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	l := &ReadLimit{Tokens: &anybody{}, Limit: acceptance.CallLimit{Rate: 20, Burst: 20}, Now: func() time.Time { return now }}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	var a answers
	for i := range 5 * maxBuckets {
		if _, err := l.Authorize(r, "", ""); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Duration(i%3) * time.Millisecond)
		k := asked{ID: campaign.ID{Tenant: strconv.Itoa(i % 700), CampaignID: "c"}, after: i % 2}
		a.keep(k, answer{body: make([]byte, 1000*(i%200)), at: now})
		bytes := 0
		for _, one := range a.kept {
			bytes += len(one.body)
		}
		if len(l.buckets) > maxBuckets || bytes > maxAnswers || bytes != a.bytes {
			t.Fatalf("%d buckets, answers of %d bytes, counted as %d", len(l.buckets), bytes, a.bytes)
		}
	}
}
