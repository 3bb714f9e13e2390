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
	"campaign-dispatch/internal/webhook/netguard"
)

// Kinds are the events that a webhook endpoint can ask for.
func Kinds() []string {
	return []string{
		string(campaign.KindSent), string(campaign.KindDelivered), string(campaign.KindRead), string(campaign.KindFailed),
		string(campaign.KindExpired), string(campaign.KindReplied), string(campaign.KindOptedOut), string(campaign.KindCompleted),
	}
}

const maxURL = 2000

// MaxEndpoints is how many endpoints a tenant may have, those switched off among
// them: each adds a row to every transaction that enters outcomes, which holds 100
// at most.
const MaxEndpoints = 20

// CreateEndpoint registers an address of a tenant for webhooks of some kinds,
// or of all where none is named. The endpoint's Secret verifies the webhooks'
// signatures (Standard Webhooks); it is not shown again. An address that is
// private by its name or number is refused; what a public name resolves to is
// judged at every delivery.
func (d *Service) CreateEndpoint(ctx context.Context, tenant, address string, kinds []string) (campaign.Endpoint, error) {
	if err := d.CheckNewEndpoint(ctx, tenant, address, kinds); err != nil {
		return campaign.Endpoint{}, err
	}
	id, err := d.uuid()
	if err != nil {
		return campaign.Endpoint{}, err
	}
	secret, err := d.signingSecret()
	if err != nil {
		return campaign.Endpoint{}, err
	}
	e := campaign.Endpoint{ID: id, Tenant: tenant, URL: address, Kinds: ordered(kinds), Secret: secret}
	has, err := d.Store.AddEndpoint(ctx, e, MaxEndpoints)
	if err == nil && has >= MaxEndpoints {
		err = endpointsFull(has)
	}
	return e, err
}

func endpointsFull(has int) error {
	return input("endpoints_full", "the tenant has %d endpoints already, as many as can be: those switched off count too", has)
}

// signingSecret returns a new secret in the form of Standard Webhooks.
func (d *Service) signingSecret() (string, error) {
	key, err := d.random(32)
	return "whsec_" + base64.StdEncoding.EncodeToString(key), err
}

func (d *Service) requireRoom(ctx context.Context, tenant string) error {
	all, err := d.Store.Endpoints(ctx, tenant)
	if err == nil && len(all) >= MaxEndpoints {
		err = endpointsFull(len(all))
	}
	return err
}

// CheckNewEndpoint judges a new endpoint of a tenant.
func (d *Service) CheckNewEndpoint(ctx context.Context, tenant, address string, kinds []string) error {
	if err := d.CheckKinds(kinds); err != nil {
		return err
	}
	if err := d.checkAddress(address); err != nil {
		return err
	}
	if err := d.requireTenant(ctx, tenant); err != nil {
		return err
	}
	return d.requireRoom(ctx, tenant)
}

// CheckKinds judges the kinds of webhooks that an endpoint asks for.
func (d *Service) CheckKinds(kinds []string) error {
	for _, kind := range kinds {
		if !slices.Contains(Kinds(), kind) {
			return input("kind_unknown", "there is no kind %q of event: use some of %s", shorten(kind), strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// ordered returns the kinds in order and each once.
func ordered(kinds []string) []string { return slices.Compact(slices.Sorted(slices.Values(kinds))) }

// ChangeKinds changes the kinds of webhooks that are owed to an endpoint from now
// on, to all where none is named.
func (d *Service) ChangeKinds(ctx context.Context, tenant, id string, kinds []string) error {
	if err := d.CheckKinds(kinds); err != nil {
		return err
	}
	ok, err := d.Store.SetKinds(ctx, tenant, id, ordered(kinds))
	if err == nil && !ok {
		err = noEndpoint(tenant, id)
	}
	return err
}

// RotateEndpoint gives an endpoint a new signing secret. Webhooks carry the
// signatures of both for keep longer, MaxKeep at most.
func (d *Service) RotateEndpoint(ctx context.Context, tenant, id string, keep time.Duration) (campaign.RotatedSecret, error) {
	if keep < 0 || keep > MaxKeep {
		return campaign.RotatedSecret{}, fmt.Errorf("the previous secret cannot be kept for %s: use 0s to %s", keep, MaxKeep)
	}
	secret, err := d.signingSecret()
	if err != nil {
		return campaign.RotatedSecret{}, err
	}
	r := campaign.RotatedSecret{ID: id, Secret: secret, PreviousUntil: d.Now().Add(keep)}
	err = d.Store.RotateEndpoint(ctx, tenant, id, r.Secret, r.PreviousUntil)
	if errors.Is(err, campaign.ErrNotFound) {
		err = noEndpoint(tenant, id)
	}
	return r, err
}

// DisableEndpoint switches an endpoint off: it is owed nothing new, and what it
// was owed waits.
func (d *Service) DisableEndpoint(ctx context.Context, tenant, id string) error {
	return d.switchEndpoint(ctx, tenant, id, "operator")
}

// EnableEndpoint switches an endpoint on, whoever switched it off. What waited
// for it is posted within some minutes.
func (d *Service) EnableEndpoint(ctx context.Context, tenant, id string) error {
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

func (d *Service) switchEndpoint(ctx context.Context, tenant, id, offReason string) error {
	ok, err := d.Store.SwitchEndpoint(ctx, tenant, id, offReason)
	if err == nil && !ok {
		err = noEndpoint(tenant, id)
	}
	return err
}

// CheckEndpoint returns an error that says so where the tenant has no such
// endpoint.
func (d *Service) CheckEndpoint(ctx context.Context, tenant, id string) error {
	_, err := d.endpoint(ctx, tenant, id)
	return err
}

func (d *Service) endpoint(ctx context.Context, tenant, id string) (campaign.Endpoint, error) {
	e, err := d.Store.Endpoint(ctx, tenant, id)
	if errors.Is(err, campaign.ErrNotFound) {
		err = noEndpoint(tenant, id)
	}
	return e, err
}

func noEndpoint(tenant, id string) error {
	return missing(fmt.Sprintf("tenant %s has no endpoint %s: list what it has", shorten(tenant), shorten(id)))
}

// checkAddress judges an endpoint's address. What it says never repeats the
// address: it may hold a secret.
func (d *Service) checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return input("url_malformed", "the url is not an address: write it like https://example.com/webhooks")
	case len(address) > maxURL:
		return input("url_long", "the url has %d characters: %d at most", len(address), maxURL)
	case u.User != nil:
		return input("url_user", "the url holds a user name or password: leave them out, webhooks are signed instead")
	case u.Fragment != "":
		return input("url_fragment", "the url has a #fragment, which is never sent: leave it out")
	case d.LocalWebhooks && (u.Scheme == "http" || u.Scheme == "https") && netguard.LoopbackHost(u.Hostname()):
		return nil
	case u.Scheme != "https":
		return input("url_not_https", "the url does not begin with https://: webhooks carry phone numbers and are sent encrypted only")
	case !netguard.PublicHost(u.Hostname()):
		return input("url_private", "the url is not on the public internet: give a public address")
	}
	return nil
}
