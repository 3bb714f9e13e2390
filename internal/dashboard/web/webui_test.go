package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// notes is an example of a dashboard part.
type notes struct{}

var notesFiles = fstest.MapFS{
	"texts.json": {Data: []byte(`{
		"notes.title": {"pt": "Notas", "en": "Notes"}, "notes.hello": {"pt": "Olá, {0}!", "en": "Hello, {0}!"},
		"notes.done": {"pt": "A nota {0} foi salva.", "en": "The note {0} was saved."},
		"notes.odd": {"pt": "O valor {0} não serve.", "en": "The value {0} is of no use."}}`)},
	"notes.html": {Data: []byte(`<h1>{{.T "notes.hello" .Data}}</h1>
<p id="numbers">{{.Number 1234567}} {{.Percent 1 3}} {{.Percent 1 0}} {{.When .Session.Expires}}</p>
<a id="more" href="{{.With "page" "2"}}">{{.T "notes.title"}}</a>`)},
	"notes_part.html": {Data: []byte(`<b>{{.Data}}</b>`)},
}

func (notes) Register(ui *web.UI, mux *http.ServeMux) {
	const path = web.Root + "/notes"
	ui.Get(mux, path, web.RoleViewer, func(p *web.Page) error { return p.Render("notes.title", "notes.html", p.Query("name")) })
	ui.Get(mux, path+"/part", web.RoleViewer, func(p *web.Page) error { return p.Fragment("notes_part.html", p.Query("name")) })
	ui.Get(mux, path+"/pictures", web.RoleViewer, func(p *web.Page) error {
		p.ShowMedia()
		return p.Render("notes.title", "notes.html", "")
	})
	ui.Get(mux, path+"/secret", web.RoleAdmin, func(p *web.Page) error { return p.Fragment("notes_part.html", "secret") })
	ui.Post(mux, path, web.RoleAdmin, func(p *web.Page) error {
		if err := p.Audit("note.write", p.Field("text")); err != nil {
			return err
		}
		return p.Redirect(path)
	})
	ui.Post(mux, path+"/done", web.RoleAdmin, func(p *web.Page) error { return p.Done(path, "notes.done", p.Field("text")) })
	ui.Post(mux, path+"/own", web.RoleViewer, func(p *web.Page) error { return p.Redirect(path) })
	ui.Get(mux, path+"/fails/{how}", web.RoleViewer, func(p *web.Page) error { return failures[p.R.PathValue("how")] })
}

var failures = map[string]error{
	"refusal":  &web.Refusal{Status: http.StatusConflict, Key: "notes.odd", Args: []any{"<i>7</i>"}},
	"problem":  fmt.Errorf("read: %w", &httpapi.Problem{Status: http.StatusBadRequest, Code: "odd", Detail: "It is odd."}),
	"missing":  fmt.Errorf("read: %w", campaign.ErrNotFound),
	"internal": errors.New("the table burns"),
}

func newSite(t *testing.T) *webtest.Dashboard {
	t.Helper()
	return webtest.New(t, web.Area{Files: notesFiles, Texts: []string{"notes"}}, notes{}, clock)
}

func admin(d *webtest.Dashboard) webtest.Person { return d.SignIn("acme", web.RoleAdmin) }

func has(t *testing.T, got webtest.Answer, status int, texts ...string) {
	t.Helper()
	if got.Status != status {
		t.Errorf("status %d, want %d", got.Status, status)
	}
	for _, text := range texts {
		if !strings.Contains(got.Body, text) {
			t.Errorf("the answer lacks %q:\n%s", text, got.Body)
		}
	}
}

func TestPage_LanguageAndFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, accept, cookie string
		want                 []string
	}{
		{"Portuguese is for those who ask for neither", "fr-FR,de;q=0.5", "", []string{"<html lang=\"pt-BR\">", "Olá, Ana!", "1.234.567 33,3%  04/05/2026 10:00"}},
		{"Portuguese of Portugal", "pt-PT", "", []string{"Olá, Ana!"}},
		{"English", "en-GB,en;q=0.9,pt;q=0.1", "", []string{"<html lang=\"en\">", "Hello, Ana!", "1,234,567 33.3%  4 May 2026, 10:00"}},
		{"a choice comes first", "pt-BR", "en", []string{"Hello, Ana!"}},
		{"a choice of what there is not", "pt-BR", "xx", []string{"Olá, Ana!"}},
		{"a broken header", "\x00;;;", "", []string{"Olá, Ana!"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ana := admin(newSite(t))
			ana.Language = test.accept
			if test.cookie != "" {
				ana.Cookies = append(ana.Cookies, &http.Cookie{Name: "lang", Value: test.cookie})
			}
			has(t, ana.Get("/dashboard/notes?name=Ana"), http.StatusOK, test.want...)
		})
	}
}

func TestLanguage_Chosen(t *testing.T) {
	t.Parallel()
	nobody := newSite(t).Nobody()
	got := nobody.Get("/dashboard/language/en?to=%2Fdashboard%2Fnotes%3Fname%3Dx")
	if cookie := got.Cookie("lang"); got.Status != http.StatusSeeOther || cookie == nil || cookie.Value != "en" || !cookie.HttpOnly {
		t.Errorf("answer %d, cookie %v", got.Status, cookie)
	}
	if to := got.Header.Get("Location"); to != "/dashboard/notes?name=x" {
		t.Errorf("leads to %q", to)
	}
	has(t, nobody.Get("/dashboard/language/xx"), http.StatusNotFound)
}

func TestReturnTo_OnlyDashboardPages(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/dashboard/campaigns?status=sending&q=a%26b": "/dashboard/campaigns?status=sending&q=a%26b",
		"/dashboard":                     "/dashboard",
		"":                               web.Root,
		"/":                              web.Root,
		"/api/v1/openapi.json":           web.Root,
		"/dashboards":                    web.Root,
		"https://evil.example/dashboard": web.Root,
		"//evil.example/dashboard":       web.Root,
		"/\\evil.example/dashboard":      web.Root,
		"/dashboard/../api":              web.Root,
		"/dashboard/%2e%2e/api":          web.Root,
		"/dashboard//evil.example":       web.Root,
		"javascript:alert(1)":            web.Root,
		"/dashboard/\r\nSet-Cookie: a=b": web.Root,
		"user@evil.example/dashboard":    web.Root,
	} {
		if got := web.LocalPath(to); got != want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

func TestPage_EscapesInput(t *testing.T) {
	t.Parallel()
	ana := admin(newSite(t))
	got := ana.Get("/dashboard/notes?name=" + url.QueryEscape(`<script>alert("1")</script>`))
	if has(t, got, http.StatusOK, "&lt;script&gt;"); strings.Contains(got.Body, "<script>") {
		t.Errorf("the answer has a script in it:\n%s", got.Body)
	}
	got = ana.Get("/dashboard/notes/fails/refusal")
	has(t, got, http.StatusConflict, "The value &lt;i&gt;7&lt;/i&gt; is of no use.")
}

func TestPage_SecurityHeaders(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for _, test := range []struct {
		got    webtest.Answer
		images string // where they may come from
	}{
		{admin(site).Get("/dashboard/notes"), "'self'"},
		{admin(site).Get("/dashboard/notes/fails/internal"), "'self'"},
		{admin(site).Get("/dashboard/notes/pictures"), "'self' https:"},
		{site.Nobody().Get("/dashboard/notes/pictures"), "'self'"},
		{site.Nobody().Get("/dashboard/nowhere"), "'self'"},
		{site.Nobody().Get("/dashboard/notes"), "'self'"},
	} {
		got := test.got
		want := map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src " + test.images + "; connect-src 'self'; " +
				"frame-ancestors 'none'; base-uri 'none'; form-action 'self' https://sign-in.example",
			"Referrer-Policy": "same-origin", "Cache-Control": "no-store",
		}
		for name, value := range want {
			if got.Header.Get(name) != value {
				t.Errorf("%s is %q, want %q", name, got.Header.Get(name), value)
			}
		}
		if strings.Contains(got.Body, "style=") || strings.Contains(got.Body, "<script>") || strings.Contains(got.Body, "onclick") {
			t.Errorf("the page has something in line:\n%s", got.Body)
		}
	}
}

func TestPage_Errors(t *testing.T) {
	t.Parallel()
	ana := admin(newSite(t))
	has(t, ana.Get("/dashboard/notes/fails/problem"), http.StatusBadRequest, "The request was refused: It is odd.")
	has(t, ana.Get("/dashboard/notes/fails/missing"), http.StatusNotFound, "This page does not exist")
	has(t, ana.Get("/dashboard/nowhere"), http.StatusNotFound, "This page does not exist", `<nav aria-label="Main">`)
	got := ana.Get("/dashboard/notes/fails/internal")
	if has(t, got, http.StatusInternalServerError, "The service failed."); strings.Contains(got.Body, "burns") {
		t.Errorf("an internal error is shown:\n%s", got.Body)
	}
}

func TestRoutes_Roles(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	odd := site.SignedIn(web.Session{Tenant: "acme", Email: "x@acme.example", Role: "owner"})
	for _, test := range []struct {
		name, method, path    string
		admin, viewer, nobody int
	}{
		{"a page", "GET", "/dashboard/notes", 200, 200, 303},
		{"a page for admins", "GET", "/dashboard/notes/secret", 200, 403, 303},
		{"a change", "POST", "/dashboard/notes", 303, 403, 401},
		{"a change of one's own", "POST", "/dashboard/notes/own", 303, 303, 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for who, person := range map[string]struct {
				webtest.Person
				want int
			}{
				"admin": {admin(site), test.admin}, "viewer": {site.SignIn("acme", web.RoleViewer), test.viewer},
				"nobody": {site.Nobody(), test.nobody}, "a role that there is not": {odd, http.StatusForbidden},
			} {
				got := person.Get(test.path)
				if test.method == http.MethodPost {
					got = person.Post(test.path, nil)
				}
				if got.Status != person.want {
					t.Errorf("%s got %d, want %d", who, got.Status, person.want)
				}
			}
		})
	}
}

func TestForbidden_NamesTheRole(t *testing.T) {
	t.Parallel()
	viewer := newSite(t).SignIn("acme", web.RoleViewer)
	if got := viewer.Get("/dashboard/notes/secret"); !strings.Contains(got.Text(), "Your account does not see this page") {
		t.Errorf("a page for admins: %s", got.Text())
	}
	if got := viewer.Post("/dashboard/notes", nil); !strings.Contains(got.Text(), "may not do this") {
		t.Errorf("a change: %s", got.Text())
	}
}

func TestRoutes_WithoutSession(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	nobody := site.Nobody()
	if to := nobody.Get("/dashboard/notes?name=a&b=c").Location; to != "/dashboard/sign-in?to=%2Fdashboard%2Fnotes%3Fname%3Da%26b%3Dc" {
		t.Errorf("a page leads to %q", to)
	}
	if over := nobody.Post("/dashboard/notes", nil); over.Status != http.StatusUnauthorized || over.Location != "" ||
		!strings.Contains(over.Text(), "what you entered comes back") {
		t.Errorf("a change answers %d, to %q: %s", over.Status, over.Location, over.Text())
	}
	nobody.Header.Set("Referer", webtest.Base+"/dashboard/notes/new?a=b")
	if over := nobody.Post("/dashboard/notes", nil); !strings.Contains(over.Body, `href="/dashboard/sign-in?to=%2Fdashboard%2Fnotes%2Fnew%3Fa%3Db"`) {
		t.Errorf("after a change one does not come back: %s", over.Body)
	}
	nobody.Header.Set("HX-Request", "true")
	got := nobody.Get("/dashboard/notes/part")
	if to := got.Header.Get("HX-Redirect"); to != "/dashboard/sign-in" || got.Status != http.StatusNoContent {
		t.Errorf("a part of a page answers %d and leads to %q", got.Status, to)
	}
	nobody.Header.Set("HX-Current-URL", webtest.Base+"/dashboard/notes?a=b")
	if to := nobody.Get("/dashboard/notes/part").Header.Get("HX-Redirect"); to != "/dashboard/sign-in?to=%2Fdashboard%2Fnotes%3Fa%3Db" {
		t.Errorf("a part of a page that is known leads to %q", to)
	}
	sent := nobody.Post("/dashboard/notes", nil)
	if sent.Header.Get("HX-Retarget") != "#over" || sent.Status != http.StatusOK || strings.Contains(sent.Body, "<html") ||
		!strings.Contains(sent.Text(), "Your session is over") {
		t.Errorf("a form within a page answers %d: %s", sent.Status, sent.Body)
	}
}

func TestSession_Invalid(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	ana := admin(site)
	good := ana.Cookie.Value
	elsewhere := admin(newSite(t)).Cookie.Value
	over := site.SignedIn(web.Session{Tenant: "acme", Email: "a@b", Role: web.RoleAdmin, Expires: noon.Add(-time.Second)}).Cookie.Value
	nowhere := site.SignedIn(web.Session{Email: "a@b", Role: web.RoleAdmin}).Cookie.Value
	head, rest, _ := strings.Cut(good, ".")
	body, signature, _ := strings.Cut(rest, ".")
	otherBase, err := site.UI.Sessions.Cookie(t.Context(), "https://other.example", ana.Session)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"none": "", "no token": "abc", "another key": elsewhere, "over": over, "without a tenant": nowhere,
		"another service's":  otherBase.Value,
		"changed":            head + "." + body + "A." + signature,
		"without signature":  head + "." + body + ".",
		"alg none":           "eyJhbGciOiJub25lIiwidHlwIjoic2Vzc2lvbitqd3QifQ." + body + ".",
		"of an endless size": strings.Repeat("a", 1<<20),
	} {
		ana.Cookie = &http.Cookie{Name: "__Host-session", Value: value}
		if got := ana.Get("/dashboard/notes"); got.Status != http.StatusSeeOther {
			t.Errorf("%s: answered %d", name, got.Status)
		}
	}
	ana.Cookie = &http.Cookie{Name: "__Host-session", Value: good}
	has(t, ana.Get("/dashboard/notes"), http.StatusOK)
}

// replaced is a signer whose key changes at an instant.
type replaced struct {
	accesstoken.Signer
	until time.Time
}

func (r replaced) Keys(ctx context.Context) ([]accesstoken.Key, error) {
	keys, err := r.Signer.Keys(ctx)
	for i := range keys {
		keys[i].Until = r.until
	}
	return keys, err
}

func TestSession_ReplacedKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		until  time.Time
		status int
	}{
		"issued before its replacement": {noon.Add(time.Second), http.StatusOK},
		"issued at its replacement":     {noon, http.StatusSeeOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newSite(t)
			ana := admin(site)
			site.UI.Sessions.Signer = replaced{site.UI.Sessions.Signer, c.until}
			if got := ana.Get("/dashboard/notes"); got.Status != c.status {
				t.Errorf("answered %d, want %d", got.Status, c.status)
			}
		})
	}
}

func TestSession_Cookie(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	cookie := admin(site).Cookie
	if cookie.Name != "__Host-session" || !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode ||
		cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != int(web.RenewalLife.Seconds()) {
		t.Errorf("cookie %s", cookie)
	}
}

func TestPost_OtherOrigin(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	ana := admin(site)
	other := admin(site).Session.CSRF
	for name, form := range map[string]url.Values{
		"no token": {"csrf": {}}, "an empty one": {"csrf": {""}}, "another session's": {"csrf": {other}},
	} {
		has(t, ana.Post("/dashboard/notes", form), http.StatusForbidden, "<h1>The page has expired</h1>", "The page has expired. Reload it")
		if len(site.Audited()) != 0 {
			t.Errorf("%s: it was done", name)
		}
	}
	ana.Header.Set("Sec-Fetch-Site", "cross-site")
	has(t, ana.Post("/dashboard/notes", nil), http.StatusForbidden)
	ana.Header.Set("Sec-Fetch-Site", "same-origin")
	has(t, ana.Post("/dashboard/notes", nil), http.StatusSeeOther)
	ana.Header.Set("X-CSRF-Token", ana.Session.CSRF)
	has(t, ana.Post("/dashboard/notes", url.Values{"csrf": {}}), http.StatusSeeOther)
}

func TestPost_AuditedOrRefused(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	ana := admin(site)
	has(t, ana.Post("/dashboard/notes", url.Values{"text": {"  buy milk "}}), http.StatusSeeOther)
	want := []string{"admin@example.com note.write buy milk"}
	if diff := cmp.Diff(want, site.Audited()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	site.RefuseAudit(errors.New("no"))
	has(t, ana.Post("/dashboard/notes", nil), http.StatusInternalServerError)
}

func TestPost_UnreadableForms(t *testing.T) {
	t.Parallel()
	ana := admin(newSite(t))
	send := func(kind string, body []byte) webtest.Answer {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webtest.Base+"/dashboard/notes", bytes.NewReader(body))
		r.Header.Set("Content-Type", kind)
		return ana.Do(r)
	}
	var upload bytes.Buffer
	form := multipart.NewWriter(&upload)
	file, err := form.CreateFormFile("file", "numbers.csv")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(make([]byte, web.MaxForm+1)); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	has(t, send(form.FormDataContentType(), upload.Bytes()), http.StatusRequestEntityTooLarge, "too large")
	has(t, send("application/x-www-form-urlencoded", bytes.Repeat([]byte("a"), web.MaxForm+1)), http.StatusRequestEntityTooLarge)
	has(t, send("multipart/form-data; boundary=x", []byte("--x\r\nnonsense")), http.StatusBadRequest, "could not be read")
	has(t, send("application/x-www-form-urlencoded", []byte("a=%zz")), http.StatusBadRequest)
}

func TestPage_Parts(t *testing.T) {
	t.Parallel()
	ana := admin(newSite(t))
	if got := ana.Get("/dashboard/notes/part?name=x"); got.Body != "<b>x</b>" {
		t.Errorf("the part is %q", got.Body)
	}
	has(t, ana.Get("/dashboard/notes?name=x&page=1"), http.StatusOK, `href="/dashboard/notes?name=x&amp;page=2"`)
	ana.Header.Set("HX-Request", "true")
	got := ana.Post("/dashboard/notes", nil)
	if got.Status != http.StatusNoContent || got.Header.Get("HX-Redirect") != "/dashboard/notes" {
		t.Errorf("a change answers %d and leads to %q", got.Status, got.Header.Get("HX-Redirect"))
	}
}

func TestAssets_SmallAndCached(t *testing.T) {
	t.Parallel()
	ana := admin(newSite(t))
	page := ana.Get("/dashboard/notes")
	total := 0
	for _, mark := range []string{`src="`, `rel="stylesheet" href="`, `rel="icon" href="`} {
		for _, part := range strings.Split(page.Body, mark)[1:] {
			path, _, _ := strings.Cut(part, `"`)
			got := ana.Get(path)
			if got.Status != http.StatusOK || !strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d, %q", path, got.Status, got.Header.Get("Cache-Control"))
			}
			total += len(got.Body)
		}
	}
	if total == 0 || total > web.AssetsLimit {
		t.Errorf("the assets have %d bytes, want %d at most", total, web.AssetsLimit)
	}
	has(t, ana.Get("/dashboard/assets/000000000000/app.css"), http.StatusNotFound)
	has(t, ana.Get("/dashboard/assets/000000000000/no.css"), http.StatusNotFound)
}

// The style sheet and the page name the same typeface. Browsers keep it.
func TestAssets_Typeface(t *testing.T) {
	t.Parallel()
	ana := admin(newSite(t))
	page := ana.Get("/dashboard/notes").Body
	linked := func(body, before string) string {
		_, rest, _ := strings.Cut(body, before)
		path, _, _ := strings.Cut(rest, `"`)
		return path
	}
	style := linked(page, `rel="stylesheet" href="`)
	font := linked(page, `rel="preload" href="`)
	if named := "/dashboard/assets" + strings.TrimPrefix(linked(ana.Get(style).Body, `url("`), ".."); named != font {
		t.Errorf("the style sheet names %s, the page %s", named, font)
	}
	got := ana.Get(font)
	if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "font/woff2" || len(got.Body) > web.FontLimit {
		t.Errorf("%s: %d, %s, %d bytes; want %d at most", font, got.Status, got.Header.Get("Content-Type"), len(got.Body), web.FontLimit)
	}
	if !strings.Contains(got.Header.Get("Cache-Control"), "immutable") || got.Header.Get("No-Gzip-Compression") == "" {
		t.Errorf("%s is not kept, or is compressed again: %v", font, got.Header)
	}
}

func TestArea_Faults(t *testing.T) {
	t.Parallel()
	for name, area := range map[string]fstest.MapFS{
		"a language is missing":             {"texts.json": {Data: []byte(`{"a.b": {"pt": "x"}}`)}},
		"a text stands twice":               {"texts.json": {Data: []byte(`{"ui.skip": {"pt": "x", "en": "y"}}`)}},
		"a key begins with another word":    {"texts.json": {Data: []byte(`{"b.a": {"pt": "x", "en": "y"}}`)}},
		"no JSON":                           {"texts.json": {Data: []byte(`{`)}},
		"no texts":                          {},
		"no template":                       {"texts.json": {Data: []byte(`{}`)}, "a.html": {Data: []byte(`{{if}}`)}},
		"a page has a part that is missing": {"texts.json": {Data: []byte(`{}`)}, "a.html": {Data: []byte(`{{.Data}}{{template "b.html" .}}`)}},
		"a page ends within an attribute":   {"texts.json": {Data: []byte(`{}`)}, "a.html": {Data: []byte(`<a href="{{.Data}}`)}},
		"a page has the name of another":    {"texts.json": {Data: []byte(`{}`)}, "layout.html": {Data: []byte(`x`)}},
	} {
		ui := webtest.UI(t, clock)
		if err := errors.Join(ui.Load(web.Area{Files: area, Texts: []string{"a", "ui"}}), ui.Check()); err == nil {
			t.Errorf("%s: no fault", name)
		}
	}
}

// watched counts how often each file is read.
type watched struct {
	fstest.MapFS
	mu    sync.Mutex
	reads map[string]int
}

func (w *watched) ReadFile(name string) ([]byte, error) {
	w.mu.Lock()
	w.reads[name]++
	w.mu.Unlock()
	return w.MapFS.ReadFile(name)
}

// A start of the function, and the requests for other areas, do not wait for an area's files.
func TestArea_ReadAtFirstRequest(t *testing.T) {
	t.Parallel()
	files, ui, mux := &watched{MapFS: notesFiles, reads: map[string]int{}}, webtest.UI(t, clock), http.NewServeMux()
	if err := ui.Load(web.Area{Files: files, Texts: []string{"notes"}}); err != nil {
		t.Fatal(err)
	}
	ui.Register(mux)
	notes{}.Register(ui, mux)
	get := func(path string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, webtest.Base+path, http.NoBody)
		if cookie, err := ui.Sessions.Cookie(t.Context(), webtest.Base, web.Session{Tenant: "acme", Role: web.RoleAdmin, Email: "ana@acme.example", CSRF: "x", Expires: noon.Add(time.Hour)}); err == nil {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Body.String()
	}
	if body := get("/dashboard/nothing"); !strings.Contains(body, "<!doctype html>") || len(files.reads) != 0 {
		t.Errorf("before a request for the area its files were read: %v; the page:\n%s", files.reads, body)
	}
	for range 2 {
		if body := get("/dashboard/notes?name=Ana"); !strings.Contains(body, "Ana!") {
			t.Errorf("the page:\n%s", body)
		}
	}
	if want := map[string]int{"texts.json": 1, "notes.html": 1}; !maps.Equal(files.reads, want) {
		t.Errorf("the files were read %v times, want %v", files.reads, want)
	}
}
