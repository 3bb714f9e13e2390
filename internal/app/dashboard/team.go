package dashboard

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/dashboard/team"
	"campaign-dispatch/internal/httpapi/inputerr"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/settings/account"
)

// teamArea returns the pages of a tenant's users.
func teamArea(c app.Config, rows *dynamo.Stores, auth *dynamo.AuthStore) area {
	pool := &cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(c.AWS), ID: c.UserPoolID}
	service := &settings.Service{Store: settingsstore.New(rows), Auth: auth, People: pool, Now: time.Now, LocalPasswords: c.LocalWebhooks}
	return area{team.Area(), &team.Pages{Users: pool, Admin: users{service}}}
}

// users changes the users of a tenant.
type users struct{ *settings.Service }

// Invite refuses the address of another tenant's user like other input.
func (u users) Invite(ctx context.Context, who account.Person) (password string, err error) {
	invited, err := u.InvitePerson(ctx, who)
	if errors.Is(err, cognito.ErrOtherTenant) {
		err = &inputerr.Error{Code: "email_taken", Detail: "the address cannot be used"}
	}
	return invited.Password, err
}
