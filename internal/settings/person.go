package settings

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign/pattern"
)

// People manages the dashboard users in the user pool.
type People interface {
	// Invite adds a person: a new one with a temporary password, sent by mail if
	// password is empty. known reports whether the person already had an account.
	Invite(ctx context.Context, who account.Person, password string) (known bool, err error)
	// Remove deletes a person's account. The error wraps campaign.ErrNotFound if there
	// is none.
	Remove(ctx context.Context, who account.Person) error
}

// Invited is a person who was given access.
type Invited struct {
	account.Person
	Known bool // the account already existed; its password is unchanged
	// Password is temporary, for the first sign-in. It is "" if it was sent by mail.
	Password string
}

// address is a rough check of e-mail addresses.
var address = pattern.AtFirstUse(`^[^@\s]{1,64}@[^@\s]+\.[^@\s]+$`)

const maxAddress = 254

// InvitePerson gives a person access to a tenant's dashboard, or changes the role of
// one who has access and ends the open sessions. A new person receives a temporary
// password by mail; with LocalPasswords it is returned instead.
func (d *Service) InvitePerson(ctx context.Context, who account.Person) (Invited, error) {
	who, err := checkEmail(who)
	if err != nil {
		return Invited{}, err
	}
	if !slices.Contains(account.Roles, who.Role) {
		return Invited{}, input("role_unknown", "unknown role %q: use admin, author, approver or viewer, or none to remove the person",
			shorten(who.Role))
	}
	if err := d.requireTenant(ctx, who.Tenant); err != nil {
		return Invited{}, err
	}
	password := ""
	if d.LocalPasswords {
		password = "Aa1-" + newSecret()[:16] // all character classes that a pool may require
	}
	known := false
	err = d.withSessionsEnded(ctx, who, func() (err error) {
		known, err = d.People.Invite(ctx, who, password)
		return err
	})
	if err != nil {
		return Invited{}, fmt.Errorf("invite %s: %w", who.Email, err)
	}
	if known {
		password = ""
	}
	return Invited{Person: who, Known: known, Password: password}, nil
}

// checkEmail validates the address and returns the person with the address in lower
// case.
func checkEmail(who account.Person) (account.Person, error) {
	who.Email = strings.ToLower(strings.TrimSpace(who.Email))
	if !address().MatchString(who.Email) || len(who.Email) > maxAddress {
		return who, input("email_malformed", "invalid e-mail address %q: use an address like ana@empresa.com.br", shorten(who.Email))
	}
	return who, nil
}

// RemovePerson removes a person from a tenant's dashboard and ends the open sessions,
// even if the person is already gone from the user pool.
func (d *Service) RemovePerson(ctx context.Context, who account.Person) (account.Person, error) {
	who, err := checkEmail(who)
	if err != nil {
		return who, err
	}
	err = d.withSessionsEnded(ctx, who, func() error { return d.People.Remove(ctx, who) })
	return who, orMissing(err, "%s has no account and cannot be removed", who.Email)
}

// withSessionsEnded changes a person's access. It ends the sessions before the change,
// in case of a crash after it, and again after the change, for sessions that began in
// between. After an error, repeat it.
func (d *Service) withSessionsEnded(ctx context.Context, who account.Person, change func() error) error {
	end := func() error {
		if err := d.Auth.EndSessions(ctx, who.Tenant, who.Email, d.Now()); err != nil {
			return fmt.Errorf("%w: run the command again", err)
		}
		return nil
	}
	if err := end(); err != nil {
		return err
	}
	changed := change()
	if err := end(); changed == nil {
		return err
	}
	return changed
}
