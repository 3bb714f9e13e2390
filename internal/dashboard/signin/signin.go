// Package signin signs people in and out: by a user pool of Amazon Cognito, with
// an authorization code and PKCE.
package signin

import (
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"campaign-dispatch/internal/dashboard/web"
)

// Where people are sent, besides web.SignInPath.
const (
	callbackPath  = web.SignInPath + "/callback"
	signOutPath   = web.Root + "/sign-out"
	signedOutPath = web.Root + "/signed-out"
	homePath      = web.Root + "/campaigns"
)

// Pages sign people in and out.
type Pages struct {
	Provider *Provider
	Sessions *web.Sessions
	Random   io.Reader
	Now      func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area is this part of the dashboard.
func Area() web.Area { return web.Area{Files: files} }

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.View(mux, web.Root, func(p *web.Page) error { return p.Redirect(homePath) })
	ui.WithoutSession(mux, "GET "+web.SignInPath, s.begin)
	ui.WithoutSession(mux, "GET "+callbackPath, s.finish)
	ui.WithoutSession(mux, "POST "+signOutPath, s.signOut)
	ui.WithoutSession(mux, "GET "+signedOutPath, func(p *web.Page) error {
		return p.Render("signin.signed_out", "signed_out.html", "signin.signed_out_text")
	})
}

// attempt is a sign-in that has begun. The browser keeps it, so that a sign-in
// which began in another browser is not taken for one of its own.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	To       string `json:"to"` // the page that the person is going to
}

// attemptLife is how long a person may take to sign in.
const attemptLife = 15 * time.Minute

// begin lets a person in again who has signed in some hours ago at most, and sends
// all others to the sign-in page.
func (s *Pages) begin(p *web.Page) error {
	renewed, err := s.renew(p)
	if err != nil {
		return err
	}
	if renewed {
		return p.Redirect(web.LocalPath(p.Query("to")))
	}
	state, err := s.random()
	if err != nil {
		return err
	}
	nonce, err := s.random()
	if err != nil {
		return err
	}
	a := attempt{State: state, Nonce: nonce, Verifier: oauth2.GenerateVerifier(), To: web.LocalPath(p.Query("to"))}
	to, err := s.Provider.signInURL(p.R.Context(), p.Base, p.Lang(), a)
	if err != nil {
		return err
	}
	kept, err := s.keep(a)
	if err != nil {
		return err
	}
	s.makeRoom(p)
	http.SetCookie(p.W, kept)
	return p.Redirect(to)
}

// renew begins another session of a person who has signed in before, as they are
// now, and reports whether it did.
func (s *Pages) renew(p *web.Page) (bool, error) {
	if s.renewal(p) == "" {
		return false, nil
	}
	session, err := s.renewed(p)
	if errors.Is(err, errRefused) {
		http.SetCookie(p.W, s.cookie(renewalCookie, "", -1))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.welcome(p, session)
}

// renewed returns the session that comes after the browser's last one. It keeps the
// instant of the sign-in: so it is void where that one is. Where the browser has not
// kept the last one, which versions before this one let it forget, the instant is
// unknown: no end of the person's sessions may be remembered then. The error wraps
// errRefused where the session is not renewed.
func (s *Pages) renewed(p *web.Page) (web.Session, error) {
	ctx, now := p.R.Context(), s.Now()
	who, err := s.Provider.renew(ctx, p.Base, s.renewal(p))
	if err == nil && !who.hasPlace() {
		err = errRefused
	}
	if err != nil {
		return web.Session{}, err
	}
	last, err := s.Sessions.Last(p.R, p.Base)
	if err != nil && !errors.Is(err, web.ErrNoSession) {
		return web.Session{}, p.Unavailable(err)
	}
	ended, err := s.Sessions.Ends.SessionsEnded(ctx, who.Tenant, who.Email)
	if err != nil {
		return web.Session{}, p.Unavailable(err)
	}
	session := who.session(now)
	known := last.Tenant == who.Tenant && strings.EqualFold(last.Email, who.Email)
	if known {
		session.SignedIn = last.SignedIn
	}
	if !known && !ended.IsZero() || web.EndedBy(session.SignedIn, ended) {
		return web.Session{}, fmt.Errorf("renew a session: %w: it was ended", errRefused)
	}
	return session, nil
}

// maxAttempts is how many sign-ins that are not finished a browser keeps: a
// request has room for some kilobytes of cookies.
const maxAttempts = 4

// makeRoom gives up the attempts that the browser keeps where they are many.
func (s *Pages) makeRoom(p *web.Page) {
	var names []string
	for _, c := range p.R.Cookies() {
		if name, ok := strings.CutPrefix(c.Name, s.name("")); ok && strings.HasPrefix(name, attemptCookie) {
			names = append(names, name)
		}
	}
	if len(names) < maxAttempts {
		return
	}
	for _, name := range names {
		http.SetCookie(p.W, s.cookie(name, "", -1))
	}
}

// finish takes the person whom the sign-in page has sent back.
func (s *Pages) finish(p *web.Page) error {
	a, ok := s.kept(p.R, p.Query("state"))
	if ok {
		http.SetCookie(p.W, s.cookie(attemptName(a.State), "", -1)) // it serves once
	}
	if !ok || subtle.ConstantTimeCompare([]byte(a.State), []byte(p.Query("state"))) != 1 {
		return &web.Refusal{Status: http.StatusBadRequest, Key: "signin.other_attempt"}
	}
	if p.Query("error") != "" || p.Query("code") == "" {
		return &web.Refusal{Status: http.StatusForbidden, Key: "signin.denied"}
	}
	now := s.Now() // whatever ends the person's sessions from here on ends this one
	who, renewal, err := s.Provider.redeem(p.R.Context(), p.Base, p.Query("code"), a)
	if errors.Is(err, errRefused) {
		slog.WarnContext(p.R.Context(), "a sign-in was refused", "reason", err.Error())
		return &web.Refusal{Status: http.StatusForbidden, Key: "signin.denied"}
	}
	if err != nil {
		return err
	}
	if !who.hasPlace() {
		return p.RenderStatus(http.StatusForbidden, "signin.no_place", "signin_no_place.html", nil)
	}
	if err := s.enter(p, who.session(now)); err != nil {
		return err
	}
	if renewal != "" && len(renewal) <= longestRenewal {
		http.SetCookie(p.W, s.cookie(renewalCookie, renewal, int(web.RenewalLife.Seconds())))
	}
	return p.Redirect(a.To)
}

// enter begins the session of a person who has just signed in, unless their sessions
// were ended meanwhile: they would be led in circles.
func (s *Pages) enter(p *web.Page, session web.Session) error {
	void, err := s.Sessions.Void(p.R.Context(), session)
	if err != nil {
		return p.Unavailable(err)
	}
	if void {
		return &web.Refusal{Status: http.StatusForbidden, Key: "signin.ended", To: web.SignInPath, ToKey: "signin.again"}
	}
	if err := p.AuditOf(session, "session.sign_in", "", "signin.role_"+string(session.Role)); err != nil {
		return err
	}
	return s.welcome(p, session)
}

// session returns a person's session that begins now.
func (p person) session(now time.Time) web.Session {
	return web.Session{
		Tenant: p.Tenant, Email: p.Email, Role: p.role(), SignedIn: now, Expires: now.Add(web.SessionLife),
	}
}

// welcome gives the browser a session.
func (s *Pages) welcome(p *web.Page, session web.Session) (err error) {
	if session.CSRF, err = s.random(); err != nil {
		return err
	}
	cookie, err := s.Sessions.Cookie(p.R.Context(), p.Base, session)
	if err != nil {
		return err
	}
	http.SetCookie(p.W, cookie)
	return nil
}

// signOut ends the person's sessions everywhere, and what renews this one at the
// provider, where that can be reached. Whoever has no session any more is signed out
// of this browser and at the provider all the same.
func (s *Pages) signOut(p *web.Page) error {
	session, err := s.Sessions.Read(p.R, p.Base)
	asked := p.FromOwnSite // another site's form carries no session
	if err == nil {
		p.Session, asked = session, p.FromOwnPage
	}
	if err := asked(); err != nil {
		return err
	}
	if errors.Is(err, web.ErrNoSession) {
		session, err = s.lapsed(p), nil
	}
	if err == nil {
		err = s.end(p, session)
	}
	http.SetCookie(p.W, s.Sessions.End())
	http.SetCookie(p.W, s.cookie(renewalCookie, "", -1))
	to := s.leave(p)
	if err != nil {
		slog.ErrorContext(p.R.Context(), "sign-out failed: other sessions remain valid", "error", err.Error())
		p.Session = web.Session{}
		return p.RenderStatus(http.StatusServiceUnavailable, "signin.signed_out", "signed_out.html", "signin.here_alone")
	}
	return p.Redirect(to)
}

// lapsed returns the session of a person whose session is over, and could be renewed:
// they may have others. It is of nobody where that cannot be told.
func (s *Pages) lapsed(p *web.Page) web.Session {
	if s.renewal(p) == "" {
		return web.Session{}
	}
	session, err := s.renewed(p)
	if err != nil {
		slog.WarnContext(p.R.Context(), "cannot identify the owner of an expired session", "error", err.Error())
		return web.Session{}
	}
	return session
}

// end ends all sessions of the person. This one may have begun by a clock that is
// some milliseconds ahead. It is tried also where it cannot be written down.
func (s *Pages) end(p *web.Page, session web.Session) error {
	if session.Email == "" {
		return nil
	}
	until := s.Now()
	if session.SignedIn.After(until) {
		until = session.SignedIn
	}
	return errors.Join(
		p.AuditOf(session, "session.sign_out", ""),
		s.Sessions.Ends.EndSessions(p.R.Context(), session.Tenant, session.Email, until),
	)
}

// leave ends at the provider what renews the session, and returns where the provider
// ends its own.
func (s *Pages) leave(p *web.Page) (to string) {
	to, err := s.Provider.signOutURL(p.R.Context(), p.Base)
	if err != nil {
		slog.WarnContext(p.R.Context(), "ending the Cognito session failed", "error", err.Error())
		return signedOutPath
	}
	if renewal := s.renewal(p); renewal != "" {
		if err := s.Provider.forget(p.R.Context(), renewal); err != nil {
			slog.WarnContext(p.R.Context(), "revoking the refresh token failed", "error", err.Error())
		}
	}
	return to
}

// renewal is what the browser keeps to renew the person's session, or "".
func (s *Pages) renewal(p *web.Page) string {
	if kept := p.R.CookiesNamed(s.name(renewalCookie)); len(kept) > 0 {
		return kept[0].Value
	}
	return ""
}

// random returns 256 bits that nobody guesses.
func (s *Pages) random() (string, error) {
	b := make([]byte, 32)
	if _, err := io.ReadFull(s.Random, b); err != nil {
		return "", fmt.Errorf("draw a random value: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}

// longestTo bounds the address that a person is sent to, which goes into a cookie.
const longestTo = 1000

// keep returns the cookie that keeps an attempt.
func (s *Pages) keep(a attempt) (*http.Cookie, error) {
	if len(a.To) > longestTo {
		a.To = web.Root
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("keep a sign-in: %w", err)
	}
	return s.cookie(attemptName(a.State), base64.RawURLEncoding.EncodeToString(text), int(attemptLife.Seconds())), nil
}

// kept returns the attempt of a state that the browser keeps.
func (s *Pages) kept(r *http.Request, state string) (a attempt, ok bool) {
	cookie, err := r.Cookie(s.name(attemptName(state)))
	if err != nil {
		return a, false
	}
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(text, &a) != nil || a.State == "" || a.Nonce == "" || a.Verifier == "" {
		return attempt{}, false
	}
	a.To = web.LocalPath(a.To)
	return a, true
}

// The cookies besides the session's. The pool decides how long a renewal is good.
const (
	attemptCookie  = "sign-in-"
	renewalCookie  = "renewal"
	longestRenewal = 3800 // bytes; browsers keep 4,096 with the name and all
)

// attemptName is the name of an attempt's cookie: each tab that signs in has one.
func attemptName(state string) string {
	const enough = 16
	return attemptCookie + state[:min(enough, len(state))]
}

// name has the prefix that makes browsers insist on HTTPS and this host alone.
func (s *Pages) name(cookie string) string {
	if s.Sessions.Secure {
		return "__Host-" + cookie
	}
	return cookie
}

func (s *Pages) cookie(name, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever there is HTTPS
		Name: s.name(name), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.Sessions.Secure, SameSite: http.SameSiteLaxMode, // the provider's page leads back
	}
}
