package admin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/netguard"
)

// Kinds are the events that a webhook endpoint can ask for.
func Kinds() []string {
	return []string{
		string(campaign.KindSent), string(campaign.KindDelivered), string(campaign.KindRead), string(campaign.KindFailed),
		string(campaign.KindExpired), string(campaign.KindReplied), string(campaign.KindOptedOut), string(campaign.KindCompleted),
	}
}

const (
	maxURL = 2000
	// maxEndpoints bounds a tenant's endpoints: each adds a row to every
	// transaction that enters outcomes, which holds 100 at most.
	maxEndpoints = 20
)

// CreateEndpoint registers an address of a tenant for webhooks of some kinds,
// or of all where none is named. The endpoint's Secret verifies the webhooks'
// signatures (Standard Webhooks); it is not shown again. An address that is
// private by its name or number is refused; what a public name resolves to is
// judged at every delivery.
func (d *Desk) CreateEndpoint(ctx context.Context, tenant, address string, kinds []string) (campaign.Endpoint, error) {
	for _, kind := range kinds {
		if !slices.Contains(Kinds(), kind) {
			return campaign.Endpoint{}, fmt.Errorf("there is no kind %q of event: use some of %s", shorten(kind), strings.Join(Kinds(), ", "))
		}
	}
	if err := d.checkAddress(address); err != nil {
		return campaign.Endpoint{}, err
	}
	if err := d.requireTenant(ctx, tenant); err != nil {
		return campaign.Endpoint{}, err
	}
	others, err := d.Store.Endpoints(ctx, tenant)
	if err != nil {
		return campaign.Endpoint{}, err
	}
	if len(others) >= maxEndpoints {
		return campaign.Endpoint{}, fmt.Errorf("tenant %s has %d endpoints already, as many as can be: disabled ones count too", tenant, len(others))
	}
	id, err := d.uuid()
	if err != nil {
		return campaign.Endpoint{}, err
	}
	secret, err := d.signingSecret()
	if err != nil {
		return campaign.Endpoint{}, err
	}
	slices.Sort(kinds)
	e := campaign.Endpoint{ID: id, Tenant: tenant, URL: address, Kinds: slices.Compact(kinds), Secret: secret}
	return e, d.Store.SaveEndpoint(ctx, e)
}

// signingSecret returns a new secret in the form of Standard Webhooks.
func (d *Desk) signingSecret() (string, error) {
	key, err := d.random(32)
	return "whsec_" + base64.StdEncoding.EncodeToString(key), err
}

// RotatedEndpoint is an endpoint's new signing secret.
type RotatedEndpoint struct {
	ID            string
	Secret        string    // shown this once
	PreviousUntil time.Time // until then the secret before signs too
}

// RotateEndpoint gives an endpoint a new signing secret. Webhooks carry the
// signatures of both for keep longer, MaxKeep at most.
func (d *Desk) RotateEndpoint(ctx context.Context, tenant, id string, keep time.Duration) (RotatedEndpoint, error) {
	if keep < 0 || keep > MaxKeep {
		return RotatedEndpoint{}, fmt.Errorf("the previous secret cannot be kept for %s: use 0s to %s", keep, MaxKeep)
	}
	secret, err := d.signingSecret()
	if err != nil {
		return RotatedEndpoint{}, err
	}
	r := RotatedEndpoint{ID: id, Secret: secret, PreviousUntil: d.Now().Add(keep)}
	err = d.Store.RotateEndpoint(ctx, tenant, id, r.Secret, r.PreviousUntil)
	if errors.Is(err, campaign.ErrNotFound) {
		err = noEndpoint(tenant, id)
	}
	return r, err
}

// DisableEndpoint switches an endpoint off: it is owed nothing new, and what it
// was owed waits.
func (d *Desk) DisableEndpoint(ctx context.Context, tenant, id string) error {
	return d.switchEndpoint(ctx, tenant, id, "operator")
}

// EnableEndpoint switches an endpoint on, whoever switched it off. What waited
// for it is posted within some minutes.
func (d *Desk) EnableEndpoint(ctx context.Context, tenant, id string) error {
	if err := d.switchEndpoint(ctx, tenant, id, ""); err != nil {
		return err
	}
	for range maxRaces {
		c, err := d.Store.Circuit(ctx, tenant, id)
		if err != nil {
			return err
		}
		c.Closing, c.Drained, c.Probes, c.Next, c.Since = true, false, 0, d.Now(), time.Time{}
		if ok, err := d.Store.SaveCircuit(ctx, c); err != nil || ok {
			return err
		}
	}
	return fmt.Errorf("enable endpoint %s: %w", id, campaign.ErrLostRace)
}

// maxRaces is how often a circuit that changes meanwhile is read again.
const maxRaces = 20

func (d *Desk) switchEndpoint(ctx context.Context, tenant, id, offReason string) error {
	ok, err := d.Store.SwitchEndpoint(ctx, tenant, id, offReason)
	if err == nil && !ok {
		err = noEndpoint(tenant, id)
	}
	return err
}

// CheckEndpoint returns an error that says so where the tenant has no such
// endpoint.
func (d *Desk) CheckEndpoint(ctx context.Context, tenant, id string) error {
	_, err := d.endpoint(ctx, tenant, id)
	return err
}

func (d *Desk) endpoint(ctx context.Context, tenant, id string) (campaign.Endpoint, error) {
	e, err := d.Store.Endpoint(ctx, tenant, id)
	if errors.Is(err, campaign.ErrNotFound) {
		err = noEndpoint(tenant, id)
	}
	return e, err
}

func noEndpoint(tenant, id string) error {
	return missing(fmt.Sprintf("tenant %s has no endpoint %s: list what it has", shorten(tenant), shorten(id)))
}

// perResend is how many dead notices are looked up at once.
const perResend = 100

// ResendDead lets what was given up of an endpoint's webhooks be tried again from
// the start, within a minute or two, and returns how many notices it was, after
// an error too. A notice is some webhooks of one batch.
func (d *Desk) ResendDead(ctx context.Context, tenant, id string) (int, error) {
	e, err := d.endpoint(ctx, tenant, id)
	if err != nil {
		return 0, err
	}
	if e.Off() {
		return 0, fmt.Errorf("endpoint %s is switched off: enable it first", id)
	}
	for total := 0; ; {
		tasks, err := d.Store.DeadNotices(ctx, tenant, id, perResend)
		if err != nil {
			return total, err
		}
		found := 0
		for _, t := range tasks {
			ok, err := d.revive(ctx, t)
			if err != nil {
				return total + found, err
			}
			if ok {
				found++
			}
		}
		if total += found; found == 0 {
			return total, nil
		}
	}
}

// revive tells whether the notice was dead.
func (d *Desk) revive(ctx context.Context, t campaign.NotifyTask) (bool, error) {
	read, err := d.Store.Notice(ctx, t)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && !read.Dead {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	alive := read
	alive.Dead, alive.Attempt, alive.Next = false, 0, d.Now()
	return d.Store.SaveNotice(ctx, read, alive)
}

// checkAddress judges an endpoint's address. What it says never repeats the
// address: it may hold a secret.
func (d *Desk) checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("the url is not an address: write it like https://example.com/webhooks")
	case len(address) > maxURL:
		return fmt.Errorf("the url has %d characters: %d at most", len(address), maxURL)
	case u.User != nil:
		return errors.New("the url holds a user name or password: leave them out, webhooks are signed instead")
	case u.Fragment != "":
		return errors.New("the url has a #fragment, which is never sent: leave it out")
	case d.LocalWebhooks && (u.Scheme == "http" || u.Scheme == "https"):
		return nil
	case u.Scheme != "https":
		return errors.New("the url does not begin with https://: webhooks carry phone numbers and are sent encrypted only")
	case !netguard.PublicHost(u.Hostname()):
		return errors.New("the url is not on the public internet: give a public address")
	}
	return nil
}
