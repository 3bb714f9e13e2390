// Package tokenkeys wires the signer and the verifier of access tokens.
package tokenkeys

import (
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Signer returns the signer of access tokens.
func Signer(c app.Config) *kms.Signer {
	return kms.New(c.AWS, c.SigningKeyID, c.PreviousSigningKeyID, c.KeysSwitchAt, time.Now)
}

// Verifier returns the verifier of access tokens.
func Verifier(c app.Config) *accesstoken.Verifier {
	return &accesstoken.Verifier{Keys: Signer(c), Now: time.Now}
}
