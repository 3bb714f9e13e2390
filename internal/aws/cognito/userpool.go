// Package cognito manages dashboard users, with their tenant and role, in an Amazon Cognito
// user pool.
package cognito

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
)

// Pool is a user pool.
type Pool struct {
	Client *cognitoidentityprovider.Client
	ID     string
}

// User attributes.
const (
	emailAttribute    = "email"
	verifiedAttribute = "email_verified"
	tenantAttribute   = "custom:tenant"
)

// ErrOtherTenant reports that the user belongs to another tenant. Do not retry.
var ErrOtherTenant = errors.New("this address belongs to a user of another tenant")

// Invite creates a user with a role, or updates the role of an existing user (known). A new
// user gets the temporary password, or one by email if it is empty.
func (p *Pool) Invite(ctx context.Context, who account.Person, password string) (known bool, err error) {
	if !slices.Contains(account.Roles, who.Role) {
		return false, fmt.Errorf("unknown role %q", who.Role)
	}
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
		return known, fmt.Errorf("invite user: %w", err)
	}
	return known, p.setRole(ctx, who)
}

// Remove deletes a user: sign-in and session renewal fail from now on. The error wraps
// campaign.ErrNotFound if the user does not exist.
func (p *Pool) Remove(ctx context.Context, who account.Person) error {
	err := p.sameTenant(ctx, who)
	if err == nil {
		_, err = p.Client.AdminDeleteUser(ctx, &cognitoidentityprovider.AdminDeleteUserInput{UserPoolId: &p.ID, Username: &who.Email})
	}
	if _, none := errors.AsType[*types.UserNotFoundException](err); none {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("remove user: %w", err)
	}
	return nil
}

func (p *Pool) sameTenant(ctx context.Context, who account.Person) error {
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

func (p *Pool) setRole(ctx context.Context, who account.Person) error {
	_, err := p.Client.AdminAddUserToGroup(ctx, &cognitoidentityprovider.AdminAddUserToGroupInput{
		UserPoolId: &p.ID, Username: &who.Email, GroupName: &who.Role,
	})
	if err != nil {
		return fmt.Errorf("add role of user: %w", err)
	}
	for _, role := range account.Roles {
		if role == who.Role {
			continue
		}
		_, err := p.Client.AdminRemoveUserFromGroup(ctx, &cognitoidentityprovider.AdminRemoveUserFromGroupInput{
			UserPoolId: &p.ID, Username: &who.Email, GroupName: &role,
		})
		if err != nil {
			return fmt.Errorf("remove role of user: %w", err)
		}
	}
	return nil
}

// SetPassword sets a permanent password.
func (p *Pool) SetPassword(ctx context.Context, email, password string) error {
	_, err := p.Client.AdminSetUserPassword(ctx, &cognitoidentityprovider.AdminSetUserPasswordInput{
		UserPoolId: &p.ID, Username: &email, Password: &password, Permanent: true,
	})
	if err != nil {
		return fmt.Errorf("set password of user: %w", err)
	}
	return nil
}

// maxListed is the maximum number of pages of users that People reads, of 60 users each.
const maxListed = 100

// People returns the users of a tenant, ordered by email address. A user in several groups has
// the most powerful role. The pool is read for each call, because it has no index by tenant;
// complete is false if it is too large to be read.
func (p *Pool) People(ctx context.Context, tenant string) (people []account.Person, complete bool, err error) {
	left, seen := maxListed, map[string]bool{}
	for _, role := range account.Roles {
		pages := cognitoidentityprovider.NewListUsersInGroupPaginator(p.Client, &cognitoidentityprovider.ListUsersInGroupInput{
			UserPoolId: &p.ID, GroupName: &role,
		})
		for ; pages.HasMorePages(); left-- {
			if left == 0 {
				return people, false, nil
			}
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, false, fmt.Errorf("list users: %w", err)
			}
			for _, u := range page.Users {
				who := personOf(u, role)
				if who.Tenant == tenant && !seen[who.Email] {
					people, seen[who.Email] = append(people, who), true
				}
			}
		}
	}
	slices.SortFunc(people, func(a, b account.Person) int { return strings.Compare(a.Email, b.Email) })
	return people, true, nil
}

func personOf(u types.UserType, role string) account.Person {
	who := account.Person{Role: role, Pending: u.UserStatus == types.UserStatusTypeForceChangePassword}
	for _, a := range u.Attributes {
		switch aws.ToString(a.Name) {
		case emailAttribute:
			who.Email = aws.ToString(a.Value)
		case tenantAttribute:
			who.Tenant = aws.ToString(a.Value)
		}
	}
	return who
}
