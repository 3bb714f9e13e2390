package accesstoken_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

const issuer = "https://api.example.com"

var (
	now    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	claims = accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1", Scope: "campaigns:dispatch"}
)

// keyring signs with keys in memory.
type keyring []*ecdsa.PrivateKey

func newKeyring(t *testing.T, n int) keyring {
	t.Helper()
	ring := make(keyring, n)
	for i := range ring {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		ring[i] = key
	}
	return ring
}

func (r keyring) Keys(context.Context) ([]accesstoken.Key, error) {
	keys := make([]accesstoken.Key, 0, len(r))
	for _, k := range r {
		key, err := accesstoken.NewKey(&k.PublicKey)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (r keyring) Sign(_ context.Context, _ string, input []byte) ([]byte, error) {
	return jwt.SigningMethodES256.Sign(string(input), r[0])
}

func (r keyring) id(t *testing.T) string {
	t.Helper()
	keys, err := r.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return keys[0].ID
}

func clock(at time.Time) func() time.Time { return func() time.Time { return at } }

func issue(t *testing.T, ring keyring, at time.Time) string {
	t.Helper()
	i := accesstoken.Issuer{Signer: ring, Now: clock(at)}
	token, err := i.Issue(t.Context(), issuer, claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func request(t *testing.T, authorization ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/external/campaigns/dispatch", http.NoBody)
	for _, a := range authorization {
		r.Header.Add("Authorization", a)
	}
	return r
}

func TestIssue_Claims(t *testing.T) {
	t.Parallel()
	ring := newKeyring(t, 1)
	parts := strings.Split(issue(t, ring, now), ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts, want 3", len(parts))
	}
	wantHeader := map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": ring.id(t)}
	if diff := cmp.Diff(wantHeader, decode(t, parts[0])); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	got := decode(t, parts[1])
	if id, _ := got["jti"].(string); len(id) != 32 {
		t.Errorf("jti %q, want 32 digits", id)
	}
	delete(got, "jti")
	want := map[string]any{
		"iss": issuer, "aud": []any{issuer + "/api/v1"}, "sub": "rcs_1", "client_id": "rcs_1", "tenant": "acme",
		"scope": "campaigns:dispatch", "iat": float64(now.Unix()), "exp": float64(now.Unix() + 3600),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, part string) map[string]any {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAuthorize_IssuedToken(t *testing.T) {
	t.Parallel()
	ring := newKeyring(t, 2)
	token := issue(t, ring, now)
	swapped := keyring{ring[1], ring[0]}
	tests := map[string]struct {
		header string
		at     time.Time
		keys   keyring
	}{
		"at once":              {"Bearer " + token, now, ring},
		"in its last second":   {"Bearer " + token, now.Add(time.Hour - time.Second), ring},
		"scheme in lower case": {"bearer " + token, now, ring},
		"scheme in upper case": {"BEARER   " + token + " ", now, ring},
		"after a key rotation": {"Bearer " + token, now, swapped},
		"a clock slightly off": {"Bearer " + token, now.Add(-2 * time.Second), ring},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := accesstoken.Verifier{Keys: test.keys, Now: clock(test.at)}
			got, err := v.Authorize(request(t, test.header), issuer, "campaigns:dispatch")
			if err != nil {
				t.Fatalf("authorize: %v", err)
			}
			if diff := cmp.Diff(claims, got); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuthorize_Challenge(t *testing.T) {
	t.Parallel()
	ring := newKeyring(t, 1)
	token := issue(t, ring, now)
	const missing = `Bearer realm="campaign-dispatch"`
	const invalid = missing + `, error="invalid_token", error_description="The access token is malformed, expired or revoked"`
	const insufficient = missing + `, error="insufficient_scope", scope="campaigns:cancel"`
	tests := map[string]struct {
		headers   []string
		scope     string
		status    int
		code      string
		challenge string
	}{
		"no header":           {nil, "campaigns:dispatch", 401, "missing_token", missing},
		"an empty header":     {[]string{""}, "campaigns:dispatch", 401, "missing_token", missing},
		"another scheme":      {[]string{"Basic abc"}, "campaigns:dispatch", 401, "missing_token", missing},
		"no token":            {[]string{"Bearer "}, "campaigns:dispatch", 401, "missing_token", missing},
		"no JWT":              {[]string{"Bearer abc"}, "campaigns:dispatch", 401, "invalid_token", invalid},
		"two tokens":          {[]string{"Bearer " + token, "Bearer " + token}, "campaigns:dispatch", 401, "invalid_token", invalid},
		"something behind it": {[]string{"Bearer " + token + " x"}, "campaigns:dispatch", 401, "invalid_token", invalid},
		"a huge one":          {[]string{"Bearer " + strings.Repeat("a", 1<<20)}, "campaigns:dispatch", 401, "invalid_token", invalid},
		"another scope":       {[]string{"Bearer " + token}, "campaigns:cancel", 403, "insufficient_scope", insufficient},
		"part of a scope":     {[]string{"Bearer " + token}, "campaigns", 403, "insufficient_scope", missing + `, error="insufficient_scope", scope="campaigns"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := accesstoken.Verifier{Keys: ring, Now: clock(now)}
			_, err := v.Authorize(request(t, test.headers...), issuer, test.scope)
			var problem *httpapi.Problem
			if !errors.As(err, &problem) {
				t.Fatalf("error %v, want a problem", err)
			}
			if problem.Status != test.status || problem.Code != test.code {
				t.Errorf("got %d %s, want %d %s", problem.Status, problem.Code, test.status, test.code)
			}
			if got := problem.Header.Get("WWW-Authenticate"); got != test.challenge {
				t.Errorf("challenge %s, want %s", got, test.challenge)
			}
		})
	}
}

// forge signs a token with the ring's first key after edit has changed it.
func forge(t *testing.T, ring keyring, edit func(header, claims map[string]any)) string {
	t.Helper()
	header := map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": ring.id(t)}
	body := map[string]any{
		"iss": issuer, "aud": issuer + "/api/v1", "sub": "rcs_1", "client_id": "rcs_1", "tenant": "acme",
		"scope": "campaigns:dispatch", "iat": now.Unix(), "exp": now.Unix() + 3600, "jti": "1",
	}
	edit(header, body)
	input := encode(t, header) + "." + encode(t, body)
	signature, err := ring.Sign(t.Context(), "", []byte(input))
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func TestVerify_ForgedTokens(t *testing.T) {
	t.Parallel()
	ring, stranger := newKeyring(t, 1), newKeyring(t, 1)
	header := func(name string, value any) func(h, c map[string]any) {
		return func(h, _ map[string]any) { h[name] = value }
	}
	claim := func(name string, value any) func(h, c map[string]any) {
		return func(_, c map[string]any) { c[name] = value }
	}
	without := func(name string) func(h, c map[string]any) {
		return func(h, c map[string]any) { delete(h, name); delete(c, name) }
	}
	tests := map[string]string{
		"another key":              forge(t, stranger, header("kid", ring.id(t))),
		"an unknown kid":           forge(t, stranger, func(_, _ map[string]any) {}),
		"no kid":                   forge(t, ring, without("kid")),
		"a kid that is no text":    forge(t, ring, header("kid", 1)),
		"typ JWT":                  forge(t, ring, header("typ", "JWT")),
		"no typ":                   forge(t, ring, without("typ")),
		"alg none by name":         forge(t, ring, header("alg", "none")),
		"alg ES384":                forge(t, ring, header("alg", "ES384")),
		"alg HS256":                hmacToken(t, ring),
		"alg none":                 unsigned(t, ring),
		"a critical extension":     forge(t, ring, header("crit", []string{"b64"})),
		"another audience":         forge(t, ring, claim("aud", "https://other.example.com/api/v1")),
		"no audience":              forge(t, ring, without("aud")),
		"another issuer":           forge(t, ring, claim("iss", "https://other.example.com")),
		"no issuer":                forge(t, ring, without("iss")),
		"expired this second":      forge(t, ring, claim("exp", now.Unix())),
		"no expiry":                forge(t, ring, without("exp")),
		"an expiry that is a text": forge(t, ring, claim("exp", "tomorrow")),
		"not valid yet":            forge(t, ring, claim("nbf", now.Unix()+10)),
		"issued in the future":     forge(t, ring, claim("iat", now.Unix()+10)),
		"issued at no time":        forge(t, ring, without("iat")),
		"no client":                forge(t, ring, without("client_id")),
		"another subject":          forge(t, ring, claim("sub", "rcs_2")),
		"no tenant":                forge(t, ring, without("tenant")),
		"edited claims":            edited(t, ring),
		"a signature in DER":       inDER(t, ring),
		"no signature":             strings.TrimRight(forge(t, ring, func(_, _ map[string]any) {}), "-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
		"an empty text":            "",
		"two dots":                 "..",
	}
	for name, token := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := accesstoken.Verifier{Keys: ring, Now: clock(now)}
			got, err := v.Verify(t.Context(), token, issuer)
			if !errors.Is(err, accesstoken.ErrInvalid) {
				t.Errorf("got %+v and error %v, want it refused", got, err)
			}
		})
	}
}

func TestVerify_UnchangedForgery(t *testing.T) {
	t.Parallel()
	ring := newKeyring(t, 1)
	v := accesstoken.Verifier{Keys: ring, Now: clock(now)}
	if _, err := v.Verify(t.Context(), forge(t, ring, func(_, _ map[string]any) {}), issuer); err != nil {
		t.Errorf("an unchanged forged token was refused: %v", err)
	}
}

// hmacToken is signed with the public key as HMAC secret (algorithm confusion).
func hmacToken(t *testing.T, ring keyring) string {
	t.Helper()
	public, err := ring[0].PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, mapClaims())
	token.Header["typ"], token.Header["kid"] = "at+jwt", ring.id(t)
	s, err := token.SignedString(public)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func unsigned(t *testing.T, ring keyring) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodNone, mapClaims())
	token.Header["typ"], token.Header["kid"] = "at+jwt", ring.id(t)
	s, err := token.SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mapClaims() jwt.MapClaims {
	return jwt.MapClaims{
		"iss": issuer, "aud": issuer + "/api/v1", "sub": "rcs_1", "client_id": "rcs_1", "tenant": "acme",
		"scope": "campaigns:dispatch", "iat": now.Unix(), "exp": now.Unix() + 3600,
	}
}

func edited(t *testing.T, ring keyring) string {
	t.Helper()
	parts := strings.Split(issue(t, ring, now), ".")
	body := decode(t, parts[1])
	other := maps.Clone(body)
	other["tenant"] = "globex"
	return parts[0] + "." + encode(t, other) + "." + parts[2]
}

func inDER(t *testing.T, ring keyring) string {
	t.Helper()
	token := issue(t, ring, now)
	input := token[:strings.LastIndex(token, ".")]
	sum := sha256.Sum256([]byte(input))
	der, err := ecdsa.SignASN1(rand.Reader, ring[0], sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(der)
}

// replacedAt holds the keys of a ring, all replaced at the time.
type replacedAt struct {
	keyring
	until time.Time
}

func (r replacedAt) Keys(ctx context.Context) ([]accesstoken.Key, error) {
	keys, err := r.keyring.Keys(ctx)
	for i := range keys {
		keys[i].Until = r.until
	}
	return keys, err
}

func TestVerify_ReplacedKey(t *testing.T) {
	t.Parallel()
	ring := newKeyring(t, 1)
	token := issue(t, ring, now)
	for name, c := range map[string]struct {
		until time.Time
		want  error
	}{
		"issued before its replacement": {now.Add(time.Second), nil},
		"issued at its replacement":     {now, accesstoken.ErrInvalid},
		"issued after its replacement":  {now.Add(-time.Second), accesstoken.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := accesstoken.Verifier{Keys: replacedAt{ring, c.until}, Now: clock(now)}
			if _, err := v.Verify(t.Context(), token, issuer); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestVerify_NoIssuer(t *testing.T) {
	t.Parallel()
	ring := newKeyring(t, 1)
	v := accesstoken.Verifier{Keys: ring, Now: clock(now)}
	if _, err := v.Verify(t.Context(), issue(t, ring, now), ""); err == nil {
		t.Error("an empty issuer was accepted")
	}
}

type noKeys struct{}

func (noKeys) Keys(context.Context) ([]accesstoken.Key, error) { return nil, errors.New("unreachable") }

func TestAuthorize_KeysUnavailable(t *testing.T) {
	t.Parallel()
	ring := newKeyring(t, 1)
	v := accesstoken.Verifier{Keys: noKeys{}, Now: clock(now)}
	_, err := v.Authorize(request(t, "Bearer "+issue(t, ring, now)), issuer, "campaigns:dispatch")
	var problem *httpapi.Problem
	if err == nil || errors.As(err, &problem) {
		t.Errorf("error %v, want an error that is not a *httpapi.Problem", err)
	}
}

// The expected key and thumbprint come from another implementation.
func TestNewKey_Thumbprint(t *testing.T) {
	t.Parallel()
	const x, y = "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"
	point := slices.Concat([]byte{4}, coordinate(t, x), coordinate(t, y))
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	key, err := accesstoken.NewKey(public)
	if err != nil {
		t.Fatal(err)
	}
	got, err := key.JWK()
	if err != nil {
		t.Fatal(err)
	}
	want := accesstoken.JWK{
		Type: "EC", Curve: "P-256", Use: "sig", Algorithm: "ES256",
		X: x, Y: y,
		ID: "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JWK (-want +got):\n%s", diff)
	}
}

func coordinate(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNewKey_OtherCurve(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accesstoken.NewKey(&key.PublicKey); err == nil {
		t.Error("a P-384 key was accepted")
	}
}
