package prove

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/dashboard/web"
)

// visitor has a session, or none, and the token that its forms hold.
type visitor struct {
	name   string
	cookie *http.Cookie
	csrf   string
	site   string // Sec-Fetch-Site, "" for a browser that does not send it
}

// session signs a session with the service's key.
func (w *authzFixture) session(ctx context.Context, t *testing.T, at time.Time, base, tenant string, role web.Role) visitor {
	t.Helper()
	v := visitor{name: "the role " + string(role), csrf: rand.Text()}
	issuing := web.Sessions{Signer: w.sessionKeys, Now: func() time.Time { return at }}
	var err error
	v.cookie, err = issuing.Cookie(ctx, base, web.Session{
		Tenant: tenant, Email: "somebody@authz.example", Role: role, CSRF: v.csrf, Expires: at.Add(web.SessionLife),
	})
	check(t, err)
	return v
}

// publicPages are the routes that need no session.
var publicPages = []string{
	" /", "GET /dashboard/assets/{hash}/{name}", "GET /dashboard/docs", "GET /dashboard/docs/{page}", "GET /dashboard/language/{code}",
	"GET /dashboard/sign-in", "GET /dashboard/sign-in/callback", "GET /dashboard/signed-out", "GET /dashboard/upload/{hash}/upload.js", "POST /dashboard/sign-out",
}

// tryDashboard requests every route of the dashboard with every wrong session and form.
func (w *authzFixture) tryDashboard(ctx context.Context, t *testing.T) {
	t.Helper()
	r, jwks := &authzReport{}, serveFakeJWKS(t)
	routes := protectedRoutes(ctx, t, r)
	base, now := w.env["BASE_URL"], time.Now()
	owner := w.session(ctx, t, now, base, w.owner.id, web.RoleAdmin)
	before, strangers := w.ownersPages(ctx, t, routes, owner), w.wrongSessions(ctx, t, jwks.URL)
	other := w.session(ctx, t, now, base, w.owner.id, web.RoleAdmin)
	roles := []web.Role{web.RoleViewer, web.RoleAuthor, web.RoleApprover, "owner"}
	forms := []visitor{
		{"no form's token", owner.cookie, "", ""},
		{"another session's form", owner.cookie, other.csrf, ""},
		{"a form of another site", owner.cookie, owner.csrf, "cross-site"},
		{"a form of the same domain", owner.cookie, owner.csrf, "same-site"},
	}
	for _, p := range routes {
		for _, v := range strangers {
			a, sent := w.request(ctx, t, p, w.owner.resourceIDs, v)
			r.tries++
			toSignIn := p.method == http.MethodGet && a.status == http.StatusSeeOther && strings.HasPrefix(a.location, web.SignInPath)
			if !toSignIn && (p.method == http.MethodGet || a.status != http.StatusUnauthorized) {
				r.failf("%s with %s: %d", p, v.name, a.status)
			}
			w.searchAnswer(r, p.String()+" with "+v.name, a, sent)
		}
		for _, role := range roles {
			if may := role.May(p.least); !may || p.method == http.MethodGet || p.least == web.RoleViewer {
				w.tryRole(ctx, t, r, p, w.session(ctx, t, now, base, w.owner.id, role), may)
			}
		}
		for _, v := range forms {
			if p.method == http.MethodGet {
				break
			}
			r.tries++
			if a, _ := w.request(ctx, t, p, w.owner.resourceIDs, v); a.status != http.StatusForbidden {
				r.failf("%s with %s: %d", p, v.name, a.status)
			}
		}
		w.tryOtherAdmin(ctx, t, r, p, owner)
	}
	if n := jwks.requests.Load(); n > 0 {
		r.failf("the dashboard requested the attacker's keys %d times", n)
	}
	after := w.ownersPages(ctx, t, routes, owner)
	for path, page := range before {
		if after[path] != page {
			r.failf("the owner's page %s has changed", path)
		}
	}
	r.record(t, fmt.Sprintf("%d routes of the dashboard with %d wrong credentials", len(routes), len(strangers)+len(roles)+len(forms)+1))
}

// protectedRoutes returns the routes that need a session, and checks which do not.
func protectedRoutes(ctx context.Context, t *testing.T, r *authzReport) (routes []pageRoute) {
	t.Helper()
	var public []string
	for _, p := range pageRoutes(ctx, t) {
		if p.least == "" {
			public = append(public, p.String())
			continue
		}
		routes = append(routes, p)
	}
	if slices.Sort(public); !slices.Equal(public, publicPages) {
		r.failf("public are %q, not %q", public, publicPages)
	}
	return routes
}

// withIDs returns the address of a route for some resources, and the fields of its forms.
func (p pageRoute) withIDs(t *testing.T, about resourceIDs) (address string, fields url.Values) {
	t.Helper()
	id := ""
	switch {
	case strings.HasPrefix(p.pattern, web.Root+"/templates/"):
		id = about.template
	case strings.HasPrefix(p.pattern, web.Root+"/settings/credentials/"):
		id = about.credential
	case strings.HasPrefix(p.pattern, web.Root+"/settings/webhooks/"):
		id = about.endpoint
	case strings.HasPrefix(p.pattern, web.Root+"/drafts/"):
		id = about.draft
	}
	campaignID := about.campaign
	if strings.HasPrefix(p.pattern, web.Root+"/submissions/") {
		campaignID = about.upload
	}
	inWaves := strings.Contains(p.pattern, "/{campaignId}/waves")
	if inWaves && campaignID == about.upload {
		campaignID = about.planned
	} else if inWaves {
		campaignID = about.holding
	}
	address = strings.NewReplacer("{campaignId}", campaignID, "/lists/{name}", "/lists/"+about.suppression, "{file}", about.numbers, "{exportId}", about.list, "{hash}", about.media, "{version}", "1", "{post}", about.post, "{message}", about.message, "{id}", id).Replace(p.pattern)
	if strings.Contains(address, "{") || strings.Contains(p.pattern, "{id}") && id == "" {
		t.Fatalf("%s has an unknown parameter: add it here", p.pattern)
	}
	fields = url.Values{
		"phone": {"+5511900000000"}, "template": {about.template}, "submission": {about.upload}, "batch": {about.batch}, "id": {about.template}, "webhook": {"msg_" + about.upload},
		"at": {"2026-03-01T12:00:00Z"}, "since": {"2026-03-01T12:00"}, "keep": {"0"}, "schedule": {"2099-01-01T00:00"}, "version": {"1"}, "ids": {about.campaign},
	}
	if inWaves {
		maps.Copy(fields, url.Values{"wave": {"2"}, "reason": {"r"}, "plan": {"once"}})
	}
	if strings.HasPrefix(p.pattern, web.Root+"/campaigns/new") {
		fields.Set("from", about.upload) // elsewhere it is a position in a list
	}
	return address, fields
}

// request requests a route for some resources, and returns the answer and what was sent.
func (w *authzFixture) request(ctx context.Context, t *testing.T, p pageRoute, about resourceIDs, v visitor) (a answer, sent string) {
	t.Helper()
	address, fields := p.withIDs(t, about)
	body := ""
	if p.method == http.MethodGet {
		address += "?" + fields.Encode()
	} else {
		fields.Set("csrf", v.csrf)
		body = fields.Encode()
	}
	sent, err := url.QueryUnescape(address + body)
	check(t, err)
	return w.visit(ctx, t, p.method, address, body, v), sent
}

// visit requests an address as a visitor. body is that of a form.
func (w *authzFixture) visit(ctx context.Context, t *testing.T, method, address, body string, v visitor) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.env["BASE_URL"]+address, strings.NewReader(body))
	check(t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	if v.site != "" {
		r.Header.Set("Sec-Fetch-Site", v.site)
	}
	return w.do(t, r)
}

// changing are the parts of a page that change with time: charts, clock times, and when it was opened.
var changing = regexp.MustCompile(`(?s)<svg.*?</svg>|\d?\d:\d\d(:\d\d)?|opened=\d+`)

// ownersPages are the pages as the owner's admin sees them, but for the audit log: its export
// writes an entry.
func (w *authzFixture) ownersPages(ctx context.Context, t *testing.T, routes []pageRoute, owner visitor) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range routes {
		if p.method == http.MethodGet && !strings.Contains(p.pattern, "/settings/audit") {
			a, _ := w.request(ctx, t, p, w.owner.resourceIDs, owner)
			found[p.pattern] = changing.ReplaceAllString(a.body, "")
		}
	}
	return found
}

// wrongSessions are visitors without a valid session.
func (w *authzFixture) wrongSessions(ctx context.Context, t *testing.T, jwks string) []visitor {
	t.Helper()
	base, now := w.env["BASE_URL"], time.Now()
	viewer := w.session(ctx, t, now, base, w.owner.id, web.RoleViewer)
	values := w.forgeries(ctx, t, w.sessionKeys, viewer.cookie.Value, jwks, map[string]any{"role": web.RoleAdmin})
	values["an access token"] = w.ownersToken
	values["an expired session"] = w.session(ctx, t, now.Add(-web.SessionLife-time.Minute), base, w.owner.id, web.RoleAdmin).cookie.Value
	values["a session of another service"] = w.session(ctx, t, now, "https://api.example.com", w.owner.id, web.RoleAdmin).cookie.Value
	all := []visitor{{name: "no session"}}
	for name, value := range values {
		cookie := *viewer.cookie
		cookie.Value = value
		all = append(all, visitor{name: name, cookie: &cookie, csrf: viewer.csrf})
	}
	return all
}

// tryRole requests a route as a role of the owner's tenant.
func (w *authzFixture) tryRole(ctx context.Context, t *testing.T, r *authzReport, p pageRoute, v visitor, may bool) {
	t.Helper()
	a, sent := w.request(ctx, t, p, w.owner.resourceIDs, v)
	r.tries++
	if may && a.status >= http.StatusBadRequest || !may && a.status != http.StatusForbidden {
		r.failf("%s with %s: %d", p, v.name, a.status)
	}
	if !may {
		a.body = strings.ReplaceAll(a.body, w.owner.id, "") // the tenant is their own
		w.searchAnswer(r, p.String()+" with "+v.name, a, sent)
	}
}

// tryOtherAdmin requests a route as another tenant's admin, for the owner's resourceIDs and
// for resourceIDs that do not exist: the answers have to be the same. The owner's admin gets
// the page.
func (w *authzFixture) tryOtherAdmin(ctx context.Context, t *testing.T, r *authzReport, p pageRoute, owner visitor) {
	t.Helper()
	attacker, none := w.session(ctx, t, time.Now(), w.env["BASE_URL"], w.attacker.id, web.RoleAdmin), missing()
	theirs, sent := w.request(ctx, t, p, w.owner.resourceIDs, attacker)
	w.searchAnswer(r, p.String()+" with another tenant's admin", theirs, sent)
	nobodys, _ := w.request(ctx, t, p, none, attacker)
	r.tries += 2
	if a, b := theirs.redacted(w.owner.resourceIDs), nobodys.redacted(none); a != b {
		r.failf("%s with another tenant's admin: %d of what exists, %d of what does not", p, a.status, b.status)
	}
	if p.method != http.MethodGet || !strings.Contains(p.pattern, "{") {
		return
	}
	right, _ := w.request(ctx, t, p, w.owner.resourceIDs, owner)
	leads := strings.HasPrefix(p.pattern, web.Root+"/lists/") || strings.HasSuffix(p.pattern, "/reading") // to the page of what the path names
	shown := right.status == http.StatusOK || right.status == http.StatusSeeOther && leads
	if !shown || nobodys.status != http.StatusNotFound {
		r.failf("%s: %d for the owner's admin, %d for what does not exist", p, right.status, nobodys.status)
	}
}
