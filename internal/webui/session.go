package webui

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/accesstoken"
)

// Role is what a person may do: a viewer reads, an admin changes too.
type Role string

// The roles of a tenant's users.
const (
	RoleAdmin  Role = "admin"
	RoleViewer Role = "viewer"
)

// Session is a person who has signed in.
type Session struct {
	Tenant  string
	Email   string
	Role    Role
	CSRF    string // goes with every change, in a form's field csrf or the header X-CSRF-Token
	Expires time.Time
}

// SessionLife is how long a session lasts, and how long somebody goes on who may
// not any more: a session that is over is renewed with what they may by then.
const SessionLife = time.Hour

const (
	// sessionType is the typ of a session's JWT, so that it is never taken for
	// another token.
	sessionType = "session+jwt"
	// maxSession is more than any session has in bytes; longer ones are not decoded.
	maxSession = 4 << 10
)

// ErrNoSession says that a request carries no session that is valid now.
var ErrNoSession = errors.New("no session")

// Sessions keeps who has signed in, in a signed cookie.
type Sessions struct {
	Signer accesstoken.Signer
	Now    func() time.Time
	// Secure says that the dashboard is served by HTTPS alone, as it is everywhere
	// but on one's own machine.
	Secure bool
}

type sessionClaims struct {
	jwt.RegisteredClaims
	Tenant string `json:"tenant"`
	Role   Role   `json:"role"`
	CSRF   string `json:"csrf"`
}

// Cookie returns the cookie of the session of the dashboard at base.
func (s *Sessions) Cookie(ctx context.Context, base string, session Session) (*http.Cookie, error) {
	token, err := s.sign(ctx, base, session)
	if err != nil {
		return nil, fmt.Errorf("sign a session: %w", err)
	}
	c := s.cookie(token) //nolint:gosec // as cookie has it
	c.MaxAge = int(session.Expires.Sub(s.Now()).Seconds())
	return c, nil
}

// End returns the cookie that ends a session.
func (s *Sessions) End() *http.Cookie {
	c := s.cookie("") //nolint:gosec // as cookie has it
	c.MaxAge = -1
	return c
}

// name has the prefix that makes browsers insist on HTTPS and this host alone
// (RFC 6265bis §4.1.3).
func (s *Sessions) name() string {
	if s.Secure {
		return "__Host-session"
	}
	return "session"
}

func (s *Sessions) cookie(value string) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever there is HTTPS
		Name: s.name(), Value: value, Path: "/", HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode,
	}
}

func (s *Sessions) sign(ctx context.Context, base string, session Session) (string, error) {
	keys, err := s.Signer.Keys(ctx)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 {
		return "", errors.New("there is no signing key")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, sessionClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: base, Audience: jwt.ClaimStrings{audience(base)}, Subject: session.Email,
			IssuedAt: jwt.NewNumericDate(s.Now()), ExpiresAt: jwt.NewNumericDate(session.Expires),
		},
		Tenant: session.Tenant, Role: session.Role, CSRF: session.CSRF,
	})
	token.Header["typ"], token.Header["kid"] = sessionType, keys[0].ID
	input, err := token.SigningString()
	if err != nil {
		return "", err
	}
	signature, err := s.Signer.Sign(ctx, keys[0].ID, []byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func audience(base string) string { return base + Root }

// Read returns the session of a request to the dashboard at base; the error wraps
// ErrNoSession where it has none, or one that is forged or over.
func (s *Sessions) Read(r *http.Request, base string) (Session, error) {
	cookie, err := r.Cookie(s.name())
	if err != nil || len(cookie.Value) > maxSession {
		return Session{}, ErrNoSession
	}
	keys, err := s.Signer.Keys(r.Context())
	if err != nil {
		return Session{}, fmt.Errorf("read a session: %w", err)
	}
	var claims sessionClaims
	var key accesstoken.Key
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}), jwt.WithIssuer(base), jwt.WithAudience(audience(base)),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(s.Now), jwt.WithStrictDecoding(),
	)
	_, err = parser.ParseWithClaims(cookie.Value, &claims, func(t *jwt.Token) (_ any, err error) {
		key, err = keyOf(keys, t.Header)
		return key.Public, err
	})
	if err != nil || claims.Tenant == "" || claims.CSRF == "" {
		return Session{}, ErrNoSession
	}
	if claims.IssuedAt == nil || !key.MaySign(claims.IssuedAt.Time) {
		return Session{}, ErrNoSession
	}
	return Session{
		Tenant: claims.Tenant, Email: claims.Subject, Role: claims.Role, CSRF: claims.CSRF, Expires: claims.ExpiresAt.Time,
	}, nil
}

// keyOf returns the key that a session's header names, which must be one of ours.
func keyOf(keys []accesstoken.Key, header map[string]any) (accesstoken.Key, error) {
	if kind, _ := header["typ"].(string); !strings.EqualFold(kind, sessionType) {
		return accesstoken.Key{}, ErrNoSession
	}
	for _, k := range keys {
		if k.ID == header["kid"] {
			return k, nil
		}
	}
	return accesstoken.Key{}, ErrNoSession
}
