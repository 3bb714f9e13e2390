package settings

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign/pattern"
)

// MaxKeep is the maximum time for which a previous secret stays valid after a rotation.
const MaxKeep = 30 * 24 * time.Hour

var clientID = pattern.AtFirstUse(`^rcs_[A-Za-z0-9_-]{1,100}$`)

// CheckCredential validates the name of a new credential.
func (d *Service) CheckCredential(name string) error { return checkName("credential", name) }

// CreateCredential creates a credential of a tenant. Without scopes it may dispatch
// campaigns. by is the person who requested it, or "" for an operator.
func (d *Service) CreateCredential(ctx context.Context, tenant, name, by string, scopes ...string) (account.IssuedCredential, error) {
	if err := d.CheckCredential(name); err != nil {
		return account.IssuedCredential{}, err
	}
	scope, err := joinScopes(scopes)
	if err != nil {
		return account.IssuedCredential{}, err
	}
	if err := d.requireTenant(ctx, tenant); err != nil {
		return account.IssuedCredential{}, err
	}
	secret := newSecret()
	c := account.Credential{
		ClientID: "rcs_" + random.Hex(16), Tenant: tenant, Name: name, SecretHash: hash(secret),
		Scope: scope, CreatedAt: d.Now(), CreatedBy: by,
	}
	return account.IssuedCredential{Credential: c, Secret: secret}, d.Auth.CreateCredential(ctx, c)
}

// joinScopes returns a credential's scope: each word once, in the order of account.Scopes.
func joinScopes(scopes []string) (string, error) {
	if len(scopes) == 0 {
		return account.ScopeDispatch, nil
	}
	for _, s := range scopes {
		if !slices.Contains(account.Scopes, s) {
			return "", input("scope_unknown", "unknown scope %q: use %s", shorten(s), strings.Join(account.Scopes, " or "))
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(account.Scopes), func(s string) bool { return !slices.Contains(scopes, s) })
	return strings.Join(chosen, " "), nil
}

// RotateCredential replaces a credential's secret. The previous secret stays valid for
// keep, at most MaxKeep. If keep is 0, the previous secret and all refresh tokens are
// invalid at once; access tokens stay valid for up to an hour.
func (d *Service) RotateCredential(ctx context.Context, id string, keep time.Duration) (account.RotatedSecret, error) {
	if err := checkClientID(id); err != nil {
		return account.RotatedSecret{}, err
	}
	if err := checkKeep(keep); err != nil {
		return account.RotatedSecret{}, err
	}
	secret := newSecret()
	rotated := account.RotatedSecret{ID: id, Secret: secret}
	if keep > 0 {
		rotated.PreviousUntil = d.Now().Add(keep)
	}
	err := d.Auth.RotateCredential(ctx, id, hash(secret), rotated.PreviousUntil)
	return rotated, explainCredential(id, err)
}

// RevokeCredential revokes a credential, its refresh tokens and its access tokens,
// immediately and permanently.
func (d *Service) RevokeCredential(ctx context.Context, id string) error {
	if err := checkClientID(id); err != nil {
		return err
	}
	return explainCredential(id, d.Auth.RevokeCredential(ctx, id))
}

func checkClientID(id string) error {
	if !clientID().MatchString(id) {
		return fmt.Errorf("invalid client id %q: it starts with rcs_", shorten(id))
	}
	return nil
}

func explainCredential(id string, err error) error {
	return orMissing(err, "active credential %s not found: list the tenant's credentials", id)
}

func checkKeep(keep time.Duration) error {
	if keep < 0 || keep > MaxKeep {
		return fmt.Errorf("the previous secret cannot stay valid for %s: use 0s to %s", keep, MaxKeep)
	}
	return nil
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
