package campaign

import "time"

// IssuedCredential is a credential with its secret, which cannot be seen again.
type IssuedCredential struct {
	Credential
	Secret string
}

// RotatedSecret is the new secret of a credential or an endpoint, which cannot be
// seen again.
type RotatedSecret struct {
	ID            string
	Secret        string
	PreviousUntil time.Time // until then the secret before it counts too, zero where it ended at once
}
