// Package keyrotation decides when the signing keys of a stack may change, so that no
// valid token is refused.
package keyrotation

import (
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/oauth/accesstoken"
)

const (
	// Delivery is the minimum time between the start of a deployment with a new key and
	// the switch to it. A gradual deployment takes up to half an hour, and clients
	// cache the published keys for five minutes.
	Delivery = time.Hour
	// lead is the time from now to a proposed switch.
	lead = 2 * time.Hour
)

// Keys are the parameters SigningKeys and SigningKeysSwitchAt of the template.
type Keys struct {
	Use      string // A, AtoB, B or BtoA
	SwitchAt time.Time
}

// Parse parses the parameters. An empty use is A, the template's default.
func Parse(use, switchAt string) (k Keys, err error) {
	switch use {
	case "":
		k.Use = "A"
	case "A", "B", "AtoB", "BtoA":
		k.Use = use
	default:
		return Keys{}, fmt.Errorf("invalid SigningKeys %q: it must be A, AtoB, B or BtoA", use)
	}
	if !k.changes() {
		return k, nil
	}
	if k.SwitchAt, err = time.Parse(time.RFC3339, switchAt); err != nil {
		return Keys{}, fmt.Errorf("invalid SigningKeysSwitchAt %q: with %s it must be a time in UTC, like 2026-11-20T15:00:00Z", switchAt, use)
	}
	return k, nil
}

// Current returns the signing key after the switch.
func (k Keys) Current() string { return k.Use[len(k.Use)-1:] }

// Previous returns the signing key before the switch. Without a switch it is the
// current key.
func (k Keys) Previous() string { return k.Use[:1] }

// End returns when the last token of the previous key expires.
func (k Keys) End() time.Time { return k.SwitchAt.Add(accesstoken.Lifetime) }

func (k Keys) changes() bool { return strings.Contains(k.Use, "to") }

// alone reports whether only one key signs and verifies.
func (k Keys) alone(now time.Time) bool { return !k.changes() || !now.Before(k.End()) }

// Next returns the keys to deploy next, to start or to complete a rotation. It returns
// an error if it is too early.
func (k Keys) Next(now time.Time) (Keys, error) {
	if !k.changes() {
		return Keys{Use: replacing(k.Use), SwitchAt: now.Add(lead).Truncate(time.Minute).UTC()}, nil
	}
	if !k.alone(now) {
		return Keys{}, fmt.Errorf("key %s signs from %s, and tokens of key %s are valid until %s: retry after that",
			k.Current(), localtime.FormatUTC(k.SwitchAt), k.Previous(), localtime.FormatUTC(k.End()))
	}
	return Keys{Use: k.Current()}, nil
}

// Check returns an error if a deployment that starts now and changes the deployed keys
// to the wanted ones would refuse valid tokens.
func Check(deployed, wanted Keys, now time.Time) error {
	begins := wanted.changes() && wanted.Previous() == deployed.Use
	moves := deployed.changes() && (wanted.Use == deployed.Use || wanted.Use == deployed.Previous())
	switch {
	case wanted == deployed, deployed.alone(now) && wanted.alone(now) && deployed.Current() == wanted.Current():
		return nil
	case begins, moves && now.Before(deployed.SwitchAt.Add(-Delivery)):
		if wanted.changes() && wanted.SwitchAt.Before(now.Add(Delivery)) {
			return fmt.Errorf("SigningKeysSwitchAt is %s: it must be at least %s after the start of the deployment",
				localtime.FormatUTC(wanted.SwitchAt), Delivery)
		}
		return nil
	case deployed.changes():
		return fmt.Errorf("key %s replaces key %s at %s: until %s deploy SigningKeys=%s and SigningKeysSwitchAt=%s, then SigningKeys=%s",
			deployed.Current(), deployed.Previous(), localtime.FormatUTC(deployed.SwitchAt), localtime.FormatUTC(deployed.End()),
			deployed.Use, localtime.FormatUTC(deployed.SwitchAt), deployed.Current())
	}
	return fmt.Errorf("key %s signs, and SigningKeys=%s would refuse its tokens: replace it with SigningKeys=%s",
		deployed.Use, wanted.Use, replacing(deployed.Use))
}

// replacing returns the use in which the other key replaces the key.
func replacing(key string) string {
	if key == "A" {
		return "AtoB"
	}
	return "BtoA"
}
