package cognito_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

const password = "Temporary-Passw0rd"

// pool is the stack's user pool.
type pool struct {
	*cognito.Pool
	t *testing.T
}

func newPool(t *testing.T) pool {
	t.Helper()
	env := stackenv.Load(t)
	return pool{&cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(env.AWS()), ID: env["USER_POOL_ID"]}, t}
}

func person(role string) account.Person {
	return account.Person{Tenant: "a", Email: strings.ToLower(rand.Text()) + "@example.com", Role: role}
}

// groups returns the user's groups, in alphabetical order.
func (p pool) groups(email string) (names []string) {
	p.t.Helper()
	out, err := p.Client.AdminListGroupsForUser(p.t.Context(), &cognitoidentityprovider.AdminListGroupsForUserInput{UserPoolId: &p.ID, Username: &email})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, g := range out.Groups {
		names = append(names, *g.GroupName)
	}
	slices.Sort(names)
	return names
}

func TestInvite(t *testing.T) {
	t.Parallel()
	p, who := newPool(t), person("admin")
	if known, err := p.Invite(t.Context(), who, password); err != nil || known {
		t.Fatalf("a new user: known %v, %v", known, err)
	}
	if got := p.groups(who.Email); !slices.Equal(got, []string{"admin"}) {
		t.Errorf("groups of the new user: %v", got)
	}
	who.Role = "viewer"
	if known, err := p.Invite(t.Context(), who, password); err != nil || !known {
		t.Fatalf("an existing user: known %v, %v", known, err)
	}
	if got := p.groups(who.Email); !slices.Equal(got, []string{"viewer"}) {
		t.Errorf("groups after the change of role: %v", got)
	}
}

func TestInvite_UnknownRole(t *testing.T) {
	t.Parallel()
	p, who := newPool(t), person("owner")
	if _, err := p.Invite(t.Context(), who, password); err == nil {
		t.Error("a user got an unknown role")
	}
	if err := p.Remove(t.Context(), who); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("the refused invitation left a user: %v", err)
	}
}

func TestInvite_OtherTenant(t *testing.T) {
	t.Parallel()
	p, who := newPool(t), person("viewer")
	if _, err := p.Invite(t.Context(), who, password); err != nil {
		t.Fatal(err)
	}
	other := account.Person{Tenant: "b", Email: who.Email, Role: "admin"}
	if _, err := p.Invite(t.Context(), other, password); !errors.Is(err, cognito.ErrOtherTenant) {
		t.Errorf("invite the user of another tenant: %v", err)
	}
	if err := p.Remove(t.Context(), other); !errors.Is(err, cognito.ErrOtherTenant) {
		t.Errorf("remove the user of another tenant: %v", err)
	}
	if got := p.groups(who.Email); !slices.Equal(got, []string{"viewer"}) {
		t.Errorf("groups after the refused calls: %v", got)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	p, who := newPool(t), person("viewer")
	if _, err := p.Invite(t.Context(), who, password); err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(t.Context(), who); err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(t.Context(), who); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("remove the user twice: %v", err)
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	tenant := strings.ToLower(rand.Text())[:20]
	want := []account.Person{}
	for _, role := range []string{"admin", "author", "approver", "viewer"} {
		who := account.Person{Tenant: tenant, Email: role + "-" + tenant + "@example.com", Role: role}
		if _, err := p.Invite(t.Context(), who, password); err != nil {
			t.Fatal(err)
		}
		who.Pending = true
		want = append(want, who)
	}
	if err := p.SetPassword(t.Context(), want[0].Email, password); err != nil {
		t.Fatal(err)
	}
	want[0].Pending = false
	slices.SortFunc(want, func(a, b account.Person) int { return strings.Compare(a.Email, b.Email) })
	got, complete, err := p.People(t.Context(), tenant)
	if err != nil || !complete {
		t.Fatalf("complete %t, %v", complete, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("people (-want +got):\n%s", diff)
	}
}
