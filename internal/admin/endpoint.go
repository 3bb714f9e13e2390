package admin

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
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
	case !public(u.Hostname()):
		return errors.New("the url is not on the public internet: give a public address")
	}
	return nil
}

// numeric matches hosts that are addresses in a form that resolvers accept
// beside the usual one: decimal, octal and hexadecimal numbers, and short forms.
var numeric = regexp.MustCompile(`(?i)^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*$`)

// public tells whether a host may be on the public internet, by its name alone.
func public(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return publicIP(ip.Unmap())
	}
	if numeric.MatchString(host) || !strings.Contains(host, ".") {
		return false
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".home.arpa", ".lan"} {
		if strings.HasSuffix(host, suffix) {
			return false
		}
	}
	return true
}

// publicIP tells whether an address is neither private, nor of a link, nor kept
// for a purpose of its own.
func publicIP(ip netip.Addr) bool {
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Zone() != "" {
		return false
	}
	for _, block := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/23", "2001:db8::/32", "2002::/16",
	} {
		if netip.MustParsePrefix(block).Contains(ip) {
			return false
		}
	}
	return true
}
