// Package web serves pages: it checks sessions and roles, refuses cross-site changes,
// and renders in the reader's language.
package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/media/mediafile"
)

// Root is the path of the dashboard.
const Root = "/dashboard"

// Store stores the audit log and the used tokens of forms, and reads how tenants are shown.
type Store interface {
	// Audit writes an entry.
	Audit(ctx context.Context, e account.AuditEntry) error
	// AuditForm is Audit for a sent form. A double click writes one entry.
	AuditForm(ctx context.Context, e account.AuditEntry) error
	// UseForm marks a form's token as used. It reports whether the token was
	// unused.
	UseForm(ctx context.Context, tenant, token string) (bool, error)
	// Brand returns the brand of a tenant, of revision 0 if it has none.
	Brand(ctx context.Context, tenant string) (account.Brand, error)
}

// Pages are the pages of an area.
type Pages interface {
	// Register declares the routes of the area.
	Register(ui *UI, mux *http.ServeMux)
}

// UI serves the areas' pages.
type UI struct {
	Sessions *Sessions
	Store    Store // nil shows no brand
	Now      func() time.Time
	BaseURL  string // configured base URL, or ""
	// SignInOrigin is the origin of the sign-in page, to which a sign-out redirects.
	SignInOrigin string
	// MediaURL is the address of uploaded files, or "".
	MediaURL string

	routes       []Route
	translations []*translation
	pages        map[string]page        // by file name
	texts        map[string][]areaTexts // by the word before the keys' first dot
}

// Handler serves a request for a page. It returns errors: a *Refusal, a
// *httpapi.Problem, campaign.ErrNotFound, or a failure.
type Handler func(p *Page) error

// Route is a route of the dashboard, with the role that it needs (see Role.May), or "" if it needs no session.
type Route struct {
	Pattern string // as in http.ServeMux
	Role    Role
}

// With returns the handler of a page about what find reads, as by an ID in the path.
func With[T any](find func(p *Page) (T, error), h func(p *Page, found T) error) Handler {
	return func(p *Page) error {
		found, err := find(p)
		if err != nil {
			return err
		}
		return h(p, found)
	}
}

// Get serves a page to users whose role may do what the needed one may, see Role.May.
func (ui *UI) Get(mux *http.ServeMux, path string, needed Role, h Handler) {
	ui.forRole(mux, "GET "+path, needed, h)
}

// Post serves a form, to the same users as Get.
func (ui *UI) Post(mux *http.ServeMux, path string, needed Role, h Handler) {
	ui.forRole(mux, "POST "+path, needed, h)
}

func (ui *UI) forRole(mux *http.ServeMux, pattern string, needed Role, h Handler) {
	ui.handle(mux, pattern, needed, ui.signedIn(func(p *Page) error { return p.serve(needed, h) }, ui.noSession))
}

// Routes returns the routes that the areas have registered.
func (ui *UI) Routes() []Route { return slices.Clone(ui.routes) }

// Forms returns the paths of the forms that need a session.
func (ui *UI) Forms() (paths []string) {
	for _, r := range ui.routes {
		if path, ok := strings.CutPrefix(r.Pattern, "POST "); ok && r.Role != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

func (ui *UI) handle(mux *http.ServeMux, pattern string, needed Role, h Handler) {
	ui.routes = append(ui.routes, Route{pattern, needed})
	mux.Handle(pattern, httpapi.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		return h(ui.page(w, r))
	}))
}

// signedIn returns a handler that serves pages with a valid session. For other requests it calls otherwise.
func (ui *UI) signedIn(serve func(*Page) error, otherwise func(*Page, error) error) Handler {
	return func(p *Page) error {
		session, err := ui.Sessions.Signed(p.R, p.Base)
		if err != nil {
			return otherwise(p, err)
		}
		if !p.Sent() {
			return ui.alongside(p, session, serve, otherwise)
		}
		if err := ui.Sessions.Check(p.R.Context(), session); err != nil {
			return otherwise(p, err)
		}
		p.Session = session
		return serve(p)
	}
}

// alongside renders a page while its session is checked. It answers only if the session is valid. If
// not, it calls otherwise.
func (ui *UI) alongside(p *Page, session Session, serve func(*Page) error, otherwise func(*Page, error) error) error {
	checked := make(chan error, 1)
	go func() { checked <- ui.Sessions.Check(p.R.Context(), session) }()
	made := &httpapi.Recorder{Fields: p.W.Header().Clone()}
	page := *p
	page.W, page.Session = made, session
	failed := serve(&page)
	if err := <-checked; err != nil {
		return otherwise(p, err)
	}
	if failed != nil {
		return failed
	}
	return copyResponse(p.W, made)
}

func copyResponse(w http.ResponseWriter, r *httpapi.Recorder) error {
	clear(w.Header())
	maps.Copy(w.Header(), r.Fields)
	if r.Status != 0 {
		w.WriteHeader(r.Status)
	}
	if r.Body.Len() == 0 {
		return nil
	}
	_, err := w.Write(r.Body.Bytes())
	return err
}

// serve serves a request with a verified session.
func (p *Page) serve(needed Role, h Handler) error {
	if err := p.permit(needed); err != nil {
		return p.refuse(err)
	}
	return p.refuse(h(p))
}

// noSession answers a request without a valid session, or with one that could not be
// checked.
func (ui *UI) noSession(p *Page, err error) error {
	if errors.Is(err, ErrNoSession) {
		return ui.signIn(p)
	}
	return p.refuse(p.Unavailable(err))
}

// Public serves a page that needs no session. It shows the session if there is one.
func (ui *UI) Public(mux *http.ServeMux, pattern string, h Handler) {
	ui.handle(mux, pattern, "", ui.signedIn(
		func(p *Page) error { return p.refuse(h(p)) },
		func(p *Page, err error) error {
			if errors.Is(err, ErrNoSession) {
				return p.refuse(h(p))
			}
			return p.refuse(p.Unavailable(err))
		},
	))
}

// WithoutSession serves a page without reading the session.
func (ui *UI) WithoutSession(mux *http.ServeMux, pattern string, h Handler) {
	ui.handle(mux, pattern, "", func(p *Page) error { return p.refuse(h(p)) })
}

// signIn redirects to the sign-in, and afterwards back to the requested page. A
// submitted form is not carried over: the person is informed.
func (ui *UI) signIn(p *Page) error {
	switch {
	case p.Sent() && p.Partial(): // the form remains visible
		p.W.Header().Set("HX-Retarget", "#over")
		p.W.Header().Set("HX-Reswap", "innerHTML")
		return p.Fragment("session_over.html", SignInPath)
	case p.Sent():
		return p.RenderStatus(http.StatusUnauthorized, "ui.session_over", "session_over.html", signInTo(pathOf(p.R.Referer())))
	case p.Partial():
		return p.Redirect(signInTo(pathOf(p.R.Header.Get("HX-Current-URL"))))
	}
	return p.Redirect(signInTo(p.R.URL.RequestURI()))
}

// signInTo returns the URL of a sign-in that leads to a page.
func signInTo(page string) string {
	if page == "" {
		return SignInPath
	}
	return SignInPath + "?to=" + template.URLQueryEscaper(page)
}

// pathOf returns the path and query of a URL, so that a sign-in leads only to the
// dashboard.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return ""
	}
	return u.RequestURI()
}

// SignInPath is the path that starts a sign-in.
const SignInPath = Root + "/sign-in"

func (ui *UI) page(w http.ResponseWriter, r *http.Request) *Page {
	w.Header().Set("Content-Security-Policy", ui.policy(ui.ownImages(), ownFiles))
	w.Header().Set("Referrer-Policy", "same-origin")
	w.Header().Set("Cache-Control", "no-store")
	return &Page{W: w, R: r, Base: httpapi.BaseURL(r, ui.BaseURL), ui: ui, translation: ui.translationOf(r)}
}

// Sources of a page's images and connections.
const (
	ownFiles  = "'self'"
	allImages = "'self' https:"
)

// policy returns a Content-Security-Policy that allows only the dashboard's own files,
// and nothing inline.
func (ui *UI) policy(images, connections string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src " + images + "; connect-src " + connections + "; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action 'self' " + ui.SignInOrigin
}

// ownImages returns the sources of the images of all pages: the dashboard, and the uploaded
// files for the logo.
func (ui *UI) ownImages() string {
	if ui.MediaURL == "" {
		return ownFiles
	}
	return ownFiles + " " + ui.MediaURL + "/" + mediafile.Prefix
}

// mediaImages returns the sources of the images that messages show. A local stack serves
// uploaded files without TLS.
func (ui *UI) mediaImages() string {
	if u, err := url.Parse(ui.MediaURL); err == nil && u.Scheme == "http" {
		return allImages + " http://" + u.Host
	}
	return allImages
}

const langCookie = "lang"

func (ui *UI) translationOf(r *http.Request) *translation {
	if chosen, err := r.Cookie(langCookie); err == nil {
		for _, t := range ui.translations {
			if t.code == chosen.Value {
				return t
			}
		}
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		return ui.translations[0]
	}
	_, i, _ := matcher.Match(tags...)
	return ui.translations[i]
}

// permit returns an error unless the person's role may do what the needed one may, and a form
// comes from the person's own page.
func (p *Page) permit(needed Role) error {
	switch {
	case p.Session.Role.May(needed) && p.Sent():
		return p.FromOwnPage()
	case p.Session.Role.May(needed):
		return nil
	case !p.Sent() && p.Session.Role.May(RoleViewer):
		return &Refusal{Status: http.StatusForbidden, Key: "ui.admins_only"}
	}
	return &Refusal{Status: http.StatusForbidden, Key: "ui.forbidden"}
}

// render writes the page, or the fragment that htmx requests.
func (p *Page) render(status int, name string, fragment bool) error {
	out, err := p.execute(name)
	if err != nil {
		return err
	}
	if !fragment {
		p.Notice = p.takeNotice()
		p.Body = template.HTML(out.String()) //nolint:gosec // html/template made it just now
		if out, err = p.execute("layout.html"); err != nil {
			return err
		}
	}
	p.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	p.W.Header().Set("Content-Language", p.translation.tag.String())
	p.W.WriteHeader(status)
	_, err = p.W.Write(out.Bytes()) //nolint:gosec // html/template made it
	return err
}

func (p *Page) execute(name string) (*bytes.Buffer, error) {
	templates, err := p.ui.templatesOf(name)
	if err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	var out bytes.Buffer
	if err := templates.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("render page %s: %w", name, err)
	}
	return &out, nil
}

// within reports whether the path is in a part of the dashboard.
func within(path, part string) bool { return path == part || strings.HasPrefix(path, part+"/") }
