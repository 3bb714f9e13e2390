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

// begin sends a person to the sign-in page.
func (s *Pages) begin(p *webui.Page) error {
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
	http.SetCookie(p.W, kept)
	return p.Redirect(to)
}

// finish takes the person whom the sign-in page has sent back.
func (s *Pages) finish(p *webui.Page) error {
	a, ok := s.kept(p.R)
	http.SetCookie(p.W, s.cookie("", -1)) // it serves once
	if !ok || subtle.ConstantTimeCompare([]byte(a.State), []byte(p.Query("state"))) != 1 {
		return &webui.Refusal{Status: http.StatusBadRequest, Key: "signin.other_attempt"}
	}
	if p.Query("error") != "" || p.Query("code") == "" {
		return &webui.Refusal{Status: http.StatusForbidden, Key: "signin.denied"}
	}
	who, err := s.Provider.redeem(p.R.Context(), p.Base, p.Query("code"), a)
	if errors.Is(err, errRefused) {
		slog.WarnContext(p.R.Context(), "a sign-in was refused", "reason", err.Error())
		return &webui.Refusal{Status: http.StatusForbidden, Key: "signin.denied"}
	}
	if err != nil {
		return err
	}
	if who.Tenant == "" || who.Email == "" || who.role() == "" {
		return p.RenderStatus(http.StatusForbidden, "signin.no_place", "signin_no_place.html", nil)
	}
	if err := s.welcome(p, who); err != nil {
		return err
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

// signOut ends the session here and at the provider. Whose session is over
// already is signed out there all the same.
func (s *Pages) signOut(p *webui.Page) error {
	if p.SignedIn() {
		if err := p.FromOwnPage(); err != nil {
			return err
		}
	}
	to, err := s.Provider.signOutURL(p.R.Context(), p.Base)
	if err != nil {
		return err
	}
	http.SetCookie(p.W, s.Sessions.End())
	return p.Redirect(to)
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
	return s.cookie(base64.RawURLEncoding.EncodeToString(text), int(attemptLife.Seconds())), nil
}

// kept returns the attempt that the browser keeps.
func (s *Pages) kept(r *http.Request) (a attempt, ok bool) {
	cookie, err := r.Cookie(s.cookieName())
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

// cookieName has the prefix that makes browsers insist on HTTPS and this host alone.
func (s *Pages) cookieName() string {
	if s.Sessions.Secure {
		return "__Host-sign-in"
	}
	return "sign-in"
}

func (s *Pages) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever there is HTTPS
		Name: s.cookieName(), Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: s.Sessions.Secure, SameSite: http.SameSiteLaxMode, // the provider's page leads back
	}
}
