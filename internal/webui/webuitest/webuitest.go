// Package webuitest opens pages of the dashboard in tests, as people who have
// signed in.
package webuitest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/accesstoken"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webui"
)

// Base is the address of the sites.
const Base = "https://campaigns.example"

// Area is a part of the dashboard: its pages and its files.
type Area struct {
	Pages interface {
		Register(ui *webui.UI, mux *http.ServeMux)
	}
	Files webui.Area
}

// Site is a dashboard of some areas.
type Site struct {
	UI *webui.UI

	tb  testing.TB
	mux *http.ServeMux

	mu      sync.Mutex
	entries []campaign.AuditEntry
	refuse  error
}

// UI returns a dashboard's ui on which nothing is registered yet, with a signing
// key of its own.
func UI(tb testing.TB, now func() time.Time) *webui.UI {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &webui.UI{
		Sessions: &webui.Sessions{Signer: keyring{key}, Now: now, Secure: true},
		Now:      now, BaseURL: Base, SignInOrigin: "https://sign-in.example",
	}
}

// New returns a dashboard of the areas. Its ui keeps the audit log in memory,
// unless it has an auditor already.
func New(tb testing.TB, ui *webui.UI, areas ...Area) *Site {
	tb.Helper()
	s := &Site{UI: ui, tb: tb, mux: http.NewServeMux()}
	if ui.Auditor == nil {
		ui.Auditor = s
	}
	var files []webui.Area
	for _, a := range areas {
		files = append(files, a.Files)
		a.Pages.Register(ui, s.mux)
	}
	if err := ui.Load(files...); err != nil {
		tb.Fatal(err)
	}
	ui.Register(s.mux)
	return s
}

// Audit keeps an entry; it makes a Site the auditor of its ui.
func (s *Site) Audit(_ context.Context, e campaign.AuditEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse == nil {
		s.entries = append(s.entries, e)
	}
	return s.refuse
}

// Audited returns what was written to the audit log.
func (s *Site) Audited() []campaign.AuditEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// RefuseAudit makes every entry of the audit log fail.
func (s *Site) RefuseAudit(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// Person is somebody with a browser.
type Person struct {
	Session webui.Session
	Cookies []*http.Cookie
	Header  http.Header // of every request

	site *Site
}

// Admin returns an admin of a tenant, signed in.
func (s *Site) Admin(tenant string) *Person {
	return s.SignedIn(webui.Session{Tenant: tenant, Email: "ana@" + tenant + ".example", Role: webui.RoleAdmin})
}

// Viewer returns a viewer of a tenant, signed in.
func (s *Site) Viewer(tenant string) *Person {
	return s.SignedIn(webui.Session{Tenant: tenant, Email: "vera@" + tenant + ".example", Role: webui.RoleViewer})
}

// SignedIn returns a person with a session, whose CSRF token and end are made
// where it has none.
func (s *Site) SignedIn(session webui.Session) *Person {
	s.tb.Helper()
	if session.CSRF == "" {
		session.CSRF = rand.Text()
	}
	if session.Expires.IsZero() {
		session.Expires = s.UI.Now().Add(webui.SessionLife)
	}
	cookie, err := s.UI.Sessions.Cookie(s.tb.Context(), Base, session)
	if err != nil {
		s.tb.Fatal(err)
	}
	p := s.Nobody()
	p.Session, p.Cookies = session, []*http.Cookie{cookie}
	return p
}

// Nobody returns a person who has not signed in.
func (s *Site) Nobody() *Person {
	return &Person{Header: http.Header{"Accept-Language": {"en"}}, site: s}
}

// Answer is what a person gets.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Cookie returns the cookie that an answer sets, nil for none.
func (a Answer) Cookie(name string) *http.Cookie {
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Get opens a page.
func (p *Person) Get(path string) Answer {
	p.site.tb.Helper()
	return p.Do(httptest.NewRequestWithContext(p.site.tb.Context(), http.MethodGet, Base+path, http.NoBody))
}

// Post sends a form, with the person's CSRF token unless it has the field csrf
// itself.
func (p *Person) Post(path string, form url.Values) Answer {
	p.site.tb.Helper()
	fields := url.Values{"csrf": {p.Session.CSRF}}
	for name, values := range form {
		fields[name] = values
	}
	r := httptest.NewRequestWithContext(p.site.tb.Context(), http.MethodPost, Base+path, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.Do(r)
}

// Do sends any request, with the person's cookies and headers.
func (p *Person) Do(r *http.Request) Answer {
	p.site.tb.Helper()
	for _, c := range p.Cookies {
		r.AddCookie(c)
	}
	for name, values := range p.Header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	p.site.mux.ServeHTTP(w, r)
	return Answer{Status: w.Code, Header: w.Header(), Body: w.Body.String()}
}

// keyring signs with a key in memory.
type keyring struct{ key *ecdsa.PrivateKey }

// Keys returns the one key.
func (k keyring) Keys(context.Context) ([]accesstoken.Key, error) {
	key, err := accesstoken.NewKey(&k.key.PublicKey)
	return []accesstoken.Key{key}, err
}

// Sign signs with it.
func (k keyring) Sign(_ context.Context, input []byte) ([]byte, error) {
	return jwt.SigningMethodES256.Sign(string(input), k.key)
}
