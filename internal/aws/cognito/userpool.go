// Package cognito keeps the people who may sign in, in a user pool of Amazon
// Cognito: of which tenant each is, and in which role.
package cognito

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"

	"campaign-dispatch/internal/campaign"
)

// Pool is a user pool.
type Pool struct {
	Client *cognitoidentityprovider.Client
	ID     string
}

// The attributes of the pool's people, and the groups that stand for their roles.
const (
	emailAttribute    = "email"
	verifiedAttribute = "email_verified"
	tenantAttribute   = "custom:tenant"
)

var roles = []string{"admin", "viewer"}

// ErrOtherTenant says that a person is of another tenant, which is for good.
var ErrOtherTenant = errors.New("this address belongs to a person of another tenant")

// Invite lets a person in. Somebody new gets a temporary password, by mail where
// it is empty, else that one and no mail; known says that the person was there
// already, and has now this role.
func (p *Pool) Invite(ctx context.Context, who campaign.Person, password string) (known bool, err error) {
	in := &cognitoidentityprovider.AdminCreateUserInput{
		UserPoolId: &p.ID, Username: &who.Email, DesiredDeliveryMediums: []types.DeliveryMediumType{types.DeliveryMediumTypeEmail},
		UserAttributes: []types.AttributeType{
			{Name: aws.String(emailAttribute), Value: &who.Email},
			{Name: aws.String(verifiedAttribute), Value: aws.String("true")},
			{Name: aws.String(tenantAttribute), Value: &who.Tenant},
		},
	}
	if password != "" {
		in.TemporaryPassword, in.MessageAction = &password, types.MessageActionTypeSuppress
	}
	_, err = p.Client.AdminCreateUser(ctx, in)
	if _, there := errors.AsType[*types.UsernameExistsException](err); there {
		known, err = true, p.sameTenant(ctx, who)
	}
	if err != nil {
		return known, fmt.Errorf("invite a person: %w", err)
	}
	return known, p.setRole(ctx, who)
}

// Remove ends the account of a person: no sign-in, and no renewal of a session, from
// now on. The error wraps campaign.ErrNotFound where there is none.
func (p *Pool) Remove(ctx context.Context, who campaign.Person) error {
	err := p.sameTenant(ctx, who)
	if err == nil {
		_, err = p.Client.AdminDeleteUser(ctx, &cognitoidentityprovider.AdminDeleteUserInput{UserPoolId: &p.ID, Username: &who.Email})
	}
	if _, none := errors.AsType[*types.UserNotFoundException](err); none {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("remove a person: %w", err)
	}
	return nil
}

func (p *Pool) sameTenant(ctx context.Context, who campaign.Person) error {
	out, err := p.Client.AdminGetUser(ctx, &cognitoidentityprovider.AdminGetUserInput{UserPoolId: &p.ID, Username: &who.Email})
	if err != nil {
		return err
	}
	for _, a := range out.UserAttributes {
		if aws.ToString(a.Name) == tenantAttribute && aws.ToString(a.Value) == who.Tenant {
			return nil
		}
	}
	return ErrOtherTenant
}

func (p *Pool) setRole(ctx context.Context, who campaign.Person) error {
	if !slices.Contains(roles, who.Role) {
		return fmt.Errorf("there is no role %q", who.Role)
	}
	_, err := p.Client.AdminAddUserToGroup(ctx, &cognitoidentityprovider.AdminAddUserToGroupInput{
		UserPoolId: &p.ID, Username: &who.Email, GroupName: &who.Role,
	})
	if err != nil {
		return fmt.Errorf("give a person a role: %w", err)
	}
	for _, role := range roles {
		if role == who.Role {
			continue
		}
		_, err := p.Client.AdminRemoveUserFromGroup(ctx, &cognitoidentityprovider.AdminRemoveUserFromGroupInput{
			UserPoolId: &p.ID, Username: &who.Email, GroupName: &role,
		})
		if err != nil {
			return fmt.Errorf("take a role from a person: %w", err)
		}
	}
	return nil
}

// SetPassword gives a person a password that they need not change.
func (p *Pool) SetPassword(ctx context.Context, email, password string) error {
	_, err := p.Client.AdminSetUserPassword(ctx, &cognitoidentityprovider.AdminSetUserPasswordInput{
		UserPoolId: &p.ID, Username: &email, Password: &password, Permanent: true,
	})
	if err != nil {
		return fmt.Errorf("set a person's password: %w", err)
	}
	return nil
}
