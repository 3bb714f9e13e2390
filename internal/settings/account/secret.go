package account

import "time"

// IssuedCredential is a new credential with its secret. The secret is shown only once.
type IssuedCredential struct {
	Credential
	Secret string
}

// RotatedSecret is the new secret of a credential or an endpoint. It is shown only once.
type RotatedSecret struct {
	ID            string
	Secret        string
	PreviousUntil time.Time // the previous secret is valid until then, zero if it ended at once
}
