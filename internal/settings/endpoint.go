package settings

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/webhook/delivery"
)

// Kinds returns the event kinds that a webhook endpoint can subscribe to.
func Kinds() []string {
	return []string{
		string(delivery.KindSent), string(delivery.KindDelivered), string(delivery.KindRead), string(delivery.KindFailed),
		string(delivery.KindExpired), string(delivery.KindReplied), string(delivery.KindOptedOut), string(delivery.KindTapped),
		string(delivery.KindCompleted), string(delivery.KindPaused), string(delivery.KindResumed),
	}
}

const maxURL = 2000

// MaxEndpoints is the maximum number of endpoints of a tenant, including disabled ones.
// Each endpoint adds a row to every transaction that records outcomes, and a
// transaction holds at most 100 rows.
const MaxEndpoints = 20

// CreateEndpoint registers a webhook URL of a tenant for the event kinds, or for all
// kinds but message.tapped and those of campaigns if none is named. The endpoint's Secret
// verifies webhook signatures (Standard Webhooks); it is not shown again. A private host name or address
// is refused. The addresses that a public name resolves to are checked at every
// delivery.
func (d *Service) CreateEndpoint(ctx context.Context, tenant, address string, kinds []string) (delivery.Endpoint, error) {
	if err := d.CheckNewEndpoint(ctx, tenant, address, kinds); err != nil {
		return delivery.Endpoint{}, err
	}
	e := delivery.Endpoint{ID: random.UUID(), Tenant: tenant, URL: address, Kinds: ordered(kinds), Secret: newSigningSecret()}
	has, err := d.Store.Webhooks.AddEndpoint(ctx, e, MaxEndpoints)
	if err == nil && has >= MaxEndpoints {
		err = endpointsFull(has)
	}
	return e, err
}

func endpointsFull(has int) error {
	return input("endpoints_full", "the tenant has %d endpoints, the maximum: disabled endpoints count too", has)
}

func newSigningSecret() string {
	return delivery.SecretPrefix + base64.StdEncoding.EncodeToString(random.Bytes(32))
}

// CheckNewEndpoint validates a new endpoint of a tenant.
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
	all, err := d.Store.Webhooks.Endpoints(ctx, tenant)
	if err == nil && len(all) >= MaxEndpoints {
		err = endpointsFull(len(all))
	}
	return err
}

// CheckKinds validates the event kinds of an endpoint.
func (d *Service) CheckKinds(kinds []string) error {
	for _, kind := range kinds {
		if !slices.Contains(Kinds(), kind) {
			return input("kind_unknown", "unknown event kind %q: use %s", shorten(kind), strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

func ordered(kinds []string) []string { return slices.Compact(slices.Sorted(slices.Values(kinds))) }

// ChangeKinds changes the event kinds of an endpoint for future events. Without kinds,
// the endpoint receives all but message.tapped and those of campaigns.
func (d *Service) ChangeKinds(ctx context.Context, tenant, id string, kinds []string) error {
	if err := d.CheckKinds(kinds); err != nil {
		return err
	}
	ok, err := d.Store.Webhooks.SetKinds(ctx, tenant, id, ordered(kinds))
	if err == nil && !ok {
		err = campaign.ErrNotFound
	}
	return explainEndpoint(tenant, id, err)
}

// RotateEndpoint replaces an endpoint's signing secret. Webhooks carry the signatures
// of both secrets for keep, at most MaxKeep.
func (d *Service) RotateEndpoint(ctx context.Context, tenant, id string, keep time.Duration) (account.RotatedSecret, error) {
	if err := checkKeep(keep); err != nil {
		return account.RotatedSecret{}, err
	}
	r := account.RotatedSecret{ID: id, Secret: newSigningSecret(), PreviousUntil: d.Now().Add(keep)}
	return r, explainEndpoint(tenant, id, d.Store.Webhooks.RotateEndpoint(ctx, tenant, id, r.Secret, r.PreviousUntil))
}

// DisableEndpoint disables an endpoint. It receives no new deliveries; pending
// deliveries wait.
func (d *Service) DisableEndpoint(ctx context.Context, tenant, id string) error {
	return d.switchEndpoint(ctx, tenant, id, "operator")
}

// EnableEndpoint enables an endpoint, whoever disabled it. Pending deliveries are
// posted within a few minutes.
func (d *Service) EnableEndpoint(ctx context.Context, tenant, id string) error {
	if err := d.switchEndpoint(ctx, tenant, id, ""); err != nil {
		return err
	}
	return d.changeCircuit(ctx, tenant, id, func(c *delivery.Circuit) bool {
		c.Closing, c.Drained, c.Probes, c.Next, c.Since = true, false, 0, d.Now(), time.Time{}
		return true
	})
}

// changeCircuit writes the changed circuit of an endpoint, unless change returns false.
func (d *Service) changeCircuit(ctx context.Context, tenant, id string, change func(*delivery.Circuit) bool) error {
	for try := range maxRaces {
		if err := retry.Wait(ctx, try); err != nil {
			return err
		}
		c, err := d.Store.Webhooks.Circuit(ctx, tenant, id)
		if err != nil || !change(&c) {
			return err
		}
		if ok, err := d.Store.Webhooks.SaveCircuit(ctx, c); err != nil || ok {
			return err
		}
	}
	return fmt.Errorf("change the circuit of endpoint %s: %w", id, campaign.ErrLostRace)
}

// maxRaces is the maximum number of attempts to write a circuit that changes
// concurrently.
const maxRaces = 20

func (d *Service) switchEndpoint(ctx context.Context, tenant, id, offReason string) error {
	ok, err := d.Store.Webhooks.SwitchEndpoint(ctx, tenant, id, offReason)
	if err == nil && !ok {
		err = campaign.ErrNotFound
	}
	return explainEndpoint(tenant, id, err)
}

// CheckEndpoint returns an error that wraps campaign.ErrNotFound if the tenant has no
// such endpoint.
func (d *Service) CheckEndpoint(ctx context.Context, tenant, id string) error {
	_, err := d.Store.Webhooks.Endpoint(ctx, tenant, id)
	return explainEndpoint(tenant, id, err)
}

func explainEndpoint(tenant, id string, err error) error {
	return orMissing(err, "tenant %s has no endpoint %s: list what it has", shorten(tenant), shorten(id))
}

// checkAddress validates an endpoint's URL. Its errors never contain the URL, which may
// hold a secret.
func (d *Service) checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return input("url_malformed", "the url is malformed: use a URL like https://example.com/webhooks")
	case len(address) > maxURL:
		return input("url_long", "the url has %d characters: %d at most", len(address), maxURL)
	case u.User != nil:
		return input("url_user", "the url contains a user name or password: remove them, webhooks are signed instead")
	case u.Fragment != "":
		return input("url_fragment", "the url has a #fragment, which is never sent: remove it")
	case !content.UsablePort(u):
		return input("url_port", "the url has a port that does not exist: use one from 1 to 65535, or none")
	case d.LocalWebhooks && (u.Scheme == "http" || u.Scheme == "https") && netguard.LoopbackHost(u.Hostname()):
		return nil
	case u.Scheme != "https":
		return input("url_not_https", "the url does not start with https://: webhooks contain phone numbers and must be encrypted")
	case !netguard.PublicHost(u.Hostname()):
		return input("url_private", "the url is not on the public internet: use a public address")
	}
	return nil
}
