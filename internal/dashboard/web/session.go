package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Role is a person's role. All roles read; an author also writes templates and sends
// campaigns, an approver also approves campaigns, and an admin may do everything.
type Role string

// The roles of a tenant's users.
const (
	RoleAdmin    Role = "admin"
	RoleAuthor   Role = "author"
	RoleApprover Role = "approver"
	RoleViewer   Role = "viewer"
)

// Roles are all roles. A person in several groups of the user pool has the first one.
func Roles() []Role { return []Role{RoleAdmin, RoleAuthor, RoleApprover, RoleViewer} }

// May reports whether a user with the role may do what needs another one. Every role may do what
// a viewer may, and an admin may do everything. An unknown role may do nothing.
func (r Role) May(needed Role) bool {
	return slices.Contains(Roles(), r) && (r == RoleAdmin || r == needed || needed == RoleViewer)
}

// Session is a person who has signed in.
type Session struct {
	Tenant string
	Email  string
	Role   Role
	CSRF   string // sent with every change, in the form field csrf or the header X-CSRF-Token
	// SignedIn is the time of the sign-in, in milliseconds; zero means now. A renewal
	// keeps it, so that ending a person's sessions also ends those being renewed.
	SignedIn time.Time
	Expires  time.Time
}

// Lifetime of a session, and of its renewals after a sign-in. Changes in the user pool
// take effect at the next renewal.
const (
	SessionLife = time.Hour
	RenewalLife = 8 * time.Hour
)

const (
	sessionCookie = "session"
	// sessionType is the typ of a session's JWT. It distinguishes sessions from other
	// tokens.
	sessionType = "session+jwt"
	// maxSession is the maximum size of a session in bytes. Longer ones are not
	// decoded.
	maxSession = 4 << 10
	// maxVerified is the maximum number of cached sessions with verified signatures.
	maxVerified = 1000
)

// ErrNoSession means that a request has no valid session.
var ErrNoSession = errors.New("no session")

// Ends stores until when people's sessions are void.
type Ends interface {
	// EndSessions makes all sessions of a person void that began at or before the time.
	EndSessions(ctx context.Context, tenant, email string, until time.Time) error
	// SessionsEnded returns the time up to which a person's sessions are void, by a
	// consistent read. It is zero if none are.
	SessionsEnded(ctx context.Context, tenant, email string) (time.Time, error)
}

// Sessions stores sessions in a signed cookie.
type Sessions struct {
	Signer accesstoken.Signer
	Ends   Ends
	Now    func() time.Time
	// Secure requires HTTPS. It is false only on a local stack.
	Secure bool

	// verified caches sessions with verified signatures, by base and token: a page that
	// refreshes itself sends the same one every two seconds.
	verified cache.Cache[[2]string, Session]
}

type sessionClaims struct {
	jwt.RegisteredClaims
	Tenant string `json:"tenant"`
	Role   Role   `json:"role"`
	CSRF   string `json:"csrf"`
	// SignedIn is in milliseconds.
	SignedIn int64 `json:"signedIn"`
}

// Cookie returns the cookie of the session for the dashboard at base. The browser keeps
// it while the session may be renewed, see Last.
func (s *Sessions) Cookie(ctx context.Context, base string, session Session) (*http.Cookie, error) {
	if session.SignedIn.IsZero() {
		session.SignedIn = s.Now()
	}
	token, err := s.sign(ctx, base, session)
	if err != nil {
		return nil, fmt.Errorf("sign a session: %w", err)
	}
	kept := session.SignedIn.Add(RenewalLife)
	if kept.Before(session.Expires) {
		kept = session.Expires
	}
	return s.NewCookie(sessionCookie, token, int(kept.Sub(s.Now()).Seconds())), nil
}

// End returns the cookie that deletes a session.
func (s *Sessions) End() *http.Cookie { return s.NewCookie(sessionCookie, "", -1) }

// CookieName adds the prefix __Host-, with which browsers require HTTPS and this host (RFC
// 6265bis §4.1.3).
func (s *Sessions) CookieName(name string) string {
	if s.Secure {
		return "__Host-" + name
	}
	return name
}

// NewCookie returns a cookie of the dashboard for maxAge seconds. A negative maxAge deletes it.
func (s *Sessions) NewCookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever there is HTTPS
		Name: s.CookieName(name), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.Secure, SameSite: http.SameSiteLaxMode, // the sign-in page redirects back
	}
}

func (s *Sessions) sign(ctx context.Context, base string, session Session) (string, error) {
	return form(base).Sign(ctx, s.Signer, sessionClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: base, Audience: jwt.ClaimStrings{form(base).Audience}, Subject: session.Email,
			IssuedAt: jwt.NewNumericDate(s.Now()), ExpiresAt: jwt.NewNumericDate(session.Expires),
		},
		Tenant: session.Tenant, Role: session.Role, CSRF: session.CSRF, SignedIn: session.SignedIn.UnixMilli(),
	})
}

func form(base string) accesstoken.Form {
	return accesstoken.Form{Type: sessionType, Issuer: base, Audience: base + Root}
}

// Read returns the session of a request to the dashboard at base. The error wraps
// ErrNoSession if the session is missing, forged, expired or void. With any other error
// the state is unknown.
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

// Check returns ErrNoSession for a void session. With any other error the state is
// unknown.
func (s *Sessions) Check(ctx context.Context, session Session) error {
	until, err := s.Ends.SessionsEnded(ctx, session.Tenant, session.Email)
	if err != nil {
		return fmt.Errorf("read a session: %w", err)
	}
	if EndedBy(session.SignedIn, until) {
		return ErrNoSession
	}
	return nil
}

// Last returns the browser's last session, even if it is expired or void. The error
// wraps ErrNoSession if there is none.
func (s *Sessions) Last(r *http.Request, base string) (Session, error) {
	token, err := s.token(r)
	if err != nil {
		return Session{}, err
	}
	return s.verify(r.Context(), base, token, func() time.Time { return time.Unix(0, 0) })
}

// EndedBy reports whether sessions of a sign-in are void if those up to until are. A
// zero until voids none.
func EndedBy(signedIn, until time.Time) bool {
	return !until.IsZero() && signedIn.UnixMilli() <= until.UnixMilli()
}

func (s *Sessions) token(r *http.Request) (string, error) {
	cookie, err := r.Cookie(s.CookieName(sessionCookie))
	if err != nil || len(cookie.Value) > maxSession {
		return "", ErrNoSession
	}
	return cookie.Value, nil
}

// verify returns the session of a token that is valid at a time.
func (s *Sessions) verify(ctx context.Context, base, token string, now func() time.Time) (Session, error) {
	var claims sessionClaims
	err := form(base).Parse(ctx, s.Signer, token, now, &claims)
	switch {
	case errors.Is(err, accesstoken.ErrInvalid), err == nil && (claims.Tenant == "" || claims.CSRF == ""):
		return Session{}, ErrNoSession
	case err != nil:
		return Session{}, fmt.Errorf("read a session: %w", err)
	}
	return Session{
		Tenant: claims.Tenant, Email: claims.Subject, Role: claims.Role, CSRF: claims.CSRF,
		SignedIn: time.UnixMilli(claims.SignedIn).UTC(), Expires: claims.ExpiresAt.Time,
	}, nil
}
