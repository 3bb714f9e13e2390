package web_test

import (
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

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
