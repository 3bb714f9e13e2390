package wronghands

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/dashboard/web"
)

// visit is somebody with a session, "" for none, and the token that its forms hold.
type visit struct {
	name   string
	cookie *http.Cookie
	csrf   string
	site   string // Sec-Fetch-Site, "" where the browser does not tell
}

// session signs a session as the service does after a sign-in.
func (w *World) session(ctx context.Context, tenant string, role web.Role) (visit, error) {
	return w.sessionAt(ctx, time.Now(), w.env["BASE_URL"], tenant, role)
}

func (w *World) sessionAt(ctx context.Context, at time.Time, base, tenant string, role web.Role) (visit, error) {
	v := visit{csrf: rand.Text()}
	issuing := web.Sessions{Signer: w.sessionKeys, Now: func() time.Time { return at }}
	cookie, err := issuing.Cookie(ctx, base, web.Session{
		Tenant: tenant, Email: "somebody@hands.example", Role: role, CSRF: v.csrf, Expires: at.Add(web.SessionLife),
	})
	v.cookie = cookie
	return v, err
}

// publicPages are the routes that anybody may ask for.
var publicPages = []string{
	" /", "GET /dashboard/assets/{hash}/{name}", "GET /dashboard/docs", "GET /dashboard/docs/{page}", "GET /dashboard/language/{code}",
	"GET /dashboard/sign-in", "GET /dashboard/sign-in/callback", "GET /dashboard/signed-out", "POST /dashboard/sign-out",
}

// Dashboard tries every route of the dashboard.
func (w *World) Dashboard(ctx context.Context) (r Report, err error) {
	keys, err := lureWithKeys(ctx)
	if err != nil {
		return r, err
	}
	defer keys.close()
	routes, err := guarded(ctx, &r)
	if err != nil {
		return r, err
	}
	owner, err := w.session(ctx, w.victim.tenant, web.RoleAdmin)
	if err != nil {
		return r, err
	}
	before, err := w.pages(ctx, routes, owner)
	if err != nil {
		return r, err
	}
	strangers, err := w.strangers(ctx, keys.address)
	if err != nil {
		return r, err
	}
	for _, try := range []func() error{
		func() error { return w.tryStrangers(ctx, &r, routes, strangers) },
		func() error { return w.tryViewer(ctx, &r, routes) },
		func() error { return w.tryOtherSites(ctx, &r, routes, owner) },
		func() error { return w.tryOtherAdmin(ctx, &r, routes, owner) },
	} {
		if err := try(); err != nil {
			return r, err
		}
	}
	if n := keys.asked.Load(); n > 0 {
		r.wrong("the dashboard asked for the forger's keys %d times", n)
	}
	after, err := w.pages(ctx, routes, owner)
	if err != nil {
		return r, err
	}
	for path, page := range before {
		if after[path] != page {
			r.wrong("the victim's page %s is another one", w.victim.hide(path))
		}
	}
	r.Routes, r.Hands = len(routes), len(strangers)+2+4+1
	return r, nil
}

// guarded returns the routes that need a session, and checks which do not.
func guarded(ctx context.Context, r *Report) (routes []pageRoute, err error) {
	all, err := pageRoutes(ctx)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, p := range all {
		if p.kind == "Public" || p.kind == "WithoutSession" {
			open = append(open, p.method+" "+p.pattern)
			continue
		}
		routes = append(routes, p)
	}
	slices.Sort(open)
	if !slices.Equal(open, publicPages) {
		r.wrong("public are %q, not %q", open, publicPages)
	}
	if len(routes) == 0 {
		r.wrong("there are no routes")
	}
	return routes, nil
}

// about returns the address of a route for some things, and what its forms say.
func (p pageRoute) about(t things) (address string, fields url.Values, err error) {
	id := ""
	switch {
	case strings.HasPrefix(p.pattern, web.Root+"/templates/"):
		id = t.template
	case strings.HasPrefix(p.pattern, web.Root+"/settings/credentials/"):
		id = t.credential
	case strings.HasPrefix(p.pattern, web.Root+"/settings/webhooks/"):
		id = t.endpoint
	}
	address = strings.NewReplacer("{campaignId}", t.campaign, "{version}", "1", "{id}", id).Replace(p.pattern)
	if strings.Contains(address, "{") || strings.Contains(p.pattern, "{id}") && id == "" {
		return "", nil, fmt.Errorf("%s has a parameter that is not known here: teach it", p.pattern)
	}
	fields = url.Values{
		"template": {t.template}, "upload": {t.upload}, "batch": {t.batch}, "id": {t.template}, "webhook": {"msg_" + t.upload},
		"at": {"2026-03-01T12:00:00Z"}, "since": {"2026-03-01T12:00"}, "keep": {"0"}, "schedule": {"2099-01-01T00:00"}, "version": {"1"},
	}
	if strings.HasPrefix(p.pattern, web.Root+"/campaigns/new") {
		fields.Set("from", t.upload) // elsewhere it is a place in a list
	}
	return address, fields, nil
}

// ask calls a route for some things.
func (w *World) ask(ctx context.Context, p pageRoute, t things, v visit) (a answer, sent string, err error) {
	address, fields, err := p.about(t)
	if err != nil {
		return a, "", err
	}
	body := ""
	if p.method == http.MethodGet {
		address += "?" + fields.Encode()
	} else {
		fields.Set("csrf", v.csrf)
		body = fields.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, p.method, w.env["BASE_URL"]+address, strings.NewReader(body))
	if err != nil {
		return a, "", err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	if v.site != "" {
		r.Header.Set("Sec-Fetch-Site", v.site)
	}
	a, err = w.do(r)
	return a, address + body, err
}

// moving is what a page shows of the time: charts, and when they end.
var moving = regexp.MustCompile(`(?s)<svg.*?</svg>|\d?\d:\d\d(:\d\d)?`)

// pages returns what the victim's admin sees.
func (w *World) pages(ctx context.Context, routes []pageRoute, owner visit) (map[string]string, error) {
	found := map[string]string{}
	for _, p := range routes {
		if p.method != http.MethodGet {
			continue
		}
		a, _, err := w.ask(ctx, p, w.victim.things, owner)
		if err != nil {
			return nil, err
		}
		found[p.pattern] = moving.ReplaceAllString(a.body, "")
	}
	return found, nil
}

// strangers are all who have no session that holds.
func (w *World) strangers(ctx context.Context, keysAt string) ([]visit, error) {
	viewer, err := w.session(ctx, w.victim.tenant, web.RoleViewer)
	if err != nil {
		return nil, err
	}
	all := []visit{{name: "no session"}}
	named := func(name, value string) {
		cookie := *viewer.cookie //nolint:gosec // it is sent, and not set
		cookie.Value = value
		all = append(all, visit{name: name, cookie: &cookie, csrf: viewer.csrf})
	}
	forged, err := w.forgeries(ctx, w.sessionKeys, viewer.cookie.Value, keysAt, map[string]any{"role": web.RoleAdmin})
	if err != nil {
		return nil, err
	}
	for name, value := range forged {
		named(name, value)
	}
	named("an access token", w.access)
	old, err := w.sessionAt(ctx, time.Now().Add(-web.SessionLife-time.Minute), w.env["BASE_URL"], w.victim.tenant, web.RoleAdmin)
	if err != nil {
		return nil, err
	}
	named("a session that is over", old.cookie.Value)
	foreign, err := w.sessionAt(ctx, time.Now(), "https://api.example.com", w.victim.tenant, web.RoleAdmin)
	if err != nil {
		return nil, err
	}
	named("a session of another service", foreign.cookie.Value)
	return all, nil
}

// tryStrangers has people without a session ask for every page and change.
func (w *World) tryStrangers(ctx context.Context, r *Report, routes []pageRoute, strangers []visit) error {
	for _, p := range routes {
		for _, v := range strangers {
			a, sent, err := w.ask(ctx, p, w.victim.things, v)
			if err != nil {
				return err
			}
			r.Tries++
			led := p.method == http.MethodGet && a.status == http.StatusSeeOther && strings.HasPrefix(a.location, web.SignInPath)
			if !led && (p.method == http.MethodGet || a.status != http.StatusUnauthorized) {
				r.wrong("%s %s with %s: %d", p.method, p.pattern, v.name, a.status)
			}
			w.noLeak(r, p, v, a, sent)
		}
	}
	return nil
}

func (w *World) noLeak(r *Report, p pageRoute, v visit, a answer, sent string) {
	decoded, err := url.QueryUnescape(sent)
	if err != nil {
		decoded = sent
	}
	if found := w.leaks(a, decoded); found != nil {
		r.wrong("%s %s with %s shows %q", p.method, p.pattern, v.name, found)
	}
}

// tryViewer has a viewer of the victim's, and somebody of an unknown role, ask for
// every page and change.
func (w *World) tryViewer(ctx context.Context, r *Report, routes []pageRoute) error {
	for _, role := range []web.Role{web.RoleViewer, "owner"} {
		v, err := w.session(ctx, w.victim.tenant, role)
		if err != nil {
			return err
		}
		v.name = "the role " + string(role)
		for _, p := range routes {
			a, sent, err := w.ask(ctx, p, w.victim.things, v)
			if err != nil {
				return err
			}
			r.Tries++
			may := role == web.RoleViewer && (p.kind == "View" || p.kind == "Own")
			if may && a.status >= http.StatusBadRequest || !may && a.status != http.StatusForbidden {
				r.wrong("%s %s with %s: %d", p.method, p.pattern, v.name, a.status)
			}
			if !may {
				a.body = strings.ReplaceAll(a.body, w.victim.tenant, "") // where they are, they may know
				w.noLeak(r, p, v, a, sent)
			}
		}
	}
	return nil
}

// tryOtherSites has an admin's browser send every change from elsewhere.
func (w *World) tryOtherSites(ctx context.Context, r *Report, routes []pageRoute, owner visit) error {
	other, err := w.session(ctx, w.victim.tenant, web.RoleAdmin)
	if err != nil {
		return err
	}
	for _, v := range []visit{
		{"no form's token", owner.cookie, "", ""},
		{"another session's form", owner.cookie, other.csrf, ""},
		{"a form of another site", owner.cookie, owner.csrf, "cross-site"},
		{"a form of the same domain", owner.cookie, owner.csrf, "same-site"},
	} {
		for _, p := range routes {
			if p.method == http.MethodGet {
				continue
			}
			a, _, err := w.ask(ctx, p, w.victim.things, v)
			if err != nil {
				return err
			}
			r.Tries++
			if a.status != http.StatusForbidden {
				r.wrong("%s %s with %s: %d", p.method, p.pattern, v.name, a.status)
			}
		}
	}
	return nil
}

// tryOtherAdmin has another tenant's admin ask for what is the victim's, and for what
// does not exist: no answer may tell which. The victim's own admin can tell.
func (w *World) tryOtherAdmin(ctx context.Context, r *Report, routes []pageRoute, owner visit) error {
	thief, err := w.session(ctx, w.thief.tenant, web.RoleAdmin)
	if err != nil {
		return err
	}
	thief.name = "another tenant's admin"
	none := nothing()
	for _, p := range routes {
		theirs, sent, err := w.ask(ctx, p, w.victim.things, thief)
		if err != nil {
			return err
		}
		w.noLeak(r, p, thief, theirs, sent)
		nobodys, _, err := w.ask(ctx, p, none, thief)
		if err != nil {
			return err
		}
		r.Tries += 2
		if a, b := theirs.about(w.victim.things), nobodys.about(none); a != b {
			r.wrong("%s %s with %s: %d of what exists, %d of what does not", p.method, p.pattern, thief.name, a.status, b.status)
		}
		if p.method != http.MethodGet || !strings.Contains(p.pattern, "{") {
			continue
		}
		right, _, err := w.ask(ctx, p, w.victim.things, owner)
		if err != nil {
			return err
		}
		if right.status != http.StatusOK || nobodys.status != http.StatusNotFound {
			r.wrong("%s: %d for the victim's own admin, %d for what does not exist", p.pattern, right.status, nobodys.status)
		}
	}
	return nil
}
