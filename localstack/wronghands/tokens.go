package wronghands

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
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// hand is who asks, by an Authorization header, and what they are answered.
type hand struct {
	name, header string
	status       int
}

// hands are all who have no right to what is the victim's.
func (w *World) hands(ctx context.Context, keysAt string) ([]hand, error) {
	all := []hand{
		{"no token", "", http.StatusUnauthorized},
		{"no scheme", w.access, http.StatusUnauthorized},
		{"a Basic header", "Basic " + base64.StdEncoding.EncodeToString([]byte(w.victim.credential+":"+w.victim.secret)), http.StatusUnauthorized},
		{"an error file's name", "Bearer " + rand.Text() + rand.Text(), http.StatusUnauthorized},
	}
	forged, err := w.forgeries(ctx, w.tokens, w.access, keysAt, map[string]any{"tenant": w.thief.tenant})
	if err != nil {
		return nil, err
	}
	for name, token := range forged {
		all = append(all, hand{name, "Bearer " + token, http.StatusUnauthorized})
	}
	session, err := w.session(ctx, w.victim.tenant, web.RoleAdmin)
	if err != nil {
		return nil, err
	}
	refresh, err := w.refreshToken(ctx)
	if err != nil {
		return nil, err
	}
	all = append(all,
		hand{"a session of the dashboard", "Bearer " + session.cookie.Value, http.StatusUnauthorized},
		hand{"a refresh token", "Bearer " + refresh, http.StatusUnauthorized},
	)
	signed, err := w.signed(ctx)
	return append(all, signed...), err
}

// signed are those with tokens of the service's own key.
func (w *World) signed(ctx context.Context) (all []hand, err error) {
	base, now, own := w.env["BASE_URL"], time.Now(), w.victim.claims()
	scope := func(scope string) accesstoken.Claims {
		return accesstoken.Claims{Tenant: own.Tenant, ClientID: own.ClientID, Scope: scope}
	}
	for _, s := range []struct {
		name   string
		base   string
		at     time.Time
		claims accesstoken.Claims
		status int
	}{
		{"no scope", base, now, scope(""), http.StatusForbidden},
		{"another scope", base, now, scope("campaigns:read"), http.StatusForbidden},
		{"a longer scope", base, now, scope(campaign.ScopeDispatch + "er"), http.StatusForbidden},
		{"a part of the scope", base, now, scope("campaigns"), http.StatusForbidden},
		{"expired", base, now.Add(-accesstoken.Lifetime - time.Minute), own, http.StatusUnauthorized},
		{"of tomorrow", base, now.Add(24 * time.Hour), own, http.StatusUnauthorized},
		{"of another issuer", "https://api.example.com", now, own, http.StatusUnauthorized},
		{"of an unknown client", base, now, accesstoken.Claims{Tenant: own.Tenant, ClientID: "rcs_unknown", Scope: own.Scope}, http.StatusUnauthorized},
		{"of a revoked client", base, now, accesstoken.Claims{Tenant: own.Tenant, ClientID: w.revoked, Scope: own.Scope}, http.StatusUnauthorized},
		{"of another tenant's client", base, now, accesstoken.Claims{Tenant: own.Tenant, ClientID: w.thief.credential, Scope: own.Scope}, http.StatusUnauthorized},
	} {
		token, err := w.issue(ctx, s.at, s.base, s.claims)
		if err != nil {
			return nil, err
		}
		all = append(all, hand{s.name, "Bearer " + token, s.status})
	}
	return all, nil
}

func (w *World) refreshToken(ctx context.Context) (string, error) {
	a, err := w.call(ctx, http.MethodPost, "/api/v1/oauth/token", map[string]string{
		"grant_type": "client_credentials", "client_id": w.victim.credential, "client_secret": w.victim.secret,
	}, "")
	if err != nil {
		return "", err
	}
	var said struct {
		RefreshToken string `json:"refresh_token"`
	}
	if err := json.Unmarshal([]byte(a.body), &said); err != nil || said.RefreshToken == "" {
		return "", fmt.Errorf("no refresh token: %d %w", a.status, err)
	}
	return said.RefreshToken, nil
}

// lure is an address on this machine where a forger's keys lie.
type lure struct {
	address string
	asked   atomic.Int64 // how often somebody asked for them
	close   func()
}

func lureWithKeys(ctx context.Context) (*lure, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	keys := &lure{address: "http://" + l.Addr().String()}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { keys.asked.Add(1) })}
	keys.close = func() { _ = server.Close() }
	go func() { _ = server.Serve(l) }()
	return keys, nil
}

// forger makes tokens that look like one that holds.
type forger struct {
	header, claims map[string]any
	own            *ecdsa.PrivateKey // of nobody whom the service knows
}

// forgeries are tokens without a signature of the service's own over what they say.
// The changes are what their maker is after; keys lie at an address of theirs.
func (w *World) forgeries(ctx context.Context, service *kms.Signer, valid, keysAt string, changes map[string]any) (map[string]string, error) {
	keys, err := service.Keys(ctx)
	if err != nil {
		return nil, err
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	f := forger{own: own}
	parts := strings.Split(valid, ".")
	for i, to := range []*map[string]any{&f.header, &f.claims} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, to); err != nil {
			return nil, err
		}
	}
	tampered := maps.Clone(f.claims)
	maps.Copy(tampered, changes)
	all := map[string]string{
		"a tampered payload":        parts[0] + "." + segment(tampered) + "." + parts[2],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"two segments":              parts[0] + "." + parts[1],
		"a signature of zeros":      parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"a signature of two tokens": parts[0] + "." + parts[1] + "." + parts[2] + parts[2],
	}
	for _, none := range []string{"none", "None", "nOnE", ""} {
		all["alg "+none] = f.token(map[string]any{"alg": none}, func([]byte) []byte { return nil })
	}
	if err := f.confused(all, keys[0]); err != nil {
		return nil, err
	}
	return all, f.strange(all, keysAt)
}

// confused adds tokens signed by HMAC with the public key as the secret.
func (f forger) confused(all map[string]string, key accesstoken.Key) error {
	der, err := x509.MarshalPKIXPublicKey(key.Public)
	if err != nil {
		return err
	}
	point, err := key.Public.Bytes()
	if err != nil {
		return err
	}
	jwk, err := key.JWK()
	if err != nil {
		return err
	}
	document, err := json.Marshal(jwk)
	if err != nil {
		return err
	}
	armoured := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for name, secret := range map[string][]byte{
		"PEM": armoured, "PEM without its end": []byte(strings.TrimSpace(string(armoured))), "DER": der, "point": point, "JWK": document, "nothing": nil,
	} {
		all["HS256 by the public key as "+name] = f.token(map[string]any{"alg": "HS256"}, func(input []byte) []byte {
			mac := hmac.New(sha256.New, secret)
			_, _ = mac.Write(input)
			return mac.Sum(nil)
		})
	}
	return nil
}

// strange adds tokens signed by a key of the maker's own, to which they point in every
// way there is.
func (f forger) strange(all map[string]string, keysAt string) error {
	key, err := accesstoken.NewKey(&f.own.PublicKey)
	if err != nil {
		return err
	}
	jwk, err := key.JWK()
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&f.own.PublicKey)
	if err != nil {
		return err
	}
	for name, header := range map[string]map[string]any{
		"the service's kid":       {},
		"its own kid":             {"kid": key.ID},
		"no kid":                  {"kid": nil},
		"jwk":                     {"jwk": jwk},
		"jwk and its kid":         {"jwk": jwk, "kid": key.ID},
		"jku":                     {"jku": keysAt + "/jwks.json", "kid": key.ID},
		"x5u":                     {"x5u": keysAt + "/cert.pem"},
		"x5c":                     {"x5c": []string{base64.StdEncoding.EncodeToString(der)}},
		"a kid that is a path":    {"kid": "../../../../dev/null"},
		"a kid that is a address": {"kid": keysAt + "/key"},
		"a kid that is a query":   {"kid": "x' UNION SELECT '1"},
		"a kid that is a list":    {"kid": []string{key.ID}},
	} {
		all["its own key, "+name] = f.token(header, func(input []byte) []byte {
			signature, err := jwt.SigningMethodES256.Sign(string(input), f.own)
			if err != nil {
				panic(err) // the key is of that curve
			}
			return signature
		})
	}
	return nil
}

func (f forger) token(header map[string]any, sign func(input []byte) []byte) string {
	all := maps.Clone(f.header)
	maps.Copy(all, header)
	input := segment(all) + "." + segment(f.claims)
	return input + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(input)))
}

func segment(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was JSON
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
