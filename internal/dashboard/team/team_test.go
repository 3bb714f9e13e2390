package team_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/dashboard/team"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// office is a tenant with its users in memory.
type office struct {
	*webtest.Dashboard
	mu       sync.Mutex
	people   []account.Person
	read     func() // called after each list of users
	password string
	fault    error
	admin    webtest.Person
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{people: []account.Person{
		{Tenant: "acme", Email: "admin@example.com", Role: "admin"},
		{Tenant: "acme", Email: "ana@acme.example", Role: "author", Pending: true},
		{Tenant: "other", Email: "otto@other.example", Role: "admin"},
	}}
	now := func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }
	o.Dashboard = webtest.New(t, team.Area(), &team.Pages{Users: o}, now)
	o.admin = o.SignIn("acme", web.RoleAdmin)
	return o
}

func (o *office) People(_ context.Context, tenant string) ([]account.Person, bool, error) {
	if o.read != nil {
		defer o.read()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.people), func(p account.Person) bool { return p.Tenant != tenant }), true, nil
}

func (o *office) Invite(_ context.Context, who account.Person) (string, error) {
	if o.fault != nil {
		return "", o.fault
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.people = append(slices.DeleteFunc(o.people, func(p account.Person) bool { return p.Email == who.Email }), who)
	return o.password, nil
}

func (o *office) RemovePerson(_ context.Context, who account.Person) (account.Person, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.people = slices.DeleteFunc(o.people, func(p account.Person) bool { return p.Email == who.Email })
	return who, nil
}

// roles returns the roles of the tenant's users.
func (o *office) roles() map[string]string {
	all := map[string]string{}
	for _, p := range o.people {
		if p.Tenant == "acme" {
			all[p.Email] = p.Role
		}
	}
	return all
}

func lacks(t *testing.T, a webtest.Answer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.Text(), text) {
			t.Errorf("the page lacks %q: %s", text, a.Text())
		}
	}
}

func TestTeam(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	page := webtest.Light(t, o.admin, team.Path)
	lacks(t, o.admin.Get(team.Path), "admin@example.com", "ana@acme.example", "has not signed in yet")
	if strings.Contains(page.Text(), "otto") {
		t.Error("another tenant's user is listed")
	}
	a := o.admin.Post(team.Path, url.Values{"email": {"bia@acme.example"}, "role": {"approver"}})
	lacks(t, o.admin.Follow(a), "bia@acme.example is invited")
	lacks(t, o.admin.Post(team.Path+"/person", url.Values{"email": {"ANA@acme.example"}}), "Change the role", "Remove")
	o.admin.Post(team.Path+"/role", url.Values{"email": {"ana@acme.example"}, "role": {"viewer"}})
	for range 2 { // a double click
		o.admin.Post(team.Path+"/remove", url.Values{"email": {"bia@acme.example"}})
	}
	if diff := cmp.Diff(map[string]string{"admin@example.com": "admin", "ana@acme.example": "viewer"}, o.roles()); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	want := []string{
		"admin@example.com team.invite bia@acme.example ui.role.approver",
		"admin@example.com team.role ana@acme.example ui.role.author ui.role.viewer",
		"admin@example.com team.remove bia@acme.example",
	}
	if diff := cmp.Diff(want, o.Audited()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// Two admins who remove each other at the same time do not leave the tenant without an admin.
func TestTeam_LastAdminRaces(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/role", "/remove"} {
		o := newOffice(t)
		o.people = append(o.people, account.Person{Tenant: "acme", Email: "bia@acme.example", Role: "admin"})
		o.read = meeting(2)
		var all sync.WaitGroup
		for _, email := range []string{"admin@example.com", "bia@acme.example"} {
			all.Go(func() { o.admin.Post(team.Path+path, url.Values{"email": {email}, "role": {"viewer"}}) })
		}
		all.Wait()
		if !slices.Contains(slices.Collect(maps.Values(o.roles())), "admin") {
			t.Errorf("%s leaves %v", path, o.roles())
		}
	}
}

// meeting returns a function whose first n calls wait for each other.
func meeting(n int32) func() {
	var calls atomic.Int32
	all := make(chan struct{})
	return func() {
		switch at := calls.Add(1); {
		case at == n:
			close(all)
		case at < n:
			<-all
		}
	}
}

// Of two admins with the page open, the second one sees what the first one has saved.
func TestTeam_StaleRole(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	page := o.admin.Post(team.Path+"/person", url.Values{"email": {"ana@acme.example"}})
	save := func(was, role string) webtest.Answer {
		return o.admin.Post(team.Path+"/role", url.Values{"email": {"ana@acme.example"}, "was": {was}, "role": {role}})
	}
	save(page.Value("was"), "approver")
	stale := save(page.Value("was"), "viewer")
	lacks(t, stale, "Somebody changed this role", "it is approver now")
	if stale.Status != http.StatusConflict || o.roles()["ana@acme.example"] != "approver" || !strings.Contains(stale.Body, `value="viewer" checked`) {
		t.Fatalf("the second change answers %d, the role is %s: %s", stale.Status, o.roles()["ana@acme.example"], stale.Body)
	}
	for range 2 { // a double click
		save(stale.Value("was"), "viewer")
	}
	if got := o.roles()["ana@acme.example"]; got != "viewer" || len(o.Audited()) != 2 {
		t.Errorf("confirmed, the role is %s, the audit log %v", got, o.Audited())
	}
}

func TestTeam_LocalPassword(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.password = "Aa1-secret"
	lacks(t, o.admin.Post(team.Path, url.Values{"email": {"bia@acme.example"}, "role": {"viewer"}}), "Aa1-secret")
}

func TestTeam_Refused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, test := range map[string]struct {
		answer webtest.Answer
		status int
	}{
		"the last admin":        {o.admin.Post(team.Path+"/remove", url.Values{"email": {"admin@example.com"}}), http.StatusConflict},
		"the last admin's role": {o.admin.Post(team.Path+"/role", url.Values{"email": {"admin@example.com"}, "role": {"viewer"}}), http.StatusConflict},
		"an unknown role":       {o.admin.Post(team.Path+"/role", url.Values{"email": {"ana@acme.example"}, "role": {"owner"}}), http.StatusUnprocessableEntity},
		"an invited owner":      {o.admin.Post(team.Path, url.Values{"email": {"x@acme.example"}, "role": {"owner"}}), http.StatusUnprocessableEntity},
		"another tenant":        {o.admin.Post(team.Path+"/role", url.Values{"email": {"otto@other.example"}, "role": {"viewer"}}), http.StatusNotFound},
		"another's page":        {o.admin.Post(team.Path+"/person", url.Values{"email": {"otto@other.example"}}), http.StatusNotFound},
		"who has access":        {o.admin.Post(team.Path, url.Values{"email": {"ana@acme.example"}, "role": {"admin"}}), http.StatusConflict},
		"an author":             {o.SignIn("acme", web.RoleAuthor).Post(team.Path, url.Values{"email": {"x@acme.example"}, "role": {"admin"}}), http.StatusForbidden},
		"an approver":           {o.SignIn("acme", web.RoleApprover).Get(team.Path), http.StatusForbidden},
	} {
		if test.answer.Status != test.status {
			t.Errorf("%s: %d, want %d", name, test.answer.Status, test.status)
		}
	}
	if log := o.Audited(); len(log) > 0 {
		t.Errorf("the audit log of refused changes is %q", log)
	}
	o.fault = &inputerr.Error{Code: "email_taken"}
	lacks(t, o.admin.Post(team.Path, url.Values{"email": {"otto@other.example"}, "role": {"viewer"}}), "This address cannot be used")
	if diff := cmp.Diff(map[string]string{"admin@example.com": "admin", "ana@acme.example": "author"}, o.roles()); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}
