// Package signin signs people in and out with an Amazon Cognito user pool, by
// authorization code and PKCE.
package signin

import (
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/dashboard/web"
)

// Paths besides web.SignInPath.
const (
	callbackPath  = web.SignInPath + "/callback"
	signOutPath   = web.Root + "/sign-out"
	signedOutPath = web.Root + "/signed-out"
	homePath      = web.Root + "/overview"
)

// Pages serves sign-in and sign-out.
type Pages struct {
	Provider *Provider
	Sessions *web.Sessions
	Now      func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of sign-in.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"signin", "audit"}} }

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root, web.RoleViewer, func(p *web.Page) error { return p.Redirect(homePath) })
	ui.WithoutSession(mux, "GET "+web.SignInPath, s.begin)
	ui.WithoutSession(mux, "GET "+callbackPath, s.finish)
	ui.WithoutSession(mux, "POST "+signOutPath, s.signOut)
	ui.WithoutSession(mux, "GET "+signedOutPath, func(p *web.Page) error {
		return p.Render("signin.signed_out", "signed_out.html", "signin.signed_out_text")
	})
}

// attempt is a sign-in in progress. It is stored in a cookie, so that a sign-in begun
// in another browser is refused.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	To       string `json:"to"` // the page to show after the sign-in
}

const attemptLife = 15 * time.Minute

// begin renews the session of a person who has signed in recently, and redirects others
// to the sign-in page.
func (s *Pages) begin(p *web.Page) error {
	renewed, err := s.renew(p)
	if err != nil {
		return err
	}
	if renewed {
		return p.Redirect(web.LocalPath(p.Query("to")))
	}
	a := attempt{State: newSecret(), Nonce: newSecret(), Verifier: oauth2.GenerateVerifier(), To: web.LocalPath(p.Query("to"))}
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

// renew begins a new session with the current claims of a person who has signed in
// before. It reports whether it did.
func (s *Pages) renew(p *web.Page) (bool, error) {
	if s.renewal(p) == "" {
		return false, nil
	}
	session, err := s.renewed(p)
	if errors.Is(err, errRefused) {
		http.SetCookie(p.W, s.Sessions.NewCookie(renewalCookie, "", -1))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.welcome(p, session)
}

// renewed returns the session that follows the browser's last one. It keeps the time of
// the sign-in, so that it is void if the last one is. If the last session is missing, or
// its signing key was replaced, the time is unknown, and the renewal is refused if any end
// of the person's sessions is stored. The error wraps errRefused if the session is not
// renewed.
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

// maxAttempts is the maximum number of unfinished sign-ins per browser, because the
// size of cookies is limited.
const maxAttempts = 4

// makeRoom drops the unfinished sign-ins of the browser if there are too many.
func (s *Pages) makeRoom(p *web.Page) {
	var names []string
	for _, c := range p.R.Cookies() {
		if name, ok := strings.CutPrefix(c.Name, s.Sessions.CookieName("")); ok && strings.HasPrefix(name, attemptCookie) {
			names = append(names, name)
		}
	}
	if len(names) < maxAttempts {
		return
	}
	for _, name := range names {
		http.SetCookie(p.W, s.Sessions.NewCookie(name, "", -1))
	}
}

// finish completes a sign-in when the sign-in page redirects back.
func (s *Pages) finish(p *web.Page) error {
	a, ok := s.kept(p.R, p.Query("state"))
	if ok {
		http.SetCookie(p.W, s.Sessions.NewCookie(attemptName(a.State), "", -1)) // single use
	}
	if !ok || subtle.ConstantTimeCompare([]byte(a.State), []byte(p.Query("state"))) != 1 {
		return &web.Refusal{Status: http.StatusBadRequest, Key: "signin.other_attempt"}
	}
	if p.Query("error") != "" || p.Query("code") == "" {
		return &web.Refusal{Status: http.StatusForbidden, Key: "signin.denied"}
	}
	now := s.Now() // any later end of the person's sessions includes this one
	who, renewal, err := s.Provider.redeem(p.R.Context(), p.Base, p.Query("code"), a)
	if errors.Is(err, errRefused) {
		slog.WarnContext(p.R.Context(), "sign-in refused", "reason", err.Error())
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
		http.SetCookie(p.W, s.Sessions.NewCookie(renewalCookie, renewal, int(web.RenewalLife.Seconds())))
	}
	return p.Redirect(a.To)
}

// enter begins the session of a person who has just signed in, unless their sessions
// have ended since: that would cause a redirect loop.
func (s *Pages) enter(p *web.Page, session web.Session) error {
	err := s.Sessions.Check(p.R.Context(), session)
	if errors.Is(err, web.ErrNoSession) {
		return &web.Refusal{Status: http.StatusForbidden, Key: "signin.ended", To: web.SignInPath, ToKey: "signin.again"}
	}
	if err != nil {
		return p.Unavailable(err)
	}
	if err := p.AuditOf(session, "session.sign_in", "", "ui.role."+string(session.Role)); err != nil {
		return err
	}
	return s.welcome(p, session)
}

// session returns a session of the person that begins now.
func (p person) session(now time.Time) web.Session {
	return web.Session{
		Tenant: p.Tenant, Email: p.Email, Role: p.role(), SignedIn: now, Expires: now.Add(web.SessionLife),
	}
}

// welcome sets the session cookie.
func (s *Pages) welcome(p *web.Page, session web.Session) error {
	session.CSRF = newSecret()
	cookie, err := s.Sessions.Cookie(p.R.Context(), p.Base, session)
	if err != nil {
		return err
	}
	http.SetCookie(p.W, cookie)
	return nil
}

// signOut ends all sessions of the person, and revokes the refresh token if the
// provider is reachable. Without a valid session it signs out this browser and the
// provider only.
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
	http.SetCookie(p.W, s.Sessions.NewCookie(renewalCookie, "", -1))
	to := s.leave(p)
	if err != nil {
		slog.ErrorContext(p.R.Context(), "sign-out failed: other sessions remain valid", "error", err.Error())
		p.Session = web.Session{}
		return p.RenderStatus(http.StatusServiceUnavailable, "signin.signed_out", "signed_out.html", "signin.here_alone")
	}
	return p.Redirect(to)
}

// lapsed returns an expired session that could still be renewed, whose owner may have
// other sessions. It returns the zero Session if the owner is unknown.
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

// end ends all sessions of the person. The session's clock may be some milliseconds
// ahead. It also ends them if the audit log cannot be written.
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

// leave revokes the refresh token, and returns the URL that ends the provider's
// session.
func (s *Pages) leave(p *web.Page) (to string) {
	to, err := s.Provider.signOutURL(p.R.Context(), p.Base)
	if err != nil {
		slog.WarnContext(p.R.Context(), "ending the Cognito session failed", "error", err.Error())
		return signedOutPath
	}
	if renewal := s.renewal(p); renewal != "" {
		if err := s.Provider.revoke(p.R.Context(), renewal); err != nil {
			slog.WarnContext(p.R.Context(), "revoking the refresh token failed", "error", err.Error())
		}
	}
	return to
}

// renewal returns the refresh token in the browser's cookie, or "".
func (s *Pages) renewal(p *web.Page) string {
	if kept := p.R.CookiesNamed(s.Sessions.CookieName(renewalCookie)); len(kept) > 0 {
		return kept[0].Value
	}
	return ""
}

// newSecret returns 256 random bits.
func newSecret() string { return random.Token(32) }

// longestTo is the maximum length of the target path, which is stored in a cookie.
const longestTo = 1000

// keep returns the cookie of an attempt.
func (s *Pages) keep(a attempt) (*http.Cookie, error) {
	if len(a.To) > longestTo {
		a.To = web.Root
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode a sign-in: %w", err)
	}
	return s.Sessions.NewCookie(attemptName(a.State), base64.RawURLEncoding.EncodeToString(text), int(attemptLife.Seconds())), nil
}

// kept returns the browser's attempt with the state.
func (s *Pages) kept(r *http.Request, state string) (a attempt, ok bool) {
	cookie, err := r.Cookie(s.Sessions.CookieName(attemptName(state)))
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

// Cookies besides the session's. The user pool sets the lifetime of refresh tokens.
const (
	attemptCookie  = "sign-in-"
	renewalCookie  = "renewal"
	longestRenewal = 3800 // bytes; browsers limit a cookie to 4,096 with its name and attributes
)

// attemptName returns the name of an attempt's cookie. Each tab has its own attempt.
func attemptName(state string) string {
	const enough = 16
	return attemptCookie + state[:min(enough, len(state))]
}
