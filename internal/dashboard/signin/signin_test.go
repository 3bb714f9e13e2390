package signin_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/dashboard/signin"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

const clientID = "dashboard-client"

// provider is an OpenID provider like a user pool. It signs in the user of Claims.
type provider struct {
	*httptest.Server

	mu     sync.Mutex
	known  rsa.PublicKey   // that it publishes
	key    *rsa.PrivateKey // that it signs with
	claims map[string]any  // of the id tokens, beside those that all have
	grants map[string]url.Values
	status int // of the token endpoint, 0 for what is right
	asked  int // how often for its endpoints

	removed bool // nobody's session is renewed
	stuck   bool // it revokes nothing

	during func() // called before the response to a token request, or nil
}

// beforeResponse calls do after the provider has handled a token request and before it responds.
func (p *provider) beforeResponse(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.during = do
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, known: key.PublicKey, grants: map[string]url.Values{}, claims: map[string]any{
		"email": "ana@acme.example", "custom:tenant": "acme", "cognito:groups": []string{"admin"},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /jwks", p.keys)
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		response := httptest.NewRecorder()
		p.token(response, r)
		p.mu.Lock()
		during := p.during
		p.during = nil
		p.mu.Unlock()
		if during != nil {
			during()
		}
		maps.Copy(w.Header(), response.Header())
		w.WriteHeader(response.Code)
		_, _ = response.Body.WriteTo(w)
	})
	mux.HandleFunc("POST /revoke", p.revoke)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) with(claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, value := range claims {
		if p.claims[name] = value; value == nil {
			delete(p.claims, name)
		}
	}
}

// signsOtherwise makes it sign with an unpublished key.
func (p *provider) signsOtherwise(t *testing.T) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.key = key
}

func (p *provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/jwks",
		"end_session_endpoint": p.URL + "/logout", "revocation_endpoint": p.URL + "/revoke", "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (p *provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "k", "alg": "RS256", "use": "sig", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(p.known.N.Bytes()),
	}}})
}

// grant is the provider's sign-in page. It returns a code.
func (p *provider) grant(to string) (code string, sent url.Values) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u, _ := url.Parse(to)
	code = rand.Text()
	p.grants[code] = u.Query()
	return code, u.Query()
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status != 0 {
		answer(w, p.status, map[string]string{"error": "server_error"})
		return
	}
	if r.PostFormValue("grant_type") == "refresh_token" {
		p.refresh(w, r)
		return
	}
	sent, ok := p.grants[r.PostFormValue("code")]
	delete(p.grants, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || sent.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || sent.Get("code_challenge_method") != "S256" ||
		r.PostFormValue("redirect_uri") != sent.Get("redirect_uri") || r.PostFormValue("client_id") != clientID {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{
		"iss": p.URL, "aud": clientID, "sub": "1", "nonce": sent.Get("nonce"),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, p.claims)
	answer(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.sign(claims), "refresh_token": renewal})
}

// renewal is the refresh token of the signed-in user.
const renewal = "opaque.renewal-of_ana"

func (p *provider) refresh(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("refresh_token") != renewal || r.PostFormValue("client_id") != clientID || p.removed {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": clientID, "sub": "1", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, p.claims)
	answer(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": p.sign(claims)})
}

func (p *provider) revoke(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuck {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	p.removed = p.removed || r.PostFormValue("token") == renewal && r.PostFormValue("client_id") == clientID
}

func (p *provider) sign(claims map[string]any) string {
	body, _ := json.Marshal(claims)
	input := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"k"}`)) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(input))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// bench is a dashboard with the sign-in and one page.
type bench struct {
	*webtest.Dashboard
	provider *provider
}

// ticking returns a clock that never returns an instant twice. Without a network, a
// sign-out and the next sign-in could fall into one millisecond.
func ticking() func() time.Time {
	var mu sync.Mutex
	var last time.Time
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now().Truncate(time.Millisecond)
		if !now.After(last) {
			now = last.Add(time.Millisecond)
		}
		last = now
		return now
	}
}

func newBench(t *testing.T) bench {
	t.Helper()
	p, now := newProvider(t), ticking()
	ui := webtest.UI(t, now)
	pages := &signin.Pages{
		Provider: &signin.Provider{Issuer: p.URL, ClientID: clientID, Client: p.Client()},
		Sessions: ui.Sessions, Now: now,
	}
	return bench{webtest.Serve(t, ui, signin.Area(), pages), p}
}

// begin starts a sign-in and returns the address of the redirect.
func begin(t *testing.T, p *webtest.Person, to string) string {
	t.Helper()
	got := p.Get("/dashboard/sign-in?to=" + url.QueryEscape(to))
	u, err := url.Parse(got.Location)
	if err != nil {
		t.Fatal(err)
	}
	cookie := got.Cookie(attemptCookie(u.Query().Get("state")))
	if got.Status != http.StatusSeeOther || cookie == nil {
		t.Fatalf("a sign-in began with %d and the cookies %q", got.Status, got.Header["Set-Cookie"])
	}
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.MaxAge <= 0 || cookie.MaxAge > 3600 {
		t.Errorf("the cookie of the sign-in is %s", cookie)
	}
	p.Cookies = []*http.Cookie{cookie}
	return got.Location
}

// attemptCookie is the name of the cookie of a started sign-in.
func attemptCookie(state string) string {
	return "__Host-sign-in-" + (state + strings.Repeat("-", 16))[:16]
}

// back is the address to which the provider redirects.
func back(code, state string) string {
	return "/dashboard/sign-in/callback?" + url.Values{"code": {code}, "state": {state}}.Encode()
}

func refused(t *testing.T, got webtest.Answer, status int, text string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Body, text) {
		t.Errorf("answered %d, want %d with %q:\n%s", got.Status, status, text, got.Body)
	}
	if got.Cookie("__Host-session") != nil {
		t.Error("a session began")
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := b.Nobody()
	to := begin(t, &ana, "/dashboard/templates?q=a%26b")
	code, sent := b.provider.grant(to)
	if !strings.HasPrefix(to, b.provider.URL+"/authorize?") || sent.Get("response_type") != "code" || sent.Get("scope") != "openid" ||
		sent.Get("redirect_uri") != webtest.Base+"/dashboard/sign-in/callback" || len(sent.Get("state")) < 40 || len(sent.Get("nonce")) < 40 {
		t.Errorf("sent to %s", to)
	}
	got := ana.Get(back(code, sent.Get("state")))
	if got.Status != http.StatusSeeOther || got.Location != "/dashboard/templates?q=a%26b" {
		t.Fatalf("answered %d, to %q: %s", got.Status, got.Location, got.Body)
	}
	if spent := got.Cookie(attemptCookie(sent.Get("state"))); spent == nil || spent.MaxAge >= 0 {
		t.Error("the sign-in's cookie is left over")
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, webtest.Base, http.NoBody)
	r.AddCookie(got.Cookie("__Host-session"))
	session, err := b.UI.Sessions.Read(r, webtest.Base)
	if err != nil || session.Tenant != "acme" || session.Email != "ana@acme.example" || session.Role != web.RoleAdmin || len(session.CSRF) < 40 {
		t.Errorf("session %+v, %v", session, err)
	}
	ana.Cookie = got.Cookie("__Host-session")
	if got := ana.Get("/dashboard"); got.Status != http.StatusSeeOther || got.Location != "/dashboard/overview" {
		t.Errorf("the first page answers %d, to %q", got.Status, got.Location)
	}
}

func TestSignIn_HighestRole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		groups []string
		want   web.Role
	}{
		{[]string{"viewer"}, web.RoleViewer},
		{[]string{"viewer", "admin"}, web.RoleAdmin},
		{[]string{"others", "viewer"}, web.RoleViewer},
		{[]string{"approver", "viewer"}, web.RoleApprover},
		{[]string{"author"}, web.RoleAuthor},
	} {
		b := newBench(t)
		b.provider.with(map[string]any{"cognito:groups": test.groups})
		ana := b.Nobody()
		code, sent := b.provider.grant(begin(t, &ana, ""))
		got := ana.Get(back(code, sent.Get("state")))
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, webtest.Base, http.NoBody)
		if c := got.Cookie("__Host-session"); c != nil {
			r.AddCookie(c)
		}
		if session, err := b.UI.Sessions.Read(r, webtest.Base); err != nil || session.Role != test.want {
			t.Errorf("%v: %+v, %v", test.groups, session, err)
		}
		if log := b.Audited(); len(log) != 1 || !strings.HasSuffix(log[0], " ui.role."+string(test.want)) {
			t.Errorf("%v: the audit log has %q, want the text of the role", test.groups, log)
		}
	}
}

func TestCallback_OtherBrowser(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	thief, ana := b.Nobody(), b.Nobody()
	code, sent := b.provider.grant(begin(t, &thief, ""))
	stolen := back(code, sent.Get("state"))
	const text = "did not begin in this browser"
	refused(t, ana.Get(stolen), http.StatusBadRequest, text)
	_ = begin(t, &ana, "")
	refused(t, ana.Get(stolen), http.StatusBadRequest, text)
	refused(t, ana.Get(back(code, "")), http.StatusBadRequest, text)
	for _, value := range []string{"", "%%%", "e30", base64.RawURLEncoding.EncodeToString([]byte(`{"state":""}`))} {
		ana.Cookies = []*http.Cookie{{Name: attemptCookie(sent.Get("state")), Value: value}, {Name: "__Host-sign-in-", Value: value}}
		refused(t, ana.Get(stolen), http.StatusBadRequest, text)
		refused(t, ana.Get(back(code, "")), http.StatusBadRequest, text)
	}
}

// A code that an attacker injects into another user's sign-in does not match its PKCE
// verifier.
func TestCallback_CodeOfAnotherSignIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	thief, ana := b.Nobody(), b.Nobody()
	code, _ := b.provider.grant(begin(t, &thief, ""))
	_, sent := b.provider.grant(begin(t, &ana, ""))
	refused(t, ana.Get(back(code, sent.Get("state"))), http.StatusForbidden, "did not confirm who you are")
}

func TestCallback_InvalidTokens(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]map[string]any{
		"of another sign-in": {"nonce": "another"},
		"for another client": {"aud": "another"},
		"of another issuer":  {"iss": "https://evil.example"},
		"over":               {"exp": time.Now().Add(-time.Minute).Unix()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.provider.with(claims)
			ana := b.Nobody()
			code, sent := b.provider.grant(begin(t, &ana, ""))
			refused(t, ana.Get(back(code, sent.Get("state"))), http.StatusForbidden, "did not confirm who you are")
		})
	}
	t.Run("signed by another", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.provider.signsOtherwise(t)
		ana := b.Nobody()
		code, sent := b.provider.grant(begin(t, &ana, ""))
		refused(t, ana.Get(back(code, sent.Get("state"))), http.StatusForbidden, "did not confirm who you are")
	})
}

func TestCallback_NoTenantOrRole(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]map[string]any{
		"no tenant": {"custom:tenant": nil}, "no role": {"cognito:groups": nil}, "an unknown role": {"cognito:groups": []string{"owner"}},
		"no address": {"email": nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.provider.with(claims)
			ana := b.Nobody()
			code, sent := b.provider.grant(begin(t, &ana, ""))
			got := ana.Get(back(code, sent.Get("state")))
			refused(t, got, http.StatusForbidden, "Your account has no access yet")
			if !strings.Contains(got.Body, `action="/dashboard/sign-out"`) {
				t.Error("there is no way to another account")
			}
		})
	}
}

func TestCallback_ProviderRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := b.Nobody()
	_, sent := b.provider.grant(begin(t, &ana, ""))
	got := ana.Get("/dashboard/sign-in/callback?error=access_denied&error_description=%3Cb%3Eno&state=" + sent.Get("state"))
	refused(t, got, http.StatusForbidden, "did not confirm who you are")
	if strings.Contains(got.Body, "<b>") {
		t.Error("what the address says is shown")
	}
}

func TestSignIn_ReturnTo(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"https://evil.example/dashboard", "//evil.example", "/dashboard/" + strings.Repeat("a", 5000)} {
		b := newBench(t)
		ana := b.Nobody()
		code, sent := b.provider.grant(begin(t, &ana, to))
		if got := ana.Get(back(code, sent.Get("state"))); got.Location != web.Root {
			t.Errorf("%.40s leads to %q", to, got.Location)
		}
	}
}

func TestProvider_DiscoveredLazily(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if b.provider.asked != 0 {
		t.Errorf("asked %d times before anybody signs in", b.provider.asked)
	}
	for range 3 {
		nobody := b.Nobody()
		_ = begin(t, &nobody, "")
	}
	if b.provider.asked != 1 {
		t.Errorf("asked %d times, want once", b.provider.asked)
	}
}

func TestSignIn_ProviderFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := b.Nobody()
	code, sent := b.provider.grant(begin(t, &ana, ""))
	b.provider.mu.Lock()
	b.provider.status = http.StatusServiceUnavailable
	b.provider.mu.Unlock()
	refused(t, ana.Get(back(code, sent.Get("state"))), http.StatusInternalServerError, "The service failed")

	broken := newBench(t)
	broken.provider.Close()
	if got := broken.Nobody().Get("/dashboard/sign-in"); got.Status != http.StatusInternalServerError {
		t.Errorf("a sign-in without a provider answers %d", got.Status)
	}
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := b.provider.URL + "/logout?client_id=" + clientID + "&logout_uri=" + url.QueryEscape(webtest.Base+"/dashboard/signed-out")
	for name, person := range map[string]webtest.Person{"admin": b.SignIn("acme", web.RoleAdmin), "viewer": b.SignIn("acme", web.RoleViewer), "session over": b.Nobody()} {
		got := person.Post("/dashboard/sign-out", nil)
		if got.Status != http.StatusSeeOther || got.Location != want {
			t.Errorf("%s: answered %d, to %q", name, got.Status, got.Location)
		}
		if ended := got.Cookie("__Host-session"); ended == nil || ended.MaxAge >= 0 || ended.Value != "" {
			t.Errorf("%s: the session goes on", name)
		}
	}
	if got := b.Nobody().Get("/dashboard/signed-out"); got.Status != http.StatusOK || !strings.Contains(got.Body, "You have signed out") {
		t.Errorf("after it: %d", got.Status)
	}
	got := b.SignIn("acme", web.RoleAdmin).Post("/dashboard/sign-out", url.Values{"csrf": {"wrong"}})
	if got.Status != http.StatusForbidden || got.Cookie("__Host-session") != nil {
		t.Errorf("without a token: %d", got.Status)
	}
}

// A form of another origin sends no cookies and signs nobody out, here or at the provider.
// A user without a session can sign out from a page of the dashboard only.
func TestSignOut_OtherOrigin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, test := range []struct {
		name, site, origin string // the headers of the request, "" for none
		status             int
	}{
		{"another site", "cross-site", "https://evil.example", http.StatusForbidden},
		{"a neighbour's site", "same-site", "https://evil.example.com", http.StatusForbidden},
		{"no page at all", "none", webtest.Base, http.StatusForbidden},
		{"another site, in an old browser", "", "https://evil.example", http.StatusForbidden},
		{"this host without HTTPS, in an old browser", "", "http://rcs.example.com", http.StatusForbidden},
		{"a page that hides where it is", "", "null", http.StatusForbidden},
		{"whoever does not say", "", "", http.StatusForbidden},
		{"one's own page", "same-origin", webtest.Base, http.StatusSeeOther},
		{"one's own page, in an old browser", "", webtest.Base, http.StatusSeeOther},
	} {
		nobody := b.Nobody()
		nobody.Header.Set("Origin", test.origin)
		if test.site != "" {
			nobody.Header.Set("Sec-Fetch-Site", test.site)
		}
		got := nobody.Post("/dashboard/sign-out", nil)
		let := test.status == http.StatusSeeOther
		if got.Status != test.status || (got.Location != "") != let || (got.Cookie("__Host-session") != nil) != let || (got.Cookie("__Host-renewal") != nil) != let {
			t.Errorf("%s: answered %d, to %q, with the cookies %q; want %d", test.name, got.Status, got.Location, got.Header["Set-Cookie"], test.status)
		}
	}
	ana := b.SignIn("acme", web.RoleAdmin)
	ana.Header.Set("Sec-Fetch-Site", "cross-site")
	if got := ana.Post("/dashboard/sign-out", nil); got.Status != http.StatusForbidden || got.Cookie("__Host-session") != nil {
		t.Errorf("with a session: another site is answered %d", got.Status)
	}
}

func TestSignOut_ProviderFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := b.SignIn("acme", web.RoleAdmin)
	ana.Cookies = []*http.Cookie{{Name: "__Host-renewal", Value: renewal}}
	b.provider.Close()
	got := ana.Post("/dashboard/sign-out", nil)
	if got.Status != http.StatusSeeOther || got.Location != "/dashboard/signed-out" {
		t.Errorf("answered %d, to %q", got.Status, got.Location)
	}
	for _, name := range []string{"__Host-session", "__Host-renewal"} {
		if ended := got.Cookie(name); ended == nil || ended.MaxAge >= 0 || ended.Value != "" {
			t.Errorf("the cookie %s stays: %v", name, ended)
		}
	}
}

func TestSignIn_TwoTabs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := b.Nobody()
	first := begin(t, &ana, "/dashboard/templates")
	kept := ana.Cookies
	second := begin(t, &ana, "/dashboard/campaigns")
	ana.Cookies = append(kept, ana.Cookies...)
	for to, page := range map[string]string{first: "/dashboard/templates", second: "/dashboard/campaigns"} {
		code, sent := b.provider.grant(to)
		got := ana.Get(back(code, sent.Get("state")))
		if got.Status != http.StatusSeeOther || got.Location != page {
			t.Errorf("the tab of %s: %d, to %q", page, got.Status, got.Location)
		}
		for _, c := range (&http.Response{Header: got.Header}).Cookies() {
			if strings.Contains(c.Name, "sign-in") && c.Name != attemptCookie(sent.Get("state")) {
				t.Errorf("the tab of %s changes the cookie %s of another", page, c.Name)
			}
		}
	}
}

func TestSignIn_AbandonedAttempts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := b.Nobody()
	kept := map[string]*http.Cookie{}
	for range 20 {
		got := ana.Get("/dashboard/sign-in?to=/dashboard/" + strings.Repeat("a", 900))
		for _, c := range (&http.Response{Header: got.Header}).Cookies() {
			if kept[c.Name] = c; c.MaxAge < 0 {
				delete(kept, c.Name)
			}
		}
		ana.Cookies = nil
		for _, c := range kept {
			ana.Cookies = append(ana.Cookies, c)
		}
		if len(kept) == 0 || len(kept) > 4 {
			t.Fatalf("the browser keeps %d of them", len(kept))
		}
	}
}

// signedIn returns a user with an expired session and the browser's cookies.
func signedIn(t *testing.T, b bench) webtest.Person {
	t.Helper()
	ana := b.Nobody()
	code, sent := b.provider.grant(begin(t, &ana, ""))
	kept := ana.Get(back(code, sent.Get("state"))).Cookie("__Host-renewal")
	if kept == nil || !kept.HttpOnly || !kept.Secure || kept.SameSite != http.SameSiteLaxMode || kept.MaxAge != 8*3600 {
		t.Fatalf("the cookie of renewals is %v", kept)
	}
	ana.Cookies = []*http.Cookie{kept}
	return ana
}

func TestRenew_CurrentRole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := signedIn(t, b)
	b.provider.with(map[string]any{"cognito:groups": []string{"viewer"}})
	got := ana.Get("/dashboard/sign-in?to=" + url.QueryEscape("/dashboard/templates?q=1"))
	if got.Status != http.StatusSeeOther || got.Location != "/dashboard/templates?q=1" || got.Cookie("__Host-session") == nil {
		t.Fatalf("answered %d, to %q", got.Status, got.Location)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, webtest.Base, http.NoBody)
	r.AddCookie(got.Cookie("__Host-session"))
	if session, err := b.UI.Sessions.Read(r, webtest.Base); err != nil || session.Role != web.RoleViewer || session.Tenant != "acme" {
		t.Errorf("session %+v, %v", session, err)
	}
	if got := ana.Get("/dashboard/sign-in?to=https://evil.example/dashboard"); got.Location != web.Root {
		t.Errorf("a renewal leads to %q", got.Location)
	}
}

func TestRenew_RemovedUser(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(p *provider){
		"removed":  func(p *provider) { p.removed = true },
		"no role":  func(p *provider) { p.claims["cognito:groups"] = nil },
		"a forger": func(p *provider) { p.claims["aud"] = "another" },
	} {
		b := newBench(t)
		ana := signedIn(t, b)
		remove(b.provider)
		got := ana.Get("/dashboard/sign-in")
		if !strings.HasPrefix(got.Location, b.provider.URL+"/authorize?") || got.Cookie("__Host-session") != nil {
			t.Errorf("%s: answered %d, to %q", name, got.Status, got.Location)
		}
		if c := got.Cookie("__Host-renewal"); c == nil || c.MaxAge >= 0 {
			t.Errorf("%s: it is tried again", name)
		}
	}
}

// After a sign-out the refresh token and copies of it renew no session, even if the
// provider fails to revoke it.
func TestRenew_AfterSignOut(t *testing.T) {
	t.Parallel()
	for name, stuck := range map[string]bool{"the provider takes it back": false, "the provider is stuck": true} {
		b := newBench(t)
		ana := signedIn(t, b)
		b.provider.stuck = stuck
		out := ana.Post("/dashboard/sign-out", nil)
		if c := out.Cookie("__Host-renewal"); c == nil || c.MaxAge >= 0 || !strings.HasPrefix(out.Location, b.provider.URL+"/logout?") {
			t.Errorf("%s: signing out leads to %q, the cookie is %v", name, out.Location, c)
		}
		if ana.Get("/dashboard/sign-in").Cookie("__Host-session") != nil {
			t.Errorf("%s: a copy of what renews it gets a session", name)
		}
	}
}
