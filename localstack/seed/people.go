package seed

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/settings/account"
	"campaign-dispatch/localstack/stackenv"
)

// The dashboard users of the seeded tenants. Their password is public: the stack
// listens on this machine only.
const (
	adminEmail  = "ana@loja-demo.example"
	viewerEmail = "vera@loja-demo.example"
	otherEmail  = "otto@outra-loja.example"
	password    = "Demo-senha-2026" //nolint:gosec // public
)

// people creates the dashboard users and sets their passwords.
func (s Seeder) people(ctx context.Context, named stackenv.Env) error {
	pool := cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(s.Env.AWS()), ID: s.Env["USER_POOL_ID"]}
	for _, person := range []account.Person{
		{Email: adminEmail, Tenant: tenant, Role: "admin"},
		{Email: viewerEmail, Tenant: tenant, Role: "viewer"},
		{Email: otherEmail, Tenant: otherTenant, Role: "admin"},
	} {
		if _, err := pool.Invite(ctx, person, password); err != nil {
			return err
		}
		if err := pool.SetPassword(ctx, person.Email, password); err != nil {
			return err
		}
	}
	named["DASHBOARD_EMAIL"], named["DASHBOARD_PASSWORD"] = adminEmail, password
	named["DASHBOARD_VIEWER_EMAIL"], named["DASHBOARD_OTHER_EMAIL"] = viewerEmail, otherEmail
	return nil
}
