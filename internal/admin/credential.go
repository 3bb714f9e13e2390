package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	"campaign-dispatch/internal/campaign"
)

// MaxKeep is how long at most a secret lives on after its rotation.
const MaxKeep = 30 * 24 * time.Hour

var clientID = regexp.MustCompile(`^rcs_[A-Za-z0-9_-]{1,100}$`)

// CheckCredential judges the name of a new credential.
func (d *Service) CheckCredential(name string) error { return checkName("credential", name) }

// CreateCredential makes a credential of a tenant that permits the dispatch of
// campaigns. By is the person who asks for it, "" for an operator.
func (d *Service) CreateCredential(ctx context.Context, tenant, name, by string) (campaign.IssuedCredential, error) {
	if err := d.CheckCredential(name); err != nil {
		return campaign.IssuedCredential{}, err
	}
	if err := d.requireTenant(ctx, tenant); err != nil {
		return campaign.IssuedCredential{}, err
	}
	id, err := d.random(16)
	if err != nil {
		return campaign.IssuedCredential{}, err
	}
	secret, err := d.secret()
	if err != nil {
		return campaign.IssuedCredential{}, err
	}
	c := campaign.Credential{
		ClientID: "rcs_" + hex.EncodeToString(id), Tenant: tenant, Name: name, SecretHash: hash(secret),
		Scope: campaign.ScopeDispatch, CreatedAt: d.Now(), CreatedBy: by,
	}
	return campaign.IssuedCredential{Credential: c, Secret: secret}, d.Store.CreateCredential(ctx, c)
}

// RotateCredential gives a credential a new secret. The secret it had is
// accepted for keep longer, MaxKeep at most. With a keep of 0 that secret, and
// all refresh tokens, end at once; access tokens live out their hour.
func (d *Service) RotateCredential(ctx context.Context, id string, keep time.Duration) (campaign.RotatedSecret, error) {
	if err := checkClientID(id); err != nil {
		return campaign.RotatedSecret{}, err
	}
	if keep < 0 || keep > MaxKeep {
		return campaign.RotatedSecret{}, fmt.Errorf("the previous secret cannot be kept for %s: use 0s to %s", keep, MaxKeep)
	}
	secret, err := d.secret()
	if err != nil {
		return campaign.RotatedSecret{}, err
	}
	rotated := campaign.RotatedSecret{ID: id, Secret: secret}
	if keep > 0 {
		rotated.PreviousUntil = d.Now().Add(keep)
	}
	err = d.Store.RotateCredential(ctx, id, hash(secret), rotated.PreviousUntil)
	return rotated, explainCredential(id, err)
}

// RevokeCredential ends a credential, its refresh tokens and its access tokens
// at once and for good.
func (d *Service) RevokeCredential(ctx context.Context, id string) error {
	if err := checkClientID(id); err != nil {
		return err
	}
	return explainCredential(id, d.Store.RevokeCredential(ctx, id))
}

func checkClientID(id string) error {
	if !clientID.MatchString(id) {
		return fmt.Errorf("client id %q does not look like one: it begins with rcs_", shorten(id))
	}
	return nil
}

func explainCredential(id string, err error) error {
	if errors.Is(err, campaign.ErrNotFound) {
		return missing("there is no live credential " + id + ": list the tenant's")
	}
	return err
}

func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
