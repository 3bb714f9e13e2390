package admin

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
)

// People keeps who may sign in to the dashboard.
type People interface {
	// Invite lets a person in: somebody new with a temporary password, by mail
	// where it is empty. It reports whether the person was known already.
	Invite(ctx context.Context, who campaign.Person, password string) (known bool, err error)
	// Remove ends a person's account. The error wraps campaign.ErrNotFound where
	// there is none.
	Remove(ctx context.Context, who campaign.Person) error
}

// Invited is a person who may sign in.
type Invited struct {
	campaign.Person
	Known bool // there was an account already; its password is as it was
	// Password is temporary, for the first sign-in; "" where it went out by mail.
	Password string
}

// roles of people, and their addresses as far as they can be told from nonsense.
var (
	personRoles = []string{"admin", "viewer"}
	address     = regexp.MustCompile(`^[^@\s]{1,64}@[^@\s]+\.[^@\s]+$`)
)

const maxAddress = 254

// InvitePerson lets a person sign in to the dashboard of a tenant, or gives one
// who may already another role, and ends the sessions of the role before. A new person gets a temporary password by mail;
// where LocalPasswords is set it is returned instead.
func (d *Service) InvitePerson(ctx context.Context, who campaign.Person) (Invited, error) {
	who, err := checkEmail(who)
	if err != nil {
		return Invited{}, err
	}
	if !slices.Contains(personRoles, who.Role) {
		return Invited{}, input("role_unknown", "there is no role %q: it is admin or viewer, or none for somebody who leaves", shorten(who.Role))
	}
	if err := d.requireTenant(ctx, who.Tenant); err != nil {
		return Invited{}, err
	}
	password := ""
	if d.LocalPasswords {
		drawn, err := d.secret()
		if err != nil {
			return Invited{}, err
		}
		password = "Aa1-" + drawn[:16] // of every kind that a pool may ask for
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

// checkEmail returns the person with the address as the user pool has it.
func checkEmail(who campaign.Person) (campaign.Person, error) {
	who.Email = strings.ToLower(strings.TrimSpace(who.Email))
	if !address.MatchString(who.Email) || len(who.Email) > maxAddress {
		return who, input("email_malformed", "%q is no e-mail address: give one like ana@empresa.com.br", shorten(who.Email))
	}
	return who, nil
}

// RemovePerson ends what a person may do in a tenant's dashboard: they cannot sign in
// any more, and the sessions that they have end. Those end too where somebody else has
// removed the person from the user pool.
func (d *Service) RemovePerson(ctx context.Context, who campaign.Person) (campaign.Person, error) {
	who, err := checkEmail(who)
	if err != nil {
		return who, err
	}
	err = d.withSessionsEnded(ctx, who, func() error { return d.People.Remove(ctx, who) })
	if errors.Is(err, campaign.ErrNotFound) {
		return who, missing(who.Email + " cannot sign in: there is nobody to remove")
	}
	return who, err
}

// withSessionsEnded changes what a person may do. It ends their sessions before the
// change, so that none is left where this is interrupted after the change, and after
// it, so that none is left that began meanwhile. Where it fails it is to be repeated.
func (d *Service) withSessionsEnded(ctx context.Context, who campaign.Person, change func() error) error {
	end := func() error {
		err := d.Store.EndSessions(ctx, who.Tenant, who.Email, d.Now())
		if err != nil {
			err = fmt.Errorf("%w: run the command again", err)
		}
		return err
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
