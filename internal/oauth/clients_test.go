package oauth_test

import (
	"net/http/httptest"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/oauth"
	"campaign-dispatch/internal/oauth/accesstoken"
)

func TestStandardClientGetsAndRefreshesTokens(t *testing.T) {
	t.Parallel()
	styles := map[string]oauth2.AuthStyle{
		"in the header": oauth2.AuthStyleInHeader,
		"in the body":   oauth2.AuthStyleInParams,
		"detected":      oauth2.AuthStyleAutoDetect,
	}
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			service := httptest.NewServer(b.server.Handler())
			defer service.Close()
			first := clientcredentials.Config{
				ClientID: b.clientID, ClientSecret: b.secret, TokenURL: service.URL + oauth.TokenPath,
				Scopes: []string{account.ScopeDispatch}, AuthStyle: style,
			}
			token, err := first.Token(t.Context())
			if err != nil {
				t.Fatalf("client credentials: %v", err)
			}
			later := oauth2.Config{
				ClientID: b.clientID, ClientSecret: b.secret,
				Endpoint: oauth2.Endpoint{TokenURL: service.URL + oauth.TokenPath, AuthStyle: style},
			}
			renewed, err := later.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
			if err != nil {
				t.Fatalf("refresh: %v", err)
			}
			for _, access := range []string{token.AccessToken, renewed.AccessToken} {
				claims, err := b.verifier.Verify(t.Context(), access, baseURL)
				if err != nil || claims != (accesstoken.Claims{
					Tenant: "tenant-" + b.clientID, ClientID: b.clientID, Scope: account.ScopeDispatch,
				}) {
					t.Errorf("claims %+v and error %v", claims, err)
				}
			}
		})
	}
}
