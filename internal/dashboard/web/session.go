package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/oauth/accesstoken"
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
	Tenant string
	Email  string
	Role   Role
	CSRF   string // goes with every change, in a form's field csrf or the header X-CSRF-Token
	// SignedIn is when the person signed in, to the millisecond: where it is zero it is
	// now. A renewal keeps it, so that what ends the person's sessions ends those too
	// that are being renewed at that moment.
	SignedIn time.Time
	Expires  time.Time
}

// How long a session lasts, and for how long after a sign-in it is renewed. What
// changes in the user pool alone counts from the next renewal on.
const (
	SessionLife = time.Hour
	RenewalLife = 8 * time.Hour
)

const (
	// sessionType is the typ of a session's JWT, so that it is never taken for
	// another token.
	sessionType = "session+jwt"
	// maxSession is more than any session has in bytes; longer ones are not decoded.
	maxSession = 4 << 10
	// maxVerified is how many sessions are kept whose signatures were good.
	maxVerified = 1000
)

// ErrNoSession says that a request carries no session that is valid now.
var ErrNoSession = errors.New("no session")

// Ends keeps up to which instants people's sessions are void.
type Ends interface {
	// EndSessions makes void all sessions of a person that began at the instant or
	// before.
	EndSessions(ctx context.Context, tenant, email string, until time.Time) error
	// SessionsEnded reads consistently up to which instant a person's sessions are
	// void; it is zero where they are not.
	SessionsEnded(ctx context.Context, tenant, email string) (time.Time, error)
}

// Sessions keeps who has signed in, in a signed cookie.
type Sessions struct {
	Signer accesstoken.Signer
	Ends   Ends
	Now    func() time.Time
	// Secure says that the dashboard is served by HTTPS alone, as it is everywhere
	// but on one's own machine.
	Secure bool

	// verified are sessions by their base and token, whose signatures were good: a page
	// that updates itself sends the same one every two seconds.
	verified cache.Cache[[2]string, Session]
}

type sessionClaims struct {
	jwt.RegisteredClaims
	Tenant string `json:"tenant"`
	Role   Role   `json:"role"`
	CSRF   string `json:"csrf"`
	// SignedIn is in milliseconds. Versions before this one leave it out.
	SignedIn int64 `json:"signedIn"`
}

// Cookie returns the cookie of the session of the dashboard at base. The browser
// keeps it for as long as the session may be renewed, see Last.
func (s *Sessions) Cookie(ctx context.Context, base string, session Session) (*http.Cookie, error) {
	if session.SignedIn.IsZero() {
		session.SignedIn = s.Now()
	}
	token, err := s.sign(ctx, base, session)
	if err != nil {
		return nil, fmt.Errorf("sign a session: %w", err)
	}
	c := s.cookie(token) //nolint:gosec // as cookie has it
	kept := session.SignedIn.Add(RenewalLife)
	if kept.Before(session.Expires) {
		kept = session.Expires
	}
	c.MaxAge = int(kept.Sub(s.Now()).Seconds())
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
		Tenant: session.Tenant, Role: session.Role, CSRF: session.CSRF, SignedIn: session.SignedIn.UnixMilli(),
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

// Read returns the session of a request to the dashboard at base. The error wraps
// ErrNoSession where it has none, or one that is forged, over or void; any other
// error leaves open whether it has one.
func (s *Sessions) Read(r *http.Request, base string) (Session, error) {
	session, err := s.Signed(r, base)
	if err == nil {
		err = s.Check(r.Context(), session)
	}
	if err != nil {
		return Session{}, err
	}
	return session, nil
}

// Signed is Read without Check.
func (s *Sessions) Signed(r *http.Request, base string) (Session, error) {
	token, err := s.token(r)
	if err != nil {
		return Session{}, err
	}
	key, now := [2]string{base, token}, s.Now()
	if session, ok := s.verified.Peek(key, now, SessionLife); ok && now.Before(session.Expires) {
		return session, nil
	}
	session, err := s.verify(r.Context(), base, token, s.Now)
	if err == nil {
		s.verified.Put(key, session, now, maxVerified)
	}
	return session, err
}

// Check returns ErrNoSession for a session that is void; any other error leaves open
// whether it is.
func (s *Sessions) Check(ctx context.Context, session Session) error {
	void, err := s.Void(ctx, session)
	if err == nil && void {
		return ErrNoSession
	}
	return err
}

// Last returns the last session that the browser had, also where it is over or
// void; the error wraps ErrNoSession where there is none.
func (s *Sessions) Last(r *http.Request, base string) (Session, error) {
	token, err := s.token(r)
	if err != nil {
		return Session{}, err
	}
	return s.verify(r.Context(), base, token, func() time.Time { return time.Unix(0, 0) })
}

// Void reports whether a session was ended before its time.
func (s *Sessions) Void(ctx context.Context, session Session) (bool, error) {
	until, err := s.Ends.SessionsEnded(ctx, session.Tenant, session.Email)
	if err != nil {
		return false, fmt.Errorf("read a session: %w", err)
	}
	return EndedBy(session.SignedIn, until), nil
}

// EndedBy reports whether sessions of a sign-in are void, where those are up to an
// instant; the zero instant is none.
func EndedBy(signedIn, until time.Time) bool {
	return !until.IsZero() && signedIn.UnixMilli() <= until.UnixMilli()
}

// token returns what the request has for a session.
func (s *Sessions) token(r *http.Request) (string, error) {
	cookie, err := r.Cookie(s.name())
	if err != nil || len(cookie.Value) > maxSession {
		return "", ErrNoSession
	}
	return cookie.Value, nil
}

// verify returns the session of a token that is good at an instant.
func (s *Sessions) verify(ctx context.Context, base, token string, now func() time.Time) (Session, error) {
	keys, err := s.Signer.Keys(ctx)
	if err != nil {
		return Session{}, fmt.Errorf("read a session: %w", err)
	}
	var claims sessionClaims
	var key accesstoken.Key
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}), jwt.WithIssuer(base), jwt.WithAudience(audience(base)),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(now), jwt.WithStrictDecoding(),
	)
	_, err = parser.ParseWithClaims(token, &claims, func(t *jwt.Token) (_ any, err error) {
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
		Tenant: claims.Tenant, Email: claims.Subject, Role: claims.Role, CSRF: claims.CSRF,
		SignedIn: claims.signedIn(), Expires: claims.ExpiresAt.Time,
	}, nil
}

// signedIn returns when the person signed in. Of a session of the version before it
// is the beginning of the second in which the session was issued: in doubt it is void.
func (c sessionClaims) signedIn() time.Time {
	if c.SignedIn == 0 {
		return c.IssuedAt.Time
	}
	return time.UnixMilli(c.SignedIn).UTC()
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
