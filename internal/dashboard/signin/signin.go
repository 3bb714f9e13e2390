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

	"campaign-dispatch/internal/webui"
)

// Where people are sent, besides webui.SignInPath.
const (
	callbackPath  = webui.SignInPath + "/callback"
	signOutPath   = webui.Root + "/sign-out"
	signedOutPath = webui.Root + "/signed-out"
	homePath      = webui.Root + "/campaigns"
)

// Pages sign people in and out.
type Pages struct {
	Provider *Provider
	Sessions *webui.Sessions
	Random   io.Reader
	Now      func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area is this part of the dashboard.
func Area() webui.Area { return webui.Area{Files: files} }

// Register serves the pages.
func (s *Pages) Register(ui *webui.UI, mux *http.ServeMux) {
	ui.View(mux, webui.Root, func(p *webui.Page) error { return p.Redirect(homePath) })
	ui.Public(mux, "GET "+webui.SignInPath, s.begin)
	ui.Public(mux, "GET "+callbackPath, s.finish)
	ui.Public(mux, "POST "+signOutPath, s.signOut)
	ui.Public(mux, "GET "+signedOutPath, func(p *webui.Page) error {
		return p.Render("signin.signed_out", "signed_out.html", nil)
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
func (s *Pages) begin(p *webui.Page) error {
	renewed, err := s.renew(p)
	if err != nil {
		return err
	}
	if renewed {
		return p.Redirect(webui.LocalPath(p.Query("to")))
	}
	state, err := s.random()
	if err != nil {
		return err
	}
	nonce, err := s.random()
	if err != nil {
		return err
	}
	a := attempt{State: state, Nonce: nonce, Verifier: oauth2.GenerateVerifier(), To: webui.LocalPath(p.Query("to"))}
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
// now, and tells whether it did.
func (s *Pages) renew(p *webui.Page) (bool, error) {
	renewal := s.renewal(p)
	if renewal == "" {
		return false, nil
	}
	who, err := s.Provider.renew(p.R.Context(), p.Base, renewal)
	if errors.Is(err, errRefused) || err == nil && !who.hasPlace() {
		http.SetCookie(p.W, s.cookie(renewalCookie, "", -1))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.welcome(p, who)
}

// maxAttempts is how many sign-ins that are not finished a browser keeps: a
// request has room for some kilobytes of cookies.
const maxAttempts = 4

// makeRoom gives up the attempts that the browser keeps where they are many.
func (s *Pages) makeRoom(p *webui.Page) {
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
func (s *Pages) finish(p *webui.Page) error {
	a, ok := s.kept(p.R, p.Query("state"))
	if ok {
		http.SetCookie(p.W, s.cookie(attemptName(a.State), "", -1)) // it serves once
	}
	if !ok || subtle.ConstantTimeCompare([]byte(a.State), []byte(p.Query("state"))) != 1 {
		return &webui.Refusal{Status: http.StatusBadRequest, Key: "signin.other_attempt"}
	}
	if p.Query("error") != "" || p.Query("code") == "" {
		return &webui.Refusal{Status: http.StatusForbidden, Key: "signin.denied"}
	}
	who, renewal, err := s.Provider.redeem(p.R.Context(), p.Base, p.Query("code"), a)
	if errors.Is(err, errRefused) {
		slog.WarnContext(p.R.Context(), "a sign-in was refused", "reason", err.Error())
		return &webui.Refusal{Status: http.StatusForbidden, Key: "signin.denied"}
	}
	if err != nil {
		return err
	}
	if !who.hasPlace() {
		return p.RenderStatus(http.StatusForbidden, "signin.no_place", "signin_no_place.html", nil)
	}
	if err := s.welcome(p, who); err != nil {
		return err
	}
	if renewal != "" && len(renewal) <= longestRenewal {
		http.SetCookie(p.W, s.cookie(renewalCookie, renewal, int(renewalLife.Seconds())))
	}
	return p.Redirect(a.To)
}

// welcome begins the person's session.
func (s *Pages) welcome(p *webui.Page, who person) error {
	csrf, err := s.random()
	if err != nil {
		return err
	}
	cookie, err := s.Sessions.Cookie(p.R.Context(), p.Base, webui.Session{
		Tenant: who.Tenant, Email: who.Email, Role: who.role(), CSRF: csrf, Expires: s.Now().Add(webui.SessionLife),
	})
	if err != nil {
		return err
	}
	http.SetCookie(p.W, cookie)
	return nil
}

// signOut ends the session here, and at the provider where that can be reached.
// Whose session is over already is signed out there all the same.
func (s *Pages) signOut(p *webui.Page) error {
	asked := p.FromOwnSite // another site's form carries no session
	if p.SignedIn() {
		asked = p.FromOwnPage
	}
	if err := asked(); err != nil {
		return err
	}
	http.SetCookie(p.W, s.Sessions.End())
	http.SetCookie(p.W, s.cookie(renewalCookie, "", -1))
	to, err := s.Provider.signOutURL(p.R.Context(), p.Base)
	if err != nil {
		slog.WarnContext(p.R.Context(), "a session has only ended in the browser", "error", err)
		return p.Redirect(signedOutPath)
	}
	if renewal := s.renewal(p); renewal != "" {
		if err := s.Provider.forget(p.R.Context(), renewal); err != nil {
			slog.WarnContext(p.R.Context(), "what renews a session is only gone from the browser", "error", err)
		}
	}
	return p.Redirect(to)
}

// renewal is what the browser keeps to renew the person's session, or "".
func (s *Pages) renewal(p *webui.Page) string {
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
		a.To = webui.Root
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
	a.To = webui.LocalPath(a.To)
	return a, true
}

// The cookies besides the session's. The pool decides how long a renewal is good.
const (
	attemptCookie  = "sign-in-"
	renewalCookie  = "renewal"
	renewalLife    = 8 * time.Hour
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
