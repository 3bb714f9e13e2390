package prove

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// credential is an Authorization header without a right to the owner's resourceIDs, and the
// status of the answer.
type credential struct {
	name, header string
	status       int
}

func (w *authzFixture) wrongCredentials(ctx context.Context, t *testing.T, jwks string) []credential {
	t.Helper()
	session := w.session(ctx, t, time.Now(), w.env["BASE_URL"], w.owner.id, web.RoleAdmin)
	all := []credential{
		{"no token", "", 0},
		{"no scheme", w.ownersToken, 0},
		{"a Basic header", "Basic " + base64.StdEncoding.EncodeToString([]byte(w.owner.credential+":"+w.owner.secret)), 0},
		{"an error file's name", "Bearer " + rand.Text() + rand.Text(), 0},
		{"a session of the dashboard", "Bearer " + session.cookie.Value, 0},
		{"a refresh token", "Bearer " + w.refreshToken(ctx, t), 0},
	}
	for name, token := range w.forgeries(ctx, t, w.tokens, w.ownersToken, jwks, map[string]any{"tenant": w.attacker.id}) {
		all = append(all, credential{name, "Bearer " + token, 0})
	}
	base, now, own := w.env["BASE_URL"], time.Now(), w.owner.claims()
	with := func(change func(*accesstoken.Claims)) accesstoken.Claims {
		c := own
		change(&c)
		return c
	}
	scope := func(scope string) accesstoken.Claims { return with(func(c *accesstoken.Claims) { c.Scope = scope }) }
	client := func(id string) accesstoken.Claims { return with(func(c *accesstoken.Claims) { c.ClientID = id }) }
	for _, s := range []struct {
		name, base string
		at         time.Time
		claims     accesstoken.Claims
		status     int
	}{ // signed by the service's own key
		{"no scope", base, now, scope(""), http.StatusForbidden},
		{"another scope", base, now, scope("campaigns:read"), http.StatusForbidden},
		{"a longer scope", base, now, scope(account.ScopeDispatch + "er"), http.StatusForbidden},
		{"a part of the scope", base, now, scope("campaigns"), http.StatusForbidden},
		{"expired", base, now.Add(-accesstoken.Lifetime - time.Minute), own, 0},
		{"of tomorrow", base, now.Add(24 * time.Hour), own, 0},
		{"of another issuer", "https://api.example.com", now, own, 0},
		{"of an unknown client", base, now, client("rcs_unknown"), 0},
		{"of a revoked client", base, now, client(w.revoked), 0},
		{"of another tenant's client", base, now, client(w.attacker.credential), 0},
	} {
		all = append(all, credential{s.name, "Bearer " + w.issue(ctx, t, s.at, s.base, s.claims), s.status})
	}
	for i := range all {
		if all[i].status == 0 {
			all[i].status = http.StatusUnauthorized
		}
	}
	return all
}

func (w *authzFixture) refreshToken(ctx context.Context, t *testing.T) string {
	t.Helper()
	a := w.call(ctx, t, http.MethodPost, "/api/v1/oauth/token", map[string]string{
		"grant_type": "client_credentials", "client_id": w.owner.credential, "client_secret": w.owner.secret,
	}, "")
	var got struct {
		RefreshToken string `json:"refresh_token"`
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.RefreshToken == "" {
		t.Fatalf("no refresh token: %d %v", a.status, err)
	}
	return got.RefreshToken
}

// fakeJWKS is an address of the attacker's keys on this machine.
type fakeJWKS struct {
	*httptest.Server

	requests atomic.Int64
}

func serveFakeJWKS(t *testing.T) *fakeJWKS {
	t.Helper()
	s := &fakeJWKS{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.requests.Add(1) }))
	t.Cleanup(s.Close)
	return s
}

// forger makes tokens that resemble a valid one.
type forger struct {
	header, claims map[string]any
	own            *ecdsa.PrivateKey // that the service does not know
}

// forgeries are tokens without the service's signature over their contents. The changes
// are to the claims; jwks is the address of the attacker's keys.
func (w *authzFixture) forgeries(ctx context.Context, t *testing.T, service *kms.Signer, valid, jwks string, changes map[string]any) map[string]string {
	t.Helper()
	keys, err := service.Keys(ctx)
	check(t, err)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	f := forger{own: own}
	parts := strings.Split(valid, ".")
	for i, to := range []*map[string]any{&f.header, &f.claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		check(t, err)
		check(t, json.Unmarshal(text, to))
	}
	tampered := maps.Clone(f.claims)
	maps.Copy(tampered, changes)
	all := map[string]string{
		"a tampered payload":        parts[0] + "." + segment(t, tampered) + "." + parts[2],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"two segments":              parts[0] + "." + parts[1],
		"a signature of zeros":      parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"a signature of two tokens": parts[0] + "." + parts[1] + "." + parts[2] + parts[2],
	}
	for _, none := range []string{"none", "None", "nOnE", ""} {
		all["alg "+none] = f.token(t, map[string]any{"alg": none}, func([]byte) []byte { return nil })
	}
	f.addHMAC(t, all, keys[0])
	f.addOwnKey(t, all, jwks)
	return all
}

// addHMAC adds tokens signed by HMAC with the public key as the secret.
func (f forger) addHMAC(t *testing.T, all map[string]string, key accesstoken.Key) {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public)
	check(t, err)
	point, err := key.Public.Bytes()
	check(t, err)
	jwk, err := key.JWK()
	check(t, err)
	document, err := json.Marshal(jwk)
	check(t, err)
	armoured := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for name, secret := range map[string][]byte{
		"PEM": armoured, "PEM without its end": []byte(strings.TrimSpace(string(armoured))), "DER": der, "point": point, "JWK": document, "nothing": nil,
	} {
		all["HS256 by the public key as "+name] = f.token(t, map[string]any{"alg": "HS256"}, func(input []byte) []byte {
			mac := hmac.New(sha256.New, secret)
			_, _ = mac.Write(input)
			return mac.Sum(nil)
		})
	}
}

// addOwnKey adds tokens signed by a key of the attacker's own, with every header that
// refers to it.
func (f forger) addOwnKey(t *testing.T, all map[string]string, jwks string) {
	t.Helper()
	key, err := accesstoken.NewKey(&f.own.PublicKey)
	check(t, err)
	jwk, err := key.JWK()
	check(t, err)
	der, err := x509.MarshalPKIXPublicKey(&f.own.PublicKey)
	check(t, err)
	for name, header := range map[string]map[string]any{
		"the service's kid":     {},
		"its own kid":           {"kid": key.ID},
		"no kid":                {"kid": nil},
		"jwk":                   {"jwk": jwk},
		"jwk and its kid":       {"jwk": jwk, "kid": key.ID},
		"jku":                   {"jku": jwks + "/jwks.json", "kid": key.ID},
		"x5u":                   {"x5u": jwks + "/cert.pem"},
		"x5c":                   {"x5c": []string{base64.StdEncoding.EncodeToString(der)}},
		"a path as kid":         {"kid": "../../../../dev/null"},
		"an address as kid":     {"kid": jwks + "/key"},
		"a query of SQL as kid": {"kid": "x' UNION SELECT '1"},
		"a list as kid":         {"kid": []string{key.ID}},
	} {
		all["its own key, "+name] = f.token(t, header, func(input []byte) []byte {
			signature, err := jwt.SigningMethodES256.Sign(string(input), f.own)
			check(t, err)
			return signature
		})
	}
}

func (f forger) token(t *testing.T, header map[string]any, sign func(input []byte) []byte) string {
	t.Helper()
	all := maps.Clone(f.header)
	maps.Copy(all, header)
	input := segment(t, all) + "." + segment(t, f.claims)
	return input + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(input)))
}

func segment(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	check(t, err)
	return base64.RawURLEncoding.EncodeToString(text)
}
