package listapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/listapi"
)

// lists counts the changes, and allows every call.
type counting struct{ changes int }

func (*counting) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1", Scope: account.ScopeLists}, nil
}

func (l *counting) Change(context.Context, string, string, lists.Change, account.AuditEntry) (lists.List, error) {
	l.changes++
	return lists.List{}, nil
}

func (*counting) Delete(context.Context, string, string, account.AuditEntry) error { return nil }

func TestChange_TooManyNumbers(t *testing.T) {
	t.Parallel()
	many := `["+5511987654321"` + strings.Repeat(`,"+5511987654321"`, 10_000) + `]`
	for name, test := range map[string]struct{ method, body string }{
		"numbers": {http.MethodPut, `{"reason":"r","numbers":` + many + `}`},
		"exempt":  {http.MethodPut, `{"reason":"r","exempt":` + many + `}`},
		"added":   {http.MethodPost, `{"add":` + many + `}`},
		"removed": {http.MethodPost, `{"remove":` + many + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, mux, answer := &counting{}, http.NewServeMux(), httptest.NewRecorder()
			(&listapi.Service{Tokens: l, Lists: l, Now: time.Now}).Register(mux)
			mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), test.method, listapi.Path+"/a", strings.NewReader(test.body)))
			if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), `"too_many_numbers"`) || l.changes > 0 {
				t.Errorf("answered %d %s after %d changes", answer.Code, answer.Body, l.changes)
			}
		})
	}
}
