package e2e_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/oauth/authrow"
)

const tokenPath = "/api/v1/oauth/token"

func TestToken_StandardClient(t *testing.T) {
	t.Parallel()
	for name, style := range map[string]oauth2.AuthStyle{
		"secret in the header": oauth2.AuthStyleInHeader,
		"secret in the body":   oauth2.AuthStyleInParams,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t).ownCredential()
			ctx := context.WithValue(t.Context(), oauth2.HTTPClient, c.http)
			endpoint := oauth2.Endpoint{TokenURL: c.absolute(tokenPath), AuthStyle: style}
			grant := clientcredentials.Config{
				ClientID: c.env["CLIENT_ID"], ClientSecret: c.env["CLIENT_SECRET"], TokenURL: endpoint.TokenURL,
				AuthStyle: style, Scopes: []string{account.ScopeDispatch},
			}
			token, err := grant.Token(ctx)
			must(t, err)
			if life := time.Until(token.Expiry); token.Type() != "Bearer" || life < 55*time.Minute || life > time.Hour {
				t.Errorf("%s token valid for %v, want a Bearer token valid for an hour", token.Type(), life)
			}
			renewing := oauth2.Config{ClientID: grant.ClientID, ClientSecret: grant.ClientSecret, Endpoint: endpoint}
			renewed, err := renewing.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
			must(t, err)
			if renewed.AccessToken == token.AccessToken || renewed.RefreshToken == token.RefreshToken {
				t.Error("the refresh returned the same tokens")
			}
			for _, issued := range []*oauth2.Token{token, renewed} {
				if status := c.dryRun(issued.AccessToken); status != http.StatusOK {
					t.Errorf("dispatch with the token: status %d, want 200", status)
				}
			}
		})
	}
}

func TestRefresh_SecondUse(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownCredential()
	first := c.grant()
	second := c.refresh(first.RefreshToken)
	if second.status != http.StatusOK || second.RefreshToken == "" {
		t.Fatalf("first use: status %d: %s", second.status, second.body)
	}
	if got := c.refresh(first.RefreshToken); got.status != http.StatusUnauthorized || got.Error != "invalid_grant" {
		t.Errorf("second use: status %d: %s", got.status, got.body)
	}
	if got := c.refresh(second.RefreshToken); got.status != http.StatusOK {
		t.Errorf("use of the new refresh token: status %d: %s", got.status, got.body)
	}
}

// A refresh token that is used again long after its rotation is stolen. The service revokes
// its whole family.
func TestRefresh_LateReuse(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownCredential()
	stolen, kept := c.grant().RefreshToken, rand.Text()+rand.Text()
	rows, err := c.auth().AuthRows(t.Context(), authrow.Query{TokenHash: hashOf(stolen)})
	must(t, err)
	next := *rows.Token
	next.Hash = hashOf(kept)
	must(t, c.auth().RotateRefreshToken(t.Context(), *rows.Token, next, time.Now().Add(-2*time.Minute)))

	for _, token := range []string{stolen, kept} {
		if got := c.refresh(token); got.status != http.StatusUnauthorized || got.Error != "invalid_grant" {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
}

func TestRefresh_Concurrent(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownCredential()
	token := c.grant().RefreshToken
	count := countConcurrent(func() string {
		got := c.refresh(token)
		return strconv.Itoa(got.status) + " " + got.Error
	})
	// A client has ten requests a minute. The grant is the first one.
	if count["200 "] != 1 || count["200 "]+count["401 invalid_grant"]+count["429 too_many_requests"] != concurrentCalls {
		t.Errorf("statuses %v, want one 200, and 401 or 429 for the others", count)
	}
}

func TestToken_RateLimitPerClient(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownCredential()
	count := countConcurrent(func() string {
		got := c.grant()
		if wait, err := strconv.Atoi(got.header.Get("Retry-After")); got.status == http.StatusTooManyRequests && (err != nil || wait < 1 || wait > 60) {
			t.Errorf("Retry-After %q, want 1 to 60 seconds", got.header.Get("Retry-After"))
		}
		return strconv.Itoa(got.status)
	})
	if diff := cmp.Diff(map[string]int{"200": 10, "429": concurrentCalls - 10}, count); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if got := c.ownCredential().grant(); got.status != http.StatusOK {
		t.Errorf("another client: status %d: %s", got.status, got.body)
	}
}

// The emulator's gateway sets the same address for all clients, so the test invokes the
// function.
func TestToken_RateLimitPerAddress(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownCredential()
	address := "2001:db8:" + hex.EncodeToString([]byte(rand.Text()[:2])) + "::1"
	var calls errgroup.Group
	calls.SetLimit(4) // one after the other they may take longer than the minute of the limit
	statuses := make([]int, 80)
	for i := range statuses {
		request := c.tokenRequest(address, "rcs_"+rand.Text(), "guess")
		calls.Go(func() (err error) {
			statuses[i], err = c.tokenStatus(request)
			return err
		})
	}
	must(t, calls.Wait())
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	if diff := cmp.Diff(map[int]int{http.StatusUnauthorized: 60, http.StatusTooManyRequests: 20}, count); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	got, err := c.tokenStatus(c.tokenRequest(address, c.env["CLIENT_ID"], c.env["CLIENT_SECRET"]))
	if must(t, err); got != http.StatusOK {
		t.Errorf("correct secret from the same address: status %d, want 200", got)
	}
}

// tokenRequest returns the event of a token request from an address.
func (c *client) tokenRequest(address, clientID, secret string) []byte {
	c.t.Helper()
	document := sample(c.t, "token", map[string]string{"CLIENT_ID": clientID, "CLIENT_SECRET": secret})
	return bytes.ReplaceAll(document, []byte("203.0.113.10"), []byte(address))
}

// tokenStatus returns the status of the answer to a token request.
func (c *client) tokenStatus(request []byte) (int, error) {
	answer, err := c.tryInvoke("token", request)
	if err != nil {
		return 0, err
	}
	var response struct{ StatusCode int }
	err = json.Unmarshal(answer, &response)
	return response.StatusCode, err
}

func TestCredential_Revoked(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownCredential()
	granted := c.grant()
	if status := c.dryRun(granted.AccessToken); status != http.StatusOK {
		t.Fatalf("dispatch before the revocation: status %d, want 200", status)
	}
	must(t, c.service().RevokeCredential(t.Context(), c.env["CLIENT_ID"]))
	if status := c.dryRun(granted.AccessToken); status != http.StatusUnauthorized {
		t.Errorf("dispatch: status %d, want 401", status)
	}
	if got := c.refresh(granted.RefreshToken); got.status != http.StatusUnauthorized || got.Error != "invalid_grant" {
		t.Errorf("refresh: status %d: %s", got.status, got.body)
	}
	if got := c.grant(); got.status != http.StatusUnauthorized || got.Error != "invalid_client" {
		t.Errorf("grant: status %d: %s", got.status, got.body)
	}
}

func TestCredential_RotatedSecret(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownCredential()
	rotated, err := c.service().RotateCredential(t.Context(), c.env["CLIENT_ID"], time.Hour)
	must(t, err)
	if got := c.grant(); got.status != http.StatusOK {
		t.Errorf("with the previous secret: status %d: %s", got.status, got.body)
	}
	c.env["CLIENT_SECRET"] = rotated.Secret
	if got := c.grant(); got.status != http.StatusOK {
		t.Errorf("with the new secret: status %d: %s", got.status, got.body)
	}
	granted := c.grant()
	_, err = c.service().RotateCredential(t.Context(), c.env["CLIENT_ID"], 0)
	must(t, err)
	if got := c.grant(); got.status != http.StatusUnauthorized {
		t.Errorf("with an ended secret: status %d: %s", got.status, got.body)
	}
	if got := c.refresh(granted.RefreshToken); got.status != http.StatusUnauthorized || got.Error != "invalid_grant" {
		t.Errorf("with a refresh token of the ended secret: status %d: %s", got.status, got.body)
	}
	if status := c.dryRun(granted.AccessToken); status != http.StatusOK {
		t.Errorf("dispatch with its access token: status %d, want 200", status)
	}
}

func TestJWKS_VerifyToken(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	var document struct {
		Keys []map[string]string `json:"keys"`
	}
	c.get("/.well-known/jwks.json", &document)
	keys := map[any]*ecdsa.PublicKey{}
	for _, key := range document.Keys {
		keys[key["kid"]] = publicKey(t, key)
	}
	var claims struct {
		jwt.RegisteredClaims
		ClientID string `json:"client_id"`
		Scope    string `json:"scope"`
	}
	token, err := jwt.ParseWithClaims(c.token(), &claims,
		func(token *jwt.Token) (any, error) { return keys[token.Header["kid"]], nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuer(c.env["BASE_URL"]),
		jwt.WithAudience(c.env["BASE_URL"]+"/api/v1"), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	must(t, err)
	if token.Header["typ"] != "at+jwt" || claims.ClientID != c.env["CLIENT_ID"] || claims.Subject != claims.ClientID ||
		claims.Scope != account.ScopeDispatch || claims.ID == "" || claims.ExpiresAt.Sub(claims.IssuedAt.Time) != time.Hour {
		t.Errorf("header %v, claims %+v", token.Header, claims)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	base := c.env["BASE_URL"]
	var got map[string]any
	c.get("/.well-known/oauth-authorization-server", &got)
	want := map[string]any{
		"issuer":                                base,
		"token_endpoint":                        base + tokenPath,
		"jwks_uri":                              base + "/.well-known/jwks.json",
		"grant_types_supported":                 []any{"client_credentials", "refresh_token"},
		"token_endpoint_auth_methods_supported": []any{"client_secret_basic", "client_secret_post"},
		"scopes_supported":                      []any{account.ScopeDispatch, account.ScopeTemplates, account.ScopeLists},
		"response_types_supported":              []any{},
		"service_documentation":                 base + "/api/v1/openapi.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	for _, document := range []string{"jwks_uri", "service_documentation"} {
		if answer := c.do(http.MethodGet, want[document].(string), nil); answer.status != http.StatusOK {
			t.Errorf("%s: status %d, want 200", document, answer.status)
		}
	}
}

// ownCredential returns a client with a new credential. Without scopes it has the default.
func (c *client) ownCredential(scopes ...string) *client {
	c.t.Helper()
	credential, err := c.service().CreateCredential(c.t.Context(), c.env["TENANT"], "e2e", "", scopes...)
	must(c.t, err)
	return c.with("CLIENT_ID", credential.ClientID, "CLIENT_SECRET", credential.Secret)
}

// grant requests tokens with the client's secret.
func (c *client) grant() reply {
	c.t.Helper()
	return c.requestToken(url.Values{
		"grant_type": {"client_credentials"}, "client_id": {c.env["CLIENT_ID"]}, "client_secret": {c.env["CLIENT_SECRET"]},
	})
}

// refresh requests tokens with a refresh token. It sends the client id, so that the service
// counts failures separately from other tests.
func (c *client) refresh(token string) reply {
	c.t.Helper()
	return c.requestToken(url.Values{"grant_type": {"refresh_token"}, "client_id": {c.env["CLIENT_ID"]}, "refresh_token": {token}})
}

func (c *client) requestToken(form url.Values) reply {
	c.t.Helper()
	return c.do(http.MethodPost, tokenPath, []byte(form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
}

// dryRun returns the status of a valid dispatch call with the token.
func (c *client) dryRun(token string) int {
	c.t.Helper()
	body, err := json.Marshal(c.call(messages(1)))
	must(c.t, err)
	return c.do(http.MethodPost, dispatchPath+"?dryRun=true", body, "Authorization", "Bearer "+token, "Content-Type", "application/json").status
}

// get decodes a JSON document of the API.
func (c *client) get(path string, document any) {
	c.t.Helper()
	got := c.do(http.MethodGet, path, nil)
	if got.status != http.StatusOK {
		c.t.Fatalf("GET %s: status %d: %s", path, got.status, got.body)
	}
	must(c.t, json.Unmarshal(got.body, document))
}

// countConcurrent calls ask concurrentCalls times concurrently and counts its results.
func countConcurrent(ask func() string) map[string]int {
	var mu sync.Mutex
	count := map[string]int{}
	var running sync.WaitGroup
	for range concurrentCalls {
		running.Go(func() {
			answer := ask()
			mu.Lock()
			defer mu.Unlock()
			count[answer]++
		})
	}
	running.Wait()
	return count
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func publicKey(t *testing.T, jwk map[string]string) *ecdsa.PublicKey {
	t.Helper()
	if jwk["kty"] != "EC" || jwk["crv"] != "P-256" || jwk["alg"] != "ES256" || jwk["use"] != "sig" {
		t.Errorf("key %v, want an ES256 signing key", jwk)
	}
	point := []byte{4} // uncompressed
	for _, coordinate := range []string{"x", "y"} {
		b, err := base64.RawURLEncoding.DecodeString(jwk[coordinate])
		must(t, err)
		point = append(point, b...)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	must(t, err)
	return key
}
