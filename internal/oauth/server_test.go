package oauth_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/localstack/stackenv"
)

const (
	baseURL = "https://api.example.com"
	form    = "application/x-www-form-urlencoded"
)

// clock is a clock that only the test advances.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bench is a server on the stack's tables and key, with its own clock, client and
// source address.
type bench struct {
	server   *oauth.Server
	store    *dynamo.AuthStore
	verifier accesstoken.Verifier
	clock    *clock
	address  string
	clientID string
	secret   string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	env := stackenv.Load(t)
	clock := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	store := dynamo.NewAuthStore(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Now: clock.Now,
	})
	keys := kms.New(env.AWS(), env["SIGNING_KEY_ID"], "", time.Time{}, time.Now)
	b := &bench{
		server:   &oauth.Server{Store: store, Signer: keys, Now: clock.Now, BaseURL: baseURL},
		store:    store,
		verifier: accesstoken.Verifier{Keys: keys, Now: clock.Now},
		clock:    clock,
		address:  "2001:db8:" + random(2) + ":" + random(2) + "::1",
		clientID: "rcs_" + random(8),
		secret:   random(16),
	}
	b.save(t, b.credential())
	return b
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func (b *bench) credential() account.Credential {
	return account.Credential{
		ClientID: b.clientID, Tenant: "tenant-" + b.clientID, SecretHash: hash(b.secret),
		Scope: account.ScopeDispatch, CreatedAt: b.clock.Now(),
	}
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// save creates or replaces a credential.
func (b *bench) save(t *testing.T, c account.Credential) {
	t.Helper()
	_, err := b.store.Client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &b.store.Auth,
		Key:       dynamo.Item{"pk": &types.AttributeValueMemberS{Value: "CRED#" + c.ClientID}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.store.CreateCredential(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// answer is a response as the client receives it.
type answer struct {
	Status int
	Header http.Header
	Body   map[string]any
}

func (a answer) text(name string) string {
	s, _ := a.Body[name].(string)
	return s
}

func (b *bench) do(t *testing.T, r *http.Request) answer {
	t.Helper()
	r.RemoteAddr = "[" + b.address + "]:4711"
	w := httptest.NewRecorder()
	b.server.Handler().ServeHTTP(w, r)
	a := answer{Status: w.Code, Header: w.Header()}
	if err := json.Unmarshal(w.Body.Bytes(), &a.Body); err != nil {
		t.Errorf("the body of a %d is not a JSON object: %v", w.Code, err)
	}
	return a
}

// post sends the parameters, alternating name and value, as JSON.
func (b *bench) post(t *testing.T, parameters ...string) answer {
	t.Helper()
	fields := map[string]string{}
	for i := 0; i < len(parameters); i += 2 {
		fields[parameters[i]] = parameters[i+1]
	}
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return b.do(t, request(t, "application/json", string(body)))
}

func request(t *testing.T, contentType, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, oauth.TokenPath, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return r
}

// login authenticates with the bench's client.
func (b *bench) login(t *testing.T) answer {
	t.Helper()
	return b.post(t, "grant_type", "client_credentials", "client_id", b.clientID, "client_secret", b.secret)
}

func (b *bench) refresh(t *testing.T, token string) answer {
	t.Helper()
	return b.post(t, "grant_type", "refresh_token", "refresh_token", token)
}

// granted checks that an answer is a token response, and returns its refresh token.
func (b *bench) granted(t *testing.T, a answer) string {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("got %d %v, want 200", a.Status, a.Body)
	}
	got, err := b.verifier.Verify(t.Context(), a.text("access_token"), baseURL)
	if err != nil {
		t.Fatalf("access token: %v", err)
	}
	want := accesstoken.Claims{Tenant: "tenant-" + b.clientID, ClientID: b.clientID, Scope: account.ScopeDispatch}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	return a.text("refresh_token")
}

// refused checks that an answer is an RFC 6749 error.
func refused(t *testing.T, a answer, status int, code string) {
	t.Helper()
	if a.Status != status || a.text("error") != code {
		t.Fatalf("got %d %v, want %d %s", a.Status, a.Body, status, code)
	}
	if a.text("error_description") == "" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an answer without a description, or cacheable: %v %v", a.Body, a.Header)
	}
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("content type %s, want application/json", got)
	}
}

func TestTokenResponse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.login(t)
	b.granted(t, a)
	want := map[string]any{"token_type": "Bearer", "expires_in": float64(3600), "scope": "campaigns:dispatch"}
	for name, value := range want {
		if a.Body[name] != value {
			t.Errorf("%s is %v, want %v", name, a.Body[name], value)
		}
	}
	if len(a.Body) != 5 || len(a.text("refresh_token")) < 43 {
		t.Errorf("got %d fields and a refresh token of %d characters", len(a.Body), len(a.text("refresh_token")))
	}
	for name, value := range map[string]string{
		"Cache-Control": "no-store", "Pragma": "no-cache", "Content-Type": "application/json",
	} {
		if got := a.Header.Get(name); got != value {
			t.Errorf("%s: %s, want %s", name, got, value)
		}
	}
}

func TestRefresh_SingleUse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.granted(t, b.login(t))
	second := b.granted(t, b.refresh(t, first))
	if second == first {
		t.Fatal("the refresh token did not change")
	}
	refused(t, b.refresh(t, first), 401, "invalid_grant")
	b.granted(t, b.refresh(t, second))
}

func TestClientCredentials_OldSecret(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.credential()
	c.PreviousSecretHash, c.PreviousUntil = hash("old"), b.clock.Now().Add(time.Hour)
	b.save(t, c)
	old := []string{"grant_type", "client_credentials", "client_id", b.clientID, "client_secret", "old"}
	b.granted(t, b.post(t, old...))
	b.granted(t, b.login(t))
	b.clock.Add(time.Hour)
	refused(t, b.post(t, old...), 401, "invalid_client")
	b.granted(t, b.login(t))
}

func TestRefresh_AfterRotationWithoutOverlap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.granted(t, b.login(t))
	second := b.granted(t, b.refresh(t, b.granted(t, b.login(t))))
	b.rotateSecret(t, "new", time.Time{})
	for _, token := range []string{first, second} {
		refused(t, b.refresh(t, token), 401, "invalid_grant")
	}
	refused(t, b.login(t), 401, "invalid_client")
	b.secret = "new"
	b.granted(t, b.refresh(t, b.granted(t, b.login(t))))
}

func TestRefresh_AfterRotationWithOverlap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refresh := b.granted(t, b.login(t))
	b.rotateSecret(t, "new", b.clock.Now().Add(time.Hour))
	b.clock.Add(2 * time.Hour)
	refresh = b.granted(t, b.refresh(t, refresh))
	b.rotateSecret(t, "newer", time.Time{})
	refused(t, b.refresh(t, refresh), 401, "invalid_grant")
}

// No refresh token outlives a rotation without overlap, whatever the order of the
// concurrent requests.
func TestRefresh_ConcurrentRotationWithoutOverlap(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for round := range 10 {
		refresh, secret := b.granted(t, b.login(t)), "secret-"+strconv.Itoa(round)
		var rotating sync.WaitGroup
		start := make(chan struct{})
		rotating.Go(func() { <-start; b.rotateSecret(t, secret, time.Time{}) })
		var turn atomic.Int64
		close(start)
		answers := b.race(8, func() answer {
			if turn.Add(1)%2 == 0 {
				return b.login(t)
			}
			return b.refresh(t, refresh)
		})
		rotating.Wait()
		b.clock.Add(time.Minute)
		for _, a := range answers {
			if a.Status == http.StatusOK {
				refused(t, b.refresh(t, a.text("refresh_token")), 401, "invalid_grant")
			}
		}
		b.secret = secret
		b.clock.Add(time.Minute)
	}
}

func (b *bench) rotateSecret(t *testing.T, secret string, previousUntil time.Time) {
	t.Helper()
	if err := b.store.RotateCredential(t.Context(), b.clientID, hash(secret), previousUntil); err != nil {
		t.Error(err)
	}
}

func TestClientCredentials_SameFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	try := func(id, secret string) answer {
		return b.post(t, "grant_type", "client_credentials", "client_id", id, "client_secret", secret)
	}
	wrong := try(b.clientID, "guess")
	refused(t, wrong, 401, "invalid_client")
	if diff := cmp.Diff(wrong, try("rcs_unknown", "guess")); diff != "" {
		t.Errorf("an unknown client (-wrong secret +unknown):\n%s", diff)
	}
	if diff := cmp.Diff(wrong, try(strings.Repeat("x", 10_000), "guess")); diff != "" {
		t.Errorf("a very long id (-wrong secret +long):\n%s", diff)
	}
	if err := b.store.RevokeCredential(t.Context(), b.clientID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wrong, b.login(t)); diff != "" {
		t.Errorf("a revoked client (-wrong secret +revoked):\n%s", diff)
	}
}

func TestClientCredentials_BasicChallenge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	try := func(basic bool) answer {
		r := request(t, form, "grant_type=client_credentials")
		if basic {
			r.SetBasicAuth(b.clientID, "guess")
		} else {
			r = request(t, form, "grant_type=client_credentials&client_id="+b.clientID+"&client_secret=guess")
		}
		return b.do(t, r)
	}
	a := try(true)
	refused(t, a, 401, "invalid_client")
	if got := a.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Basic realm=") {
		t.Errorf("WWW-Authenticate: %s, want Basic", got)
	}
	a = try(false)
	refused(t, a, 401, "invalid_client")
	if got := a.Header.Get("WWW-Authenticate"); got != "" {
		t.Errorf("WWW-Authenticate: %s, want none", got)
	}
}

func TestToken_BadRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refused(t, b.do(t, request(t, "application/json", `{"grant_type":`)), 400, "invalid_request")
	refused(t, b.post(t, "grant_type", "password", "client_id", b.clientID), 400, "unsupported_grant_type")
	refused(t, b.post(t, "grant_type", "client_credentials", "client_id", b.clientID), 400, "invalid_request")
}

func TestScope(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.credential()
	c.Scope = "campaigns:dispatch campaigns:read"
	b.save(t, c)
	ask := func(scope string) answer {
		return b.post(t, "grant_type", "client_credentials", "client_id", b.clientID, "client_secret", b.secret, "scope", scope)
	}
	refused(t, ask("campaigns:dispatch everything"), 400, "invalid_scope")
	if got := ask("").text("scope"); got != "campaigns:dispatch campaigns:read" {
		t.Errorf("scope %q, want the granted scope", got)
	}
	narrow := ask("campaigns:dispatch")
	refresh := b.granted(t, narrow)
	wider := b.post(t, "grant_type", "refresh_token", "refresh_token", refresh, "scope", "campaigns:read")
	refused(t, wider, 400, "invalid_scope")
	b.granted(t, b.post(t, "grant_type", "refresh_token", "refresh_token", refresh, "scope", "campaigns:dispatch"))
}

func TestRefresh_ScopeOfCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refresh := b.granted(t, b.login(t))
	c := b.credential()
	c.Scope = ""
	b.save(t, c)
	a := b.refresh(t, refresh)
	if got, ok := a.Body["scope"].(string); a.Status != 200 || !ok || got != "" {
		t.Errorf("got %d with scope %v, want 200 without any", a.Status, a.Body["scope"])
	}
}

func TestRefresh_Refused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spoil  func(t *testing.T, b *bench)
		params []string
		code   string
	}{
		"after 30 days": {
			func(_ *testing.T, b *bench) { b.clock.Add(campaign.RefreshLife) }, nil, "invalid_grant",
		},
		"of a revoked credential": {func(t *testing.T, b *bench) {
			t.Helper()
			if err := b.store.RevokeCredential(t.Context(), b.clientID); err != nil {
				t.Fatal(err)
			}
		}, nil, "invalid_grant"},
		"from another client":      {nil, []string{"client_id", "rcs_other"}, "invalid_client"},
		"with a wrong secret":      {nil, []string{"client_secret", "guess"}, "invalid_client"},
		"with a client's bad pair": {nil, []string{"client_id", "rcs_other", "client_secret", "guess"}, "invalid_client"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			refresh := b.granted(t, b.login(t))
			if test.spoil != nil {
				test.spoil(t, b)
			}
			params := append([]string{"grant_type", "refresh_token", "refresh_token", refresh}, test.params...)
			refused(t, b.post(t, params...), 401, test.code)
			if test.spoil == nil {
				b.granted(t, b.refresh(t, refresh)) // it was not used up
			}
		})
	}
}

func TestRefresh_Lifetime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refresh := b.granted(t, b.login(t))
	b.clock.Add(campaign.RefreshLife - time.Second)
	next := b.granted(t, b.post(t, "grant_type", "refresh_token", "refresh_token", refresh,
		"client_id", b.clientID, "client_secret", b.secret))
	b.clock.Add(campaign.RefreshLife - time.Second)
	b.granted(t, b.refresh(t, next))
}

func TestRefresh_UnknownToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refused(t, b.refresh(t, "guess"), 401, "invalid_grant")
	refused(t, b.refresh(t, strings.Repeat("x", 10_000)), 401, "invalid_grant")
}

func TestRefresh_LateReuse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		after time.Duration
		ends  bool
	}{
		"at once":          {0, false},
		"after a minute":   {time.Minute, false},
		"after the minute": {time.Minute + time.Millisecond, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			first := b.granted(t, b.login(t))
			other := b.granted(t, b.login(t))
			second := b.granted(t, b.refresh(t, first))
			b.clock.Add(test.after)
			refused(t, b.refresh(t, first), 401, "invalid_grant")
			if test.ends {
				refused(t, b.refresh(t, second), 401, "invalid_grant")
			} else {
				b.granted(t, b.refresh(t, second))
			}
			b.granted(t, b.refresh(t, other)) // another family of the same client
			b.granted(t, b.login(t))
		})
	}
}

// A stolen token of a revoked family does not consume the client's limit.
func TestRefresh_RevokedFamilyNotCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.granted(t, b.login(t))
	second := b.granted(t, b.refresh(t, first))
	b.clock.Add(2 * time.Minute)
	refused(t, b.refresh(t, first), 401, "invalid_grant")
	for range 9 {
		refused(t, b.refresh(t, second), 401, "invalid_grant")
	}
	refused(t, b.refresh(t, second), 429, "too_many_requests")
	b.granted(t, b.login(t))
}

func TestRefresh_Concurrent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refresh := b.granted(t, b.login(t))
	b.clock.Add(time.Minute) // the limit's period has passed
	answers := b.race(12, func() answer { return b.refresh(t, refresh) })
	count := byStatus(answers)
	if count[200] != 1 || count[200]+count[401]+count[429] != 12 {
		t.Fatalf("statuses %v, want one 200 and else 401 and 429", count)
	}
	b.clock.Add(time.Minute)
	for _, a := range answers {
		if a.Status == http.StatusOK {
			b.granted(t, b.refresh(t, a.text("refresh_token")))
		}
	}
}

// race makes n concurrent calls.
func (b *bench) race(n int, call func() answer) []answer {
	answers := make([]answer, n)
	start := make(chan struct{})
	var callers sync.WaitGroup
	for i := range answers {
		callers.Go(func() {
			<-start
			answers[i] = call()
		})
	}
	close(start)
	callers.Wait()
	return answers
}

func byStatus(answers []answer) map[int]int {
	count := map[int]int{}
	for _, a := range answers {
		count[a.Status]++
	}
	return count
}

func TestLimit_Client(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 10 {
		b.granted(t, b.login(t))
		b.clock.Add(time.Second)
	}
	b.clock.Add(500 * time.Millisecond) // the first was admitted 10.5 s ago
	a := b.login(t)
	refused(t, a, 429, "too_many_requests")
	if got := a.Header.Get("Retry-After"); got != "50" {
		t.Errorf("Retry-After: %s, want 50", got)
	}
	b.clock.Add(49*time.Second + 499*time.Millisecond)
	refused(t, b.login(t), 429, "too_many_requests")
	b.clock.Add(time.Millisecond)
	b.granted(t, b.login(t))
	refused(t, b.login(t), 429, "too_many_requests")
}

func TestLimit_ConcurrentRequests(t *testing.T) {
	t.Parallel()
	for _, n := range []int{11, 24} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			count := byStatus(b.race(n, func() answer { return b.login(t) }))
			if count[200] != 10 || count[429] != n-10 {
				t.Errorf("statuses %v, want 10 times 200 and else 429", count)
			}
		})
	}
}

func TestLimit_RefreshesCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refresh := b.granted(t, b.login(t))
	for range 9 {
		refresh = b.granted(t, b.refresh(t, refresh))
	}
	refused(t, b.refresh(t, refresh), 429, "too_many_requests")
	refused(t, b.login(t), 429, "too_many_requests")
	b.clock.Add(time.Minute)
	b.granted(t, b.refresh(t, refresh))
}

func TestLimit_GuessesDoNotCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	guess := func() answer {
		return b.post(t, "grant_type", "client_credentials", "client_id", b.clientID, "client_secret", "guess")
	}
	for range 10 {
		refused(t, guess(), 401, "invalid_client")
	}
	a := guess()
	refused(t, a, 429, "too_many_requests")
	if got := a.Header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After: %s, want 60", got)
	}
	b.granted(t, b.login(t))
	elsewhere := *b
	elsewhere.address = "2001:db9:" + random(2) + "::1"
	refused(t, elsewhere.post(t, "grant_type", "client_credentials", "client_id", b.clientID, "client_secret", "guess"), 401, "invalid_client")
}

func TestLimit_Failures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		send   func(t *testing.T, b *bench) answer
		status int
		code   string
	}{
		"broken body": {func(t *testing.T, b *bench) answer {
			t.Helper()
			return b.do(t, request(t, "application/json", "{"))
		}, 400, "invalid_request"},
		"unknown refresh token": {func(t *testing.T, b *bench) answer {
			t.Helper()
			return b.refresh(t, "guess")
		}, 401, "invalid_grant"},
		"unknown client": {func(t *testing.T, b *bench) answer {
			t.Helper()
			return b.post(t, "grant_type", "client_credentials", "client_id", "rcs_unknown", "client_secret", "guess")
		}, 401, "invalid_client"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for range 10 {
				refused(t, test.send(t, b), test.status, test.code)
			}
			refused(t, test.send(t, b), 429, "too_many_requests")
			b.clock.Add(time.Minute)
			refused(t, test.send(t, b), test.status, test.code)
		})
	}
}

// guess sends a wrong secret for a random client ID.
func (b *bench) guess(t *testing.T) answer {
	t.Helper()
	return b.post(t, "grant_type", "client_credentials", "client_id", "rcs_"+random(8), "client_secret", "guess")
}

func (b *bench) at(address string) *bench {
	moved := *b
	moved.address = address
	return &moved
}

func TestLimit_FailuresOfAddress(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 20 {
		refused(t, b.guess(t), 401, "invalid_client")
		refused(t, b.post(t, "grant_type", "refresh_token", "client_id", random(8), "refresh_token", "guess"), 401, "invalid_grant")
		refused(t, b.post(t, "grant_type", "password", "client_id", random(8)), 400, "unsupported_grant_type")
		b.clock.Add(time.Second)
	}
	a := b.guess(t)
	refused(t, a, 429, "too_many_requests")
	if got := a.Header.Get("Retry-After"); got != "40" {
		t.Errorf("Retry-After: %s, want 40", got)
	}
	network := strings.TrimSuffix(b.address, "::1")
	refused(t, b.at(network+":1:2:3:4").guess(t), 429, "too_many_requests")
	refused(t, b.at("2001:db9:"+random(2)+"::1").guess(t), 401, "invalid_client")
	b.granted(t, b.refresh(t, b.granted(t, b.login(t)))) // a client at the same address
	b.clock.Add(40 * time.Second)
	refused(t, b.guess(t), 401, "invalid_client")
}

func TestLimit_ConcurrentFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	count := byStatus(b.race(100, func() answer { return b.guess(t) }))
	if count[401] != 60 || count[429] != 40 {
		t.Errorf("statuses %v, want 60 times 401 and 40 times 429", count)
	}
}

func TestLimit_SuccessesAreNotFailures(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 7 {
		for range 10 {
			b.granted(t, b.login(t))
		}
		c := b.credential()
		c.ClientID = "rcs_" + random(8)
		c.Tenant = "tenant-" + c.ClientID
		b.save(t, c)
		b.clientID = c.ClientID
	}
	refused(t, b.guess(t), 401, "invalid_client")
}

func TestLimit_RefusedFailureWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 60 {
		b.guess(t)
	}
	network := netip.MustParsePrefix(b.address + "/64").Masked().String()
	q := authrow.Query{Windows: []string{"address " + network + " rcs_other"}, Places: "failures " + network}
	before := b.rows(t, q)
	if len(before.Places) != 60 {
		t.Fatalf("rows %+v, want 60 failures", before)
	}
	b.clock.Add(time.Second)
	refused(t, b.post(t, "grant_type", "client_credentials", "client_id", "rcs_other", "client_secret", "guess"), 429, "too_many_requests")
	if diff := cmp.Diff(before, b.rows(t, q)); diff != "" {
		t.Errorf("rows changed (-before +after):\n%s", diff)
	}
}

// Reuse of a stolen token revokes the family, even when the thief has exhausted the
// failure limit of the shared address.
func TestRefresh_LateReuseBeyondLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.granted(t, b.login(t))
	second := b.granted(t, b.refresh(t, first))
	b.clock.Add(2 * time.Minute)
	for range 60 {
		b.guess(t)
	}
	refused(t, b.refresh(t, first), 429, "too_many_requests")
	b.clock.Add(time.Minute)
	refused(t, b.refresh(t, second), 401, "invalid_grant")
}

func TestLimit_RefusedRequestWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refresh := b.granted(t, b.login(t))
	for range 9 {
		b.granted(t, b.login(t))
	}
	sum := sha256.Sum256([]byte(refresh))
	q := authrow.Query{TokenHash: hex.EncodeToString(sum[:]), Windows: []string{"client " + b.clientID}}
	before := b.rows(t, q)
	if len(before.Windows["client "+b.clientID]) != 10 || before.Token == nil {
		t.Fatalf("rows %+v, want a full window and the token", before)
	}
	b.clock.Add(time.Second)
	refused(t, b.refresh(t, refresh), 429, "too_many_requests")
	refused(t, b.login(t), 429, "too_many_requests")
	if diff := cmp.Diff(before, b.rows(t, q)); diff != "" {
		t.Errorf("rows changed (-before +after):\n%s", diff)
	}
}

func (b *bench) rows(t *testing.T, q authrow.Query) authrow.Rows {
	t.Helper()
	rows, err := b.store.AuthRows(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestRefresh_TokenNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	refresh := b.granted(t, b.login(t))
	rows := b.rows(t, authrow.Query{TokenHash: refresh})
	if rows.Token != nil {
		t.Error("the refresh token itself is a key of the table")
	}
}

func TestHandler_OtherMethods(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for path, allow := range map[string]string{oauth.TokenPath: "POST", oauth.KeysPath: "GET, HEAD", oauth.MetadataPath: "GET, HEAD"} {
		a := b.do(t, httptest.NewRequestWithContext(t.Context(), http.MethodPut, path, http.NoBody))
		if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != allow {
			t.Errorf("PUT %s: %d, Allow: %s, want 405 and %s", path, a.Status, a.Header.Get("Allow"), allow)
		}
	}
}

func TestHandler_Keys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.do(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, oauth.KeysPath, http.NoBody))
	if a.Status != http.StatusOK || a.Header.Get("Cache-Control") != "public, max-age=300" {
		t.Fatalf("got %d with Cache-Control %q", a.Status, a.Header.Get("Cache-Control"))
	}
	keys, err := b.server.Signer.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := keys[0].JWK()
	if err != nil {
		t.Fatal(err)
	}
	var published struct{ Keys []accesstoken.JWK }
	remarshal(t, a.Body, &published)
	if diff := cmp.Diff([]accesstoken.JWK{want}, published.Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func remarshal(t *testing.T, from, to any) {
	t.Helper()
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(to); err != nil {
		t.Fatal(err)
	}
}

func TestHandler_Metadata(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.do(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, oauth.MetadataPath, http.NoBody))
	want := map[string]any{
		"issuer":                                baseURL,
		"token_endpoint":                        baseURL + "/api/v1/oauth/token",
		"jwks_uri":                              baseURL + "/.well-known/jwks.json",
		"grant_types_supported":                 []any{"client_credentials", "refresh_token"},
		"token_endpoint_auth_methods_supported": []any{"client_secret_basic", "client_secret_post"},
		"scopes_supported":                      []any{"campaigns:dispatch", "templates", "lists"},
		"response_types_supported":              []any{},
		"service_documentation":                 baseURL + "/api/v1/openapi.json",
	}
	if diff := cmp.Diff(want, a.Body); a.Status != http.StatusOK || diff != "" {
		t.Errorf("got %d, metadata (-want +got):\n%s", a.Status, diff)
	}
}

func TestToken_StoreFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	body := url.Values{"grant_type": {"client_credentials"}, "client_id": {b.clientID}, "client_secret": {b.secret}}
	a := b.do(t, request(t, form, body.Encode()).WithContext(ctx))
	refused(t, a, 503, "temporarily_unavailable")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}
