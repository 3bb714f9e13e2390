package web_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// The documentation of the API is in the menu of those who have credentials.
func TestLayout_DocsForAdmins(t *testing.T) {
	t.Parallel()
	d := newSite(t)
	for _, role := range web.Roles() {
		shown := strings.Contains(d.SignIn("acme", role).Get("/dashboard/notes").Body, `href="/dashboard/docs"`)
		if shown != (role == web.RoleAdmin) {
			t.Errorf("the menu of %s has the documentation: %t", role, shown)
		}
	}
}

// Who may not send a campaign has no key for a new one, and who has not signed in has no help.
func TestLayout_Keys(t *testing.T) {
	t.Parallel()
	d := newSite(t)
	for _, test := range []struct {
		who  webtest.Person
		want string
	}{
		{d.SignIn("acme", web.RoleAuthor), "/n"}, {d.SignIn("acme", web.RoleViewer), "/"}, {d.Nobody(), ""},
	} {
		var got strings.Builder
		for _, part := range strings.Split(test.who.Get("/dashboard/nowhere").Body, `data-key="`)[1:] {
			got.WriteString(part[:1])
		}
		if got.String() != test.want {
			t.Errorf("the help of %q lists %q, want %q", test.who.Session.Role, got.String(), test.want)
		}
	}
}

func TestRole_May(t *testing.T) {
	t.Parallel()
	for role, may := range map[web.Role]map[web.Role]bool{
		web.RoleAdmin:    {web.RoleAdmin: true, web.RoleAuthor: true, web.RoleApprover: true, web.RoleViewer: true},
		web.RoleAuthor:   {web.RoleAuthor: true, web.RoleViewer: true},
		web.RoleApprover: {web.RoleApprover: true, web.RoleViewer: true},
		web.RoleViewer:   {web.RoleViewer: true},
		"owner":          {},
		"":               {},
	} {
		for _, least := range web.Roles() {
			if got := role.May(least); got != may[least] {
				t.Errorf("%q may what needs %q: %t", role, least, got)
			}
		}
	}
}
