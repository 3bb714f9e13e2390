// Package webtest serves pages of the dashboard to tests, which use them as signed-in people with a
// browser.
package webtest

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/review"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Base is the address of the service under test.
const Base = "https://rcs.example.com"

// Dashboard serves one area of the dashboard and keeps its audit log.
type Dashboard struct {
	UI  *web.UI
	mux *http.ServeMux
	tb  testing.TB

	mu     sync.Mutex
	audit  []account.AuditEntry
	used   map[string]bool // tokens of forms, after their tenants
	refuse error
}

// Ends keeps the ends of sessions in memory.
type Ends struct {
	mu     sync.Mutex
	until  map[string]time.Time
	reads  int
	refuse error
}

// EndSessions ends all sessions of a person up to an instant.
func (e *Ends) EndSessions(_ context.Context, tenant, email string, until time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return e.refuse
	}
	if e.until == nil {
		e.until = map[string]time.Time{}
	}
	if key := tenant + " " + strings.ToLower(email); until.After(e.until[key]) {
		e.until[key] = until
	}
	return nil
}

// SessionsEnded returns the time up to which a person's sessions are void.
func (e *Ends) SessionsEnded(_ context.Context, tenant, email string) (time.Time, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reads++
	return e.until[tenant+" "+strings.ToLower(email)], e.refuse
}

// Refuse makes every call fail.
func (e *Ends) Refuse(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuse = err
}

// Reads returns the number of calls of SessionsEnded.
func (e *Ends) Reads() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reads
}

// New serves the pages of an area.
func New(tb testing.TB, area web.Area, pages web.Pages, now func() time.Time) *Dashboard {
	tb.Helper()
	return Serve(tb, UI(tb, now), area, pages)
}

// UI returns a UI without pages, with a new signing key.
func UI(tb testing.TB, now func() time.Time) *web.UI {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &web.UI{
		Sessions: &web.Sessions{Signer: signer{key}, Ends: &Ends{}, Now: now, Secure: true}, Now: now, BaseURL: Base,
		SignInOrigin: "https://sign-in.example",
	}
}

// Serve serves the pages of an area on a UI. It keeps the audit log, unless the UI has a store. others
// are further areas whose pages and texts are used.
func Serve(tb testing.TB, ui *web.UI, area web.Area, pages web.Pages, others ...web.Area) *Dashboard {
	tb.Helper()
	d := &Dashboard{UI: ui, tb: tb, mux: http.NewServeMux(), used: map[string]bool{}}
	if ui.Store == nil {
		ui.Store = d
	}
	loaded, err := loadedOf(append(others, area, upload.Area(), review.Area()))
	if err != nil {
		tb.Fatal(err)
	}
	ui.Share(loaded)
	ui.Register(d.mux)
	pages.Register(ui, d.mux)
	return d
}

// loaded are the UIs of loadedOf, by the contents of their areas' files.
var loaded sync.Map

// loadedOf returns a UI with all pages and texts of areas parsed and checked. It does so once for the same files.
func loadedOf(areas []web.Area) (*web.UI, error) {
	hash := sha256.New()
	for _, area := range areas {
		_, _ = fmt.Fprintf(hash, "%q", area.Texts)
		if err := addFiles(hash, area.Files); err != nil {
			return nil, err
		}
	}
	load, _ := loaded.LoadOrStore(string(hash.Sum(nil)), sync.OnceValues(func() (*web.UI, error) {
		ui := &web.UI{}
		return ui, errors.Join(ui.Load(areas...), ui.Check())
	}))
	return load.(func() (*web.UI, error))()
}

// addFiles writes the names and contents of files to w.
func addFiles(w io.Writer, files fs.FS) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		_, _ = fmt.Fprintf(w, "%q%d\n%s", name, len(content), content)
		return err
	})
}

// Audit keeps an entry of the audit log.
func (d *Dashboard) Audit(_ context.Context, e account.AuditEntry) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse == nil {
		d.audit = append(d.audit, e)
	}
	return d.refuse
}

// AuditForm is Audit.
func (d *Dashboard) AuditForm(ctx context.Context, e account.AuditEntry) error {
	return d.Audit(ctx, e)
}

// UseForm marks a form's token as used.
func (d *Dashboard) UseForm(_ context.Context, tenant, token string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := !d.used[tenant+" "+token]
	d.used[tenant+" "+token] = true
	return fresh, nil
}

// Brand returns no brand.
func (*Dashboard) Brand(context.Context, string) (account.Brand, error) {
	return account.Brand{}, nil
}

// RefuseAudit makes every entry of the audit log fail.
func (d *Dashboard) RefuseAudit(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = err
}

// Audited returns the actions and subjects of the audit log, oldest first, without the entries that a store writes with
// a change.
func (d *Dashboard) Audited() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return linesOf(d.audit)
}

// AuditLog reads the entries of a tenant.
type AuditLog interface {
	// AuditLog returns up to limit entries, newest first, and the next cursor, "" at the end.
	AuditLog(ctx context.Context, tenant, older string, limit int) ([]account.AuditEntry, string, error)
}

// AuditedIn returns the actions and subjects of a store's audit log, oldest first, up to 100.
func AuditedIn(tb testing.TB, log AuditLog, tenant string) []string {
	tb.Helper()
	const most = 100
	entries, _, err := log.AuditLog(tb.Context(), tenant, "", most)
	if err != nil {
		tb.Fatal(err)
	}
	slices.Reverse(entries)
	return linesOf(entries)
}

func linesOf(entries []account.AuditEntry) (lines []string) {
	for _, e := range entries {
		line := append([]string{e.Who, e.Action, e.Subject}, e.Details...)
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

// Person sends requests. Without a Cookie, the person has not signed in.
type Person struct {
	Session  web.Session
	Cookie   *http.Cookie   // of the session
	Cookies  []*http.Cookie // the others
	Language string         // "en" or "pt"
	Header   http.Header    // of every request
	d        *Dashboard
}

// Ends returns the store of the ends of sessions.
func (d *Dashboard) Ends() *Ends { return d.UI.Sessions.Ends.(*Ends) }

// SignIn returns a person of a tenant, who reads English.
func (d *Dashboard) SignIn(tenant string, role web.Role) Person {
	d.tb.Helper()
	return d.SignedIn(web.Session{Tenant: tenant, Email: string(role) + "@example.com", Role: role})
}

// SignedIn returns the person of a session. It adds a CSRF token and an end if the session has none.
func (d *Dashboard) SignedIn(session web.Session) Person {
	d.tb.Helper()
	session.CSRF = cmp.Or(session.CSRF, rand.Text())
	if session.Expires.IsZero() {
		session.Expires = d.UI.Now().Add(web.SessionLife)
	}
	cookie, err := d.UI.Sessions.Cookie(context.Background(), Base, session)
	if err != nil {
		d.tb.Fatal(err)
	}
	p := d.Nobody()
	p.Session, p.Cookie = session, cookie
	return p
}

// Nobody returns a person who has not signed in, and reads English.
func (d *Dashboard) Nobody() Person { return Person{Language: "en", Header: http.Header{}, d: d} }

// Answer is the answer to a request.
type Answer struct {
	Status   int
	Location string
	Body     string // HTML
	Header   http.Header
}

// Cookie returns a cookie that the answer sets, or nil.
func (a Answer) Cookie(name string) *http.Cookie {
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Text returns the page without its tags.
func (a Answer) Text() string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(a.Body, " "))), " ")
}

var tags = regexp.MustCompile(`<[^>]*>`)

// Value returns the value of the page's first field with the name.
func (a Answer) Value(name string) string {
	found := regexp.MustCompile(`name="` + regexp.QuoteMeta(name) + `" value="([^"]*)"`).FindStringSubmatch(a.Body)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// Get requests a page.
func (p Person) Get(path string) Answer {
	return p.Do(httptest.NewRequestWithContext(p.d.tb.Context(), http.MethodGet, Base+path, http.NoBody))
}

// Follow requests the page to which an answer redirects, with the cookies that it sets.
func (p Person) Follow(a Answer) Answer {
	p.Cookies = append(slices.Clone(p.Cookies), (&http.Response{Header: a.Header}).Cookies()...)
	return p.Get(a.Location)
}

// Post sends a form from a page of the dashboard, with the person's CSRF token unless the form has one.
func (p Person) Post(path string, form url.Values) Answer {
	if !form.Has("csrf") {
		sent := url.Values{"csrf": {p.Session.CSRF}}
		maps.Copy(sent, form)
		form = sent
	}
	r := httptest.NewRequestWithContext(p.d.tb.Context(), http.MethodPost, Base+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", Base)
	return p.Do(r)
}

// Do sends a request as the person.
func (p Person) Do(r *http.Request) Answer {
	if p.Cookie != nil {
		r.AddCookie(p.Cookie)
	}
	for _, c := range p.Cookies {
		r.AddCookie(c)
	}
	r.Header.Set("Accept-Language", p.Language)
	maps.Copy(r.Header, p.Header)
	w := httptest.NewRecorder()
	p.d.mux.ServeHTTP(w, r)
	a := Answer{Status: w.Code, Location: w.Header().Get("Location"), Body: w.Body.String(), Header: w.Header()}
	p.d.weigh(r, a)
	return a
}

type signer struct{ key *ecdsa.PrivateKey }

func (s signer) Keys(context.Context) ([]accesstoken.Key, error) {
	return []accesstoken.Key{{ID: "test", Public: &s.key.PublicKey}}, nil
}

func (s signer) Sign(_ context.Context, _ string, input []byte) ([]byte, error) {
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
