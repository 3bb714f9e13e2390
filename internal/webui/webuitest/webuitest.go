// Package webuitest lets tests use pages of the dashboard as people do: signed in,
// from forms that they have seen.
package webuitest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/accesstoken"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webui"
)

// Base is the address of the service under test.
const Base = "https://rcs.example.com"

// Pages are an area's pages.
type Pages interface {
	Register(ui *webui.UI, mux *http.ServeMux)
}

// Dashboard is one area of the dashboard, and what was written in its audit log.
type Dashboard struct {
	UI  *webui.UI
	mux *http.ServeMux
	tb  testing.TB

	mu    sync.Mutex
	audit []campaign.AuditEntry
}

// New serves the pages of an area.
func New(tb testing.TB, area webui.Area, pages Pages, now func() time.Time) *Dashboard {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	d := &Dashboard{tb: tb, mux: http.NewServeMux()}
	d.UI = &webui.UI{
		Sessions: &webui.Sessions{Signer: signer{key}, Now: now, Secure: true}, Auditor: d, Now: now, BaseURL: Base,
	}
	if err := d.UI.Load(area); err != nil {
		tb.Fatal(err)
	}
	d.UI.Register(d.mux)
	pages.Register(d.UI, d.mux)
	return d
}

// Audit keeps an entry of the audit log.
func (d *Dashboard) Audit(_ context.Context, e campaign.AuditEntry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.audit = append(d.audit, e)
	return nil
}

// Audited returns the actions and subjects of the audit log, oldest first.
func (d *Dashboard) Audited() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var lines []string
	for _, e := range d.audit {
		lines = append(lines, e.Who+" "+e.Action+" "+e.Subject)
	}
	return lines
}

// Person is somebody who has signed in, or nobody where Cookie is nil.
type Person struct {
	Session  webui.Session
	Cookie   *http.Cookie
	Language string // "en" or "pt"
	d        *Dashboard
}

// SignIn returns a person of a tenant, who reads English.
func (d *Dashboard) SignIn(tenant string, role webui.Role) Person {
	d.tb.Helper()
	s := webui.Session{
		Tenant: tenant, Email: string(role) + "@example.com", Role: role, CSRF: rand.Text(), Expires: d.UI.Now().Add(time.Hour),
	}
	cookie, err := d.UI.Sessions.Cookie(context.Background(), Base, s)
	if err != nil {
		d.tb.Fatal(err)
	}
	return Person{Session: s, Cookie: cookie, Language: "en", d: d}
}

// Answer is what a person got.
type Answer struct {
	Status   int
	Location string
	Body     string // as it is, in HTML
	Header   http.Header
}

// Text returns the page without its tags.
func (a Answer) Text() string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(a.Body, " "))), " ")
}

var tags = regexp.MustCompile(`<[^>]*>`)

// Value returns the value of a page's first field of the name.
func (a Answer) Value(name string) string {
	found := regexp.MustCompile(`name="` + regexp.QuoteMeta(name) + `" value="([^"]*)"`).FindStringSubmatch(a.Body)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// Get asks for a page.
func (p Person) Get(path string) Answer {
	return p.Do(httptest.NewRequest(http.MethodGet, Base+path, http.NoBody))
}

// Post sends a form, with the person's CSRF token unless it names one.
func (p Person) Post(path string, form url.Values) Answer {
	if !form.Has("csrf") {
		sent := url.Values{"csrf": {p.Session.CSRF}}
		for name, values := range form {
			sent[name] = values
		}
		form = sent
	}
	r := httptest.NewRequest(http.MethodPost, Base+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.Do(r)
}

// Do sends a request as the person.
func (p Person) Do(r *http.Request) Answer {
	if p.Cookie != nil {
		r.AddCookie(p.Cookie)
	}
	r.Header.Set("Accept-Language", p.Language)
	w := httptest.NewRecorder()
	p.d.mux.ServeHTTP(w, r)
	return Answer{Status: w.Code, Location: w.Header().Get("Location"), Body: w.Body.String(), Header: w.Header()}
}

// signer signs sessions with a key of the test's own.
type signer struct{ key *ecdsa.PrivateKey }

func (s signer) Keys(context.Context) ([]accesstoken.Key, error) {
	return []accesstoken.Key{{ID: "test", Public: &s.key.PublicKey}}, nil
}

func (s signer) Sign(_ context.Context, input []byte) ([]byte, error) {
	sum := sha256.Sum256(input)
	r, v, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		return nil, err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	v.FillBytes(signature[32:])
	return signature, nil
}
