package signin_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

const anasAddress = "ana@acme.example"

// open signs a user in with a new browser.
func open(t *testing.T, b bench) webtest.Person {
	t.Helper()
	ana := b.Nobody()
	code, sent := b.provider.grant(begin(t, &ana, ""))
	got := ana.Get(back(code, sent.Get("state")))
	ana.Cookie, ana.Cookies = got.Cookie("__Host-session"), []*http.Cookie{got.Cookie("__Host-renewal")}
	if ana.Cookie == nil || ana.Cookies[0] == nil {
		t.Fatalf("signed in, got %d with the cookies %q: %s", got.Status, got.Header["Set-Cookie"], got.Text())
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, webtest.Base, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(ana.Cookie)
	if ana.Session, err = b.UI.Sessions.Read(r, webtest.Base); err != nil {
		t.Fatal(err)
	}
	return ana
}

// in reports whether the session is accepted.
func in(p webtest.Person) bool {
	return p.Get("/dashboard").Location == "/dashboard/overview"
}

func (b bench) end(t *testing.T, until time.Time) {
	t.Helper()
	if err := b.Ends().EndSessions(t.Context(), "acme", anasAddress, until); err != nil {
		t.Fatal(err)
	}
}

func TestSignOut_EndsEverySession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	here, elsewhere := open(t, b), open(t, b)
	b.provider.with(map[string]any{"email": "bia@acme.example"})
	other := open(t, b)
	b.provider.with(map[string]any{"email": anasAddress})
	b.provider.stuck = true // what renews a session stays good
	if got := here.Post("/dashboard/sign-out", nil); got.Status != http.StatusSeeOther {
		t.Fatalf("signing out answers %d", got.Status)
	}
	for name, copied := range map[string]webtest.Person{"the same browser": here, "another browser": elsewhere} {
		if in(copied) {
			t.Errorf("%s: a copied session goes on", name)
		}
		if copied.Get("/dashboard/sign-in").Cookie("__Host-session") != nil {
			t.Errorf("%s: a copied session is renewed", name)
		}
		copied.Cookie = nil
		if copied.Get("/dashboard/sign-in").Cookie("__Host-session") != nil {
			t.Errorf("%s: it is renewed without the last session", name)
		}
	}
	if !in(other) {
		t.Error("another person is signed out")
	}
	again := open(t, b)
	if !in(again) {
		t.Error("one cannot sign in again")
	}
	if again.Get("/dashboard/sign-in").Cookie("__Host-session") == nil {
		t.Error("the new session is not renewed")
	}
}

// A copy of an ended session signs nobody out.
func TestSignOut_BySessionThatEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	copied := open(t, b)
	b.provider.stuck = true
	copied.Post("/dashboard/sign-out", nil)
	again := open(t, b)
	if got := copied.Post("/dashboard/sign-out", nil); got.Status != http.StatusSeeOther {
		t.Errorf("signing out once more answers %d", got.Status)
	}
	if !in(again) {
		t.Error("a copy of an old session ends the new one")
	}
}

// A session that is renewed while it is ended is void in either order.
func TestSignOut_DuringRenewal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := open(t, b)
	signingOut := b.Nobody()
	signingOut.Cookie, signingOut.Session = ana.Cookie, ana.Session
	b.provider.beforeResponse(func() { signingOut.Post("/dashboard/sign-out", nil) })
	renewed := ana.Get("/dashboard/sign-in").Cookie("__Host-session")
	b.provider.beforeResponse(nil)
	if renewed != nil {
		if ana.Cookie = renewed; in(ana) {
			t.Error("the renewed session outlives the sign-out")
		}
	}

	// The session ends after the new session is written.
	late := open(t, b)
	first := late.Session.SignedIn
	next := late.Get("/dashboard/sign-in").Cookie("__Host-session")
	b.end(t, first)
	if late.Cookie = next; next == nil || in(late) {
		t.Error("a renewal makes a session younger than its sign-in")
	}
}

func TestSignIn_WhileSessionsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := b.Nobody()
	code, sent := b.provider.grant(begin(t, &ana, ""))
	b.provider.beforeResponse(func() { b.end(t, b.UI.Now()) }) // the person is removed, the provider has answered
	refused(t, ana.Get(back(code, sent.Get("state"))), http.StatusForbidden, "Your sessions were ended just now")
	b.provider.beforeResponse(nil)
	if !in(open(t, b)) {
		t.Error("one cannot sign in again")
	}
}

func TestRoleChange_EndsSessions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := open(t, b)
	b.provider.with(map[string]any{"cognito:groups": []string{"viewer"}})
	b.end(t, b.UI.Now())
	if in(ana) {
		t.Error("the session of the role before goes on")
	}
	got := ana.Get("/dashboard/sign-in")
	if got.Cookie("__Host-session") != nil || !strings.HasPrefix(got.Location, b.provider.URL+"/authorize?") {
		t.Errorf("it is renewed: %d, to %q", got.Status, got.Location)
	}
	if again := open(t, b); again.Session.Role != web.RoleViewer || !in(again) {
		t.Errorf("signed in again as %q", again.Session.Role)
	}
}

// A session whose last one is unknown, such as after a change of the signing key, is
// renewed until the user's sessions are ended.
func TestRenewal_WithoutLastSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := open(t, b)
	ana.Cookie = nil
	ana.Cookie = ana.Get("/dashboard/sign-in").Cookie("__Host-session")
	if ana.Cookie == nil || !in(ana) {
		t.Fatal("it is not renewed")
	}
	b.end(t, b.UI.Now())
	if in(ana) {
		t.Error("it outlives the end of the sessions")
	}
}

func TestSignIn_EndUnreadable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	signed, ana := open(t, b), b.Nobody()
	code, sent := b.provider.grant(begin(t, &ana, ""))
	b.Ends().Refuse(errors.New("the table burns"))
	refused(t, ana.Get(back(code, sent.Get("state"))), http.StatusServiceUnavailable, "The service failed")
	refused(t, signed.Get("/dashboard/sign-in"), http.StatusServiceUnavailable, "The service failed")
	refused(t, signed.Get("/dashboard"), http.StatusServiceUnavailable, "The service failed")
}

// A sign-out while the table is unreachable removes the cookies and warns the user.
func TestSignOut_EndUnwritable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := open(t, b)
	b.Ends().Refuse(errors.New("the table burns"))
	got := ana.Post("/dashboard/sign-out", nil)
	if got.Status != http.StatusServiceUnavailable || !strings.Contains(got.Text(), "in this browser only") || strings.Contains(got.Body, ana.Session.CSRF) {
		t.Errorf("answered %d: %s", got.Status, got.Text())
	}
	for _, name := range []string{"__Host-session", "__Host-renewal"} {
		if c := got.Cookie(name); c == nil || c.MaxAge >= 0 {
			t.Errorf("the cookie %s stays: %v", name, c)
		}
	}
	b.Ends().Refuse(nil)
	ana.Cookie = nil
	if ana.Get("/dashboard/sign-in").Cookie("__Host-session") != nil {
		t.Error("what renewed the session still does")
	}
}

func TestAudit_SignInAndOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ana := open(t, b)
	ana.Cookie = ana.Get("/dashboard/sign-in").Cookie("__Host-session") // a renewal is no sign-in
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, webtest.Base, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(ana.Cookie)
	if ana.Session, err = b.UI.Sessions.Read(r, webtest.Base); err != nil {
		t.Fatal(err)
	}
	ana.Post("/dashboard/sign-out", nil)
	b.Nobody().Post("/dashboard/sign-out", nil)
	want := []string{anasAddress + " session.sign_in  ui.role.admin", anasAddress + " session.sign_out "}
	if diff := cmp.Diff(want, b.Audited()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestAudit_Unwritable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	signed, ana := open(t, b), b.Nobody()
	code, sent := b.provider.grant(begin(t, &ana, ""))
	b.RefuseAudit(errors.New("no"))
	refused(t, ana.Get(back(code, sent.Get("state"))), http.StatusInternalServerError, "The service failed")
	if got := signed.Post("/dashboard/sign-out", nil); got.Status != http.StatusServiceUnavailable {
		t.Errorf("signing out answers %d", got.Status)
	}
	if in(signed) {
		t.Error("a sign-out that cannot be written down leaves the session open")
	}
	if lines := b.Audited(); slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "sign_out") }) {
		t.Errorf("audit log %q", lines)
	}
}
