package accesstoken_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

const activeIssuer = "https://api.example.com"

var activeNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type activeKey struct{ *ecdsa.PrivateKey }

func (k activeKey) Keys(context.Context) ([]accesstoken.Key, error) {
	public, err := accesstoken.NewKey(&k.PublicKey)
	return []accesstoken.Key{public}, err
}

func (k activeKey) Sign(_ context.Context, _ string, input []byte) ([]byte, error) {
	return jwt.SigningMethodES256.Sign(string(input), k.PrivateKey)
}

type credentials func() (account.Credential, error)

func (c credentials) Credential(context.Context, string) (account.Credential, error) { return c() }

func activeClock() time.Time { return activeNow }

func newActiveKey(t *testing.T) activeKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return activeKey{private}
}

// token returns an Authorization header with a token signed by the key.
func (k activeKey) token(t *testing.T, scope string) string {
	t.Helper()
	i := accesstoken.Issuer{Signer: k, Now: activeClock}
	text, err := i.Issue(t.Context(), activeIssuer, accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1", Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + text
}

// authorize authorizes a request with the header, or with none if it is empty.
func (k activeKey) authorize(t *testing.T, header string, stored credentials) (accesstoken.Claims, error) {
	t.Helper()
	v := accesstoken.ActiveVerifier{Tokens: &accesstoken.Verifier{Keys: k, Now: activeClock}, Credentials: stored}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return v.Authorize(r, activeIssuer, account.ScopeDispatch)
}

func TestActiveVerifier(t *testing.T) {
	t.Parallel()
	k := newActiveKey(t)
	good, unscoped := k.token(t, account.ScopeDispatch), k.token(t, "")
	stored := account.Credential{ClientID: "rcs_1", Tenant: "acme"}
	revoked := stored
	revoked.RevokedAt = activeNow
	tests := map[string]struct {
		header string
		stored account.Credential
		err    error
		status int // 0 for authorized
		code   string
	}{
		"live":                            {header: good, stored: stored},
		"no token":                        {stored: stored, status: 401, code: "missing_token"},
		"nonsense":                        {header: "Bearer x", stored: stored, status: 401, code: "invalid_token"},
		"no scope":                        {header: unscoped, stored: stored, status: 403, code: "insufficient_scope"},
		"revoked":                         {header: good, stored: revoked, status: 401, code: "invalid_token"},
		"revoked comes before no scope":   {header: unscoped, stored: revoked, status: 401, code: "invalid_token"},
		"a credential that is gone":       {header: good, err: campaign.ErrNotFound, status: 401, code: "invalid_token"},
		"a credential of another company": {header: good, stored: account.Credential{Tenant: "other"}, status: 401, code: "invalid_token"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claims, err := k.authorize(t, test.header, func() (account.Credential, error) { return test.stored, test.err })
			if test.status == 0 {
				if err != nil || claims.Tenant != "acme" {
					t.Errorf("%+v, %v", claims, err)
				}
				return
			}
			problem, ok := errors.AsType[*httpapi.Problem](err)
			if !ok || problem.Status != test.status || problem.Code != test.code {
				t.Errorf("%v, want %d %s", err, test.status, test.code)
			}
		})
	}
}

// If the credential cannot be read, the error is not a refusal and the client may
// retry.
func TestActiveVerifier_StoreFails(t *testing.T) {
	t.Parallel()
	k, broken := newActiveKey(t), errors.New("throttled")
	_, err := k.authorize(t, k.token(t, account.ScopeDispatch), func() (account.Credential, error) { return account.Credential{}, broken })
	if _, refused := errors.AsType[*httpapi.Problem](err); refused || !errors.Is(err, broken) {
		t.Errorf("%v, want the failure", err)
	}
}
