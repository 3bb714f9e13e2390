package web_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// ended checks that every page redirects a user with this session to the sign-in.
func ended(t *testing.T, name string, p webtest.Person) {
	t.Helper()
	if got := p.Get("/dashboard/notes?name=Ana"); got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, web.SignInPath) || got.Body != "" {
		t.Errorf("%s: a page answers %d, to %q", name, got.Status, got.Location)
	}
	if got := p.Post("/dashboard/notes", url.Values{"text": {"x"}}); got.Status != http.StatusUnauthorized {
		t.Errorf("%s: a change answers %d", name, got.Status)
	}
	p.Header = maps.Clone(p.Header)
	p.Header.Set("HX-Request", "true")
	got := p.Get("/dashboard/notes/part?name=Ana")
	if to := got.Header.Get("HX-Redirect"); got.Status != http.StatusNoContent || to != web.SignInPath {
		t.Errorf("%s: an update answers %d, to %q", name, got.Status, to)
	}
	if got := p.Post("/dashboard/notes", url.Values{"text": {"x"}}); !strings.Contains(got.Text(), "Your session is over") {
		t.Errorf("%s: a change from within a page answers %d: %s", name, got.Status, got.Text())
	}
}

func (s ends) end(t *testing.T, tenant, email string, until time.Time) {
	t.Helper()
	if err := s.EndSessions(t.Context(), tenant, email, until); err != nil {
		t.Fatal(err)
	}
}

type ends struct{ *webtest.Ends }

func TestSession_Ended(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	at := noon.Add(123 * time.Millisecond)
	of := func(tenant, email string, signedIn time.Time) webtest.Person {
		return site.SignedIn(web.Session{Tenant: tenant, Email: email, Role: web.RoleAdmin, SignedIn: signedIn})
	}
	copied := of("acme", "ana@acme.example", at)
	if got := copied.Get("/dashboard/notes"); got.Status != http.StatusOK {
		t.Fatalf("before the end a page answers %d", got.Status)
	}
	ends{site.Ends()}.end(t, "acme", "Ana@acme.example", at)
	ended(t, "the session that was ended", copied)
	ended(t, "an earlier one", of("acme", "ana@acme.example", at.Add(-time.Millisecond)))
	ended(t, "one of the same millisecond", of("acme", "ana@acme.example", at.Add(999*time.Microsecond)))
	ended(t, "the same address in capitals", of("acme", "ANA@acme.example", at))
	if got := copied.Get("/dashboard/nowhere"); got.Status != http.StatusNotFound || strings.Contains(got.Body, "Sign out") {
		t.Errorf("a page for everybody shows the session that was ended: %d", got.Status)
	}
	if audited := site.Audited(); audited != nil {
		t.Errorf("changed: %q", audited)
	}
	for name, p := range map[string]webtest.Person{
		"one that began a millisecond later": of("acme", "ana@acme.example", at.Add(time.Millisecond)),
		"another person's":                   of("acme", "bia@acme.example", at),
		"another tenant's":                   of("beta", "ana@acme.example", at),
	} {
		if got := p.Get("/dashboard/notes"); got.Status != http.StatusOK {
			t.Errorf("%s: a page answers %d", name, got.Status)
		}
	}
}

func TestSession_EndUnreadable(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	ana := admin(site)
	site.Ends().Refuse(errors.New("the table burns"))
	update := ana
	update.Header = http.Header{"Hx-Request": {"true"}}
	for name, got := range map[string]webtest.Answer{
		"a page": ana.Get("/dashboard/notes?name=Ana"), "an update": update.Get("/dashboard/notes/part?name=Ana"),
		"a page for admins": ana.Get("/dashboard/notes/secret"), "a change": ana.Post("/dashboard/notes", nil),
		"a change of one's own": ana.Post("/dashboard/notes/own", nil), "no page": ana.Get("/dashboard/nowhere"),
	} {
		if got.Status != http.StatusServiceUnavailable || !strings.Contains(got.Text(), "The service failed") {
			t.Errorf("%s answers %d: %s", name, got.Status, got.Text())
		}
		for _, shown := range []string{"Hello", "<b>", ana.Session.Email, ana.Session.CSRF, "burns", "Sign out"} {
			if strings.Contains(got.Body, shown) {
				t.Errorf("%s shows %q", name, shown)
			}
		}
	}
	if audited := site.Audited(); audited != nil {
		t.Errorf("changed: %q", audited)
	}
	if got := site.Nobody().Get("/dashboard/notes"); got.Status != http.StatusSeeOther {
		t.Errorf("somebody without a session is answered %d", got.Status)
	}
}

func TestSession_OneReadAPage(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	ana := admin(site)
	update := ana
	update.Header = http.Header{"Hx-Request": {"true"}}
	reads := 0
	for _, ask := range []struct {
		name string
		ask  func() webtest.Answer
		want int
	}{
		{"a page", func() webtest.Answer { return ana.Get("/dashboard/notes") }, 1},
		{"its update", func() webtest.Answer { return update.Get("/dashboard/notes/part") }, 1},
		{"a change", func() webtest.Answer { return ana.Post("/dashboard/notes", nil) }, 1},
		{"a file", func() webtest.Answer { return ana.Get("/dashboard/assets/000000000000/app.css") }, 0},
		{"nobody's page", func() webtest.Answer { return site.Nobody().Get("/dashboard/notes") }, 0},
	} {
		ask.ask()
		if got := site.Ends().Reads() - reads; got != ask.want {
			t.Errorf("%s reads %d times when the sessions ended, want %d", ask.name, got, ask.want)
		}
		reads = site.Ends().Reads()
	}
}

// A verified session that is cached still expires.
func TestSession_OverWhileKept(t *testing.T) {
	t.Parallel()
	now := noon
	site := webtest.New(t, web.Area{Files: notesFiles, Texts: []string{"notes"}}, notes{}, func() time.Time { return now })
	ana := admin(site)
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, http.StatusOK}, {web.SessionLife - time.Second, http.StatusOK}, {web.SessionLife, http.StatusSeeOther}} {
		now = noon.Add(step.after)
		if got := ana.Get("/dashboard/notes"); got.Status != step.want {
			t.Errorf("after %v a page answers %d, want %d", step.after, got.Status, step.want)
		}
	}
}
