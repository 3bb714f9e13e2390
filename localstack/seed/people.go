package seed

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/stackenv"
)

// The people of the seeded tenants. A password that everybody may know is no
// secret: the stack is on this machine alone.
const (
	adminEmail  = "ana@loja-demo.example"
	viewerEmail = "vera@loja-demo.example"
	otherEmail  = "otto@outra-loja.example"
	password    = "Demo-senha-2026" //nolint:gosec // known to everybody
)

// people lets them in.
func (s Seeder) people(ctx context.Context, named stackenv.Env) error {
	pool := cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(s.Env.AWS()), ID: s.Env["USER_POOL_ID"]}
	for _, who := range []campaign.Person{
		{Email: adminEmail, Tenant: tenant, Role: "admin"},
		{Email: viewerEmail, Tenant: tenant, Role: "viewer"},
		{Email: otherEmail, Tenant: otherTenant, Role: "admin"},
	} {
		if _, err := pool.Invite(ctx, who, password); err != nil {
			return err
		}
		if err := pool.SetPassword(ctx, who.Email, password); err != nil {
			return err
		}
	}
	named["DASHBOARD_EMAIL"], named["DASHBOARD_PASSWORD"] = adminEmail, password
	named["DASHBOARD_VIEWER_EMAIL"], named["DASHBOARD_OTHER_EMAIL"] = viewerEmail, otherEmail
	return nil
}
