package query_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/query"
)

// byHeader takes the tenant of a request from a header. A request without one is refused.
type byHeader struct{}

func (byHeader) Authorize(r *http.Request, _, _ string) (accesstoken.Claims, error) {
	if tenant := r.Header.Get("Tenant"); tenant != "" {
		return accesstoken.Claims{Tenant: tenant}, nil
	}
	return accesstoken.Claims{}, &httpapi.Problem{Status: http.StatusUnauthorized, Code: "invalid_token"}
}

// limited is a route behind the limit of the template, with a clock of its own.
type limited struct {
	t     *testing.T
	now   time.Time
	limit *query.ReadLimit
}

func newLimited(t *testing.T, rate int) *limited {
	t.Helper()
	l := &limited{t: t, now: noon}
	l.limit = &query.ReadLimit{Tokens: byHeader{}, Limit: acceptance.CallLimit{Rate: rate, Burst: rate}, Now: func() time.Time { return l.now }}
	return l
}

func (l *limited) call(method, tenant string) *httptest.ResponseRecorder {
	l.t.Helper()
	r := httptest.NewRequestWithContext(l.t.Context(), method, "/api/v1/external/campaigns/x", nil)
	r.Header.Set("Tenant", tenant)
	answer := httptest.NewRecorder()
	httpapi.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) error {
		_, err := l.limit.Authorize(r, "", "")
		return err
	}).ServeHTTP(answer, r)
	return answer
}

func TestReadLimit(t *testing.T) {
	t.Parallel()
	l := newLimited(t, 20)
	for i := range 20 {
		if got := l.call(http.MethodGet, "a"); got.Code != http.StatusOK {
			t.Fatalf("read %d at once: %d", i+1, got.Code)
		}
	}
	refused := l.call(http.MethodGet, "a")
	var problem struct{ Code, Detail string }
	if err := json.Unmarshal(refused.Body.Bytes(), &problem); err != nil || problem.Code != "rate_limited" ||
		refused.Code != http.StatusTooManyRequests || refused.Header().Get("Retry-After") != "1" {
		t.Errorf("read 21: %d %s, Retry-After %q", refused.Code, refused.Body, refused.Header().Get("Retry-After"))
	}
	for name, call := range map[string]func() int{
		"of another tenant":          func() int { return l.call(http.MethodGet, "b").Code },
		"a change of the tenant":     func() int { return l.call(http.MethodPost, "a").Code },
		"after the time of one read": func() int { l.now = l.now.Add(50 * time.Millisecond); return l.call(http.MethodGet, "a").Code },
	} {
		if code := call(); code != http.StatusOK {
			t.Errorf("a call %s: %d", name, code)
		}
	}
	if code := l.call(http.MethodGet, "").Code; code != http.StatusUnauthorized {
		t.Errorf("a call without a token: %d", code)
	}
	l.now = l.now.Add(time.Second) // as Retry-After said
	if code := l.call(http.MethodGet, "a").Code; code != http.StatusOK {
		t.Errorf("the repeated read: %d", code)
	}
}

// Ten clients of a tenant that poll each second, and a client that reads at the rate, never meet the limit.
func TestReadLimit_Polls(t *testing.T) {
	t.Parallel()
	l := newLimited(t, 20)
	for second := range 600 {
		for range 10 {
			if code := l.call(http.MethodGet, "polls").Code; code != http.StatusOK {
				t.Fatalf("a poll in second %d: %d", second, code)
			}
		}
		for range 20 {
			if code := l.call(http.MethodGet, "steady").Code; code != http.StatusOK {
				t.Fatalf("a read in second %d: %d", second, code)
			}
			l.now = l.now.Add(50 * time.Millisecond)
		}
	}
}

func TestReadLimit_None(t *testing.T) {
	t.Parallel()
	l := newLimited(t, 0)
	for range 100 {
		if code := l.call(http.MethodGet, "a").Code; code != http.StatusOK {
			t.Fatal(code)
		}
	}
}

// Reads of many tenants at once keep their limits, as long as there is room for them.
func TestReadLimit_ManyTenants(t *testing.T) {
	t.Parallel()
	l := newLimited(t, 20)
	for range 21 {
		l.call(http.MethodGet, "first")
	}
	for i := range 900 {
		l.call(http.MethodGet, fmt.Sprint("tenant ", i))
	}
	if code := l.call(http.MethodGet, "first").Code; code != http.StatusTooManyRequests {
		t.Errorf("the first tenant's next read: %d", code)
	}
}
