package main

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/google/go-cmp/cmp"
)

// person returns the attributes and groups of a person in the user pool.
func (c tool) person(email string) (attributes map[string]string, groups []string) {
	c.t.Helper()
	client, pool := cognitoidentityprovider.NewFromConfig(c.env.AWS()), c.env["USER_POOL_ID"]
	found, err := client.AdminGetUser(c.t.Context(), &cognitoidentityprovider.AdminGetUserInput{UserPoolId: &pool, Username: &email})
	if err != nil {
		c.t.Fatal(err)
	}
	attributes = map[string]string{"status": string(found.UserStatus)}
	for _, a := range found.UserAttributes {
		if *a.Name != "sub" {
			attributes[*a.Name] = *a.Value
		}
	}
	in, err := client.AdminListGroupsForUser(c.t.Context(), &cognitoidentityprovider.AdminListGroupsForUserInput{UserPoolId: &pool, Username: &email})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, g := range in.Groups {
		groups = append(groups, *g.GroupName)
	}
	return attributes, groups
}

func TestUser_InviteAndChangeRole(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	tenant, email := c.tenant(), strings.ToLower(rand.Text())+"@acme.example"
	got := c.ok("user", "--tenant", tenant, "--email", " "+strings.ToUpper(email), "--role", "admin")
	if got["password"] == "" || got["known"] != false || got["email"] != email {
		t.Errorf("invited: %v", got)
	}
	attributes, groups := c.person(email)
	want := map[string]string{
		"status": string(types.UserStatusTypeForceChangePassword), "email": email, "email_verified": "true", "custom:tenant": tenant,
	}
	if diff := cmp.Diff(want, attributes); diff != "" || !cmp.Equal(groups, []string{"admin"}) {
		t.Errorf("groups %v, attributes (-want +got):\n%s", groups, diff)
	}
	got = c.ok("user", "--tenant", tenant, "--email", email, "--role", "viewer")
	if got["password"] != "" || got["known"] != true || got["role"] != "viewer" {
		t.Errorf("invited again: %v", got)
	}
	if _, groups := c.person(email); !cmp.Equal(groups, []string{"viewer"}) {
		t.Errorf("groups %v", groups)
	}
}

func TestUser_Refused(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	tenant, other, email := c.tenant(), c.tenant(), strings.ToLower(rand.Text())+"@acme.example"
	c.ok("user", "--tenant", tenant, "--email", email, "--role", "viewer")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"of another tenant":         {[]string{"--tenant", other, "--email", email, "--role", "viewer"}, "a user of another tenant"},
		"unknown tenant":            {[]string{"--tenant", "nowhere", "--email", email, "--role", "viewer"}, "does not exist"},
		"no address":                {[]string{"--tenant", tenant, "--email", "ana", "--role", "viewer"}, "invalid e-mail address"},
		"unknown role":              {[]string{"--tenant", tenant, "--email", email, "--role", "owner"}, "use admin, author, approver or viewer"},
		"no tenant":                 {[]string{"--email", email, "--role", "viewer"}, "--tenant is missing"},
		"no role":                   {[]string{"--tenant", tenant, "--email", email}, "--role is missing"},
		"nobody":                    {[]string{"--tenant", tenant, "--role", "viewer"}, "--email is missing"},
		"removed by another tenant": {[]string{"--tenant", other, "--email", email, "--role", "none"}, "a user of another tenant"},
		"removed, and not there":    {[]string{"--tenant", tenant, "--email", "x" + email, "--role", "none"}, "has no account"},
	} {
		got := c.run(append([]string{"user"}, test.args...)...)
		if got.code == 0 || !strings.Contains(got.stderr, test.want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", name, got.code, got.stderr)
		}
	}
	if _, groups := c.person(email); !cmp.Equal(groups, []string{"viewer"}) {
		t.Errorf("groups %v", groups)
	}
}

func TestUser_Remove(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	tenant, email := c.tenant(), strings.ToLower(rand.Text())+"@acme.example"
	c.ok("user", "--tenant", tenant, "--email", email, "--role", "admin")
	if got := c.ok("user", "--tenant", tenant, "--email", strings.ToUpper(email), "--role", "none"); got["removed"] != true || got["email"] != email {
		t.Errorf("removed: %v", got)
	}
	client, pool := cognitoidentityprovider.NewFromConfig(c.env.AWS()), c.env["USER_POOL_ID"]
	_, err := client.AdminGetUser(t.Context(), &cognitoidentityprovider.AdminGetUserInput{UserPoolId: &pool, Username: &email})
	if _, gone := errors.AsType[*types.UserNotFoundException](err); !gone {
		t.Errorf("the person is still there: %v", err)
	}
	if got := c.ok("user", "--tenant", tenant, "--email", email, "--role", "viewer"); got["known"] != false || got["password"] == "" {
		t.Errorf("invited again: %v", got)
	}
}
