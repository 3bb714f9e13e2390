package admin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/netguard"
)

// Kinds are the events that a webhook endpoint can ask for.
func Kinds() []string {
	return []string{
		"message.sent", "message.delivered", "message.read", "message.failed", "message.expired",
		"message.replied", "message.opted_out", "campaign.completed",
	}
}

const maxURL = 2000

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
	id, err := d.uuid()
	if err != nil {
		return campaign.Endpoint{}, err
	}
	secret, err := d.random(32)
	if err != nil {
		return campaign.Endpoint{}, err
	}
	slices.Sort(kinds)
	e := campaign.Endpoint{
		ID: id, Tenant: tenant, URL: address, Kinds: slices.Compact(kinds),
		Secret: "whsec_" + base64.StdEncoding.EncodeToString(secret),
	}
	return e, d.Store.SaveEndpoint(ctx, e)
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
